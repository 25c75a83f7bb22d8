package preflight_test

import (
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/preflight"
)

// Every id that the code can give a check has its heading, which is the anchor
// that the links of failures point to, and nothing else has one.
func TestEveryCheckHasItsAnchor(t *testing.T) {
	source, err := os.ReadFile("ids.go")
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join("..", "..", "..", "docs", "reference", "check.md"))
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
	if len(ids) < 15 {
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
