package preflight_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/preflight"
)

var update = flag.Bool("update", false, "write the reference anew")

func TestTheReferenceOfChecksIsUpToDate(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "reference", "check.md")
	want := preflight.Reference()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s is out of date, run go generate ./internal/preflight (-want +got):\n%s", path, diff)
	}
}

// Every id that the code can give a check has its heading, which is the anchor
// that the links of failures point to, and nothing else has one.
func TestEveryCheckHasItsAnchor(t *testing.T) {
	source, err := os.ReadFile("ids.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "docs", "reference", "check.md"))
	if err != nil {
		t.Fatal(err)
	}
	find := func(pattern string, text []byte) map[string]bool {
		found := map[string]bool{}
		for _, match := range regexp.MustCompile(pattern).FindAllSubmatch(text, -1) {
			found[string(match[1])] = true
		}
		return found
	}
	ids, anchors := find(`ID = "([a-z-]+)"`, source), find(`(?m)^### ([a-z-]+)$`, page)
	if len(ids) < 20 {
		t.Fatalf("got %d ids, want all of them", len(ids))
	}
	if diff := cmp.Diff(ids, anchors); diff != "" {
		t.Errorf("ids and headings differ (-ids +headings):\n%s", diff)
	}
	for _, doc := range preflight.Docs() {
		if doc.Meaning == "" || doc.Remedy == "" {
			t.Errorf("%s: got no meaning or no remedy", doc.ID)
		}
	}
}
