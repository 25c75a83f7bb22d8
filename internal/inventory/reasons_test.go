package inventory_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
)

func TestTheReferenceOfReasonsIsUpToDate(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "reference", "reasons.md")
	want := inventory.ReasonsReference()
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
		t.Errorf("%s is out of date, run go generate ./internal/inventory (-want +got):\n%s", path, diff)
	}
}
