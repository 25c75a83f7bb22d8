package deploy_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

func TestMain(m *testing.M) { netns.Main(m) }

// program builds the program as the image's build stage does, and returns its path.
func program(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, "../../cmd/"+name)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", build, err, out)
	}
	return path
}

// tool is the path of a program that tools/build.sh has built.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("../../.tools/bin", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		if testing.Short() {
			t.Skipf("%s is not built, and -short asks for nothing that must be", name)
		}
		t.Fatalf("%v; run `tools/build.sh chart` (or `make test`, which does), or leave these tests out with -short", err)
	}
	return path
}
