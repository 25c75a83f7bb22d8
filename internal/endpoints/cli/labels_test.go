package cli_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/cli"
)

// TestContract170OfTheLabelsOfANamespaceTheFirstAreKept: who may label one namespace may give
// it a megabyte. What everybody gives fits in any case.
func TestContract170OfTheLabelsOfANamespaceTheFirstAreKept(t *testing.T) {
	usual := map[string]string{"kubernetes.io/metadata.name": "shop", "team": "a", "pod-security.kubernetes.io/enforce": "restricted"}
	if diff := cmp.Diff(usual, cli.FirstLabels(usual)); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	many := map[string]string{}
	for i := range 3000 {
		many[fmt.Sprintf("%s.example.com/label-%04d", strings.Repeat("l", 63), i)] = strings.Repeat("v", 63)
	}
	kept, size := cli.FirstLabels(many), 0
	for name, value := range kept {
		if size += len(name) + len(value); many[name] != value {
			t.Errorf("got label %s=%s, want it as it is, or not at all", name, value)
		}
	}
	if size > 16<<10 || size < 15<<10 {
		t.Errorf("got %d bytes, want nearly 16 KiB", size)
	}
	for i := range len(kept) { // always the same ones
		if name := fmt.Sprintf("%s.example.com/label-%04d", strings.Repeat("l", 63), i); kept[name] == "" {
			t.Errorf("got no label %s, want the first %d", name, len(kept))
		}
	}
}
