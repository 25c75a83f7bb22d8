package docs_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

const viewsPage = "docs/how-to/endpoint-views.md"

// TestTheBlocksOfEndpointViewsWork has an API server where kubectl looks for one.
func TestTheBlocksOfEndpointViewsWork(t *testing.T) {
	netns.Require(t)
	cp := controlplane.Start(t, controlplane.Options{})
	s := newSession(t)
	config := filepath.Join(s.home, ".kube", "config")
	if err := os.Mkdir(filepath.Dir(config), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := copyFile(cp.Kubeconfig(t), config); err != nil {
		t.Fatal(err)
	}
	s.follow(t, viewsPage)
}

// TestTheProgramOfEndpointViewsIsTheTestedOne compares the blocks of Go with the example.
func TestTheProgramOfEndpointViewsIsTheTestedOne(t *testing.T) {
	const example = "pkg/views/example_test.go"
	count := 0
	for _, b := range newPage(viewsPage, read(t, viewsPage)).blocks {
		if b.language != "go" {
			continue
		}
		count++
		if !strings.Contains(read(t, example), b.text) {
			t.Errorf("%s:%d: the block is not in %s", viewsPage, b.line, example)
		}
	}
	if count != 2 {
		t.Errorf("%s: got %d blocks of Go, want 2", viewsPage, count)
	}
}
