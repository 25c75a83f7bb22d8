package docs_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// TestMain gives the daemon of the README its ports: they are fixed, and other
// tests use them too.
func TestMain(m *testing.M) { netns.Main(m) }

// root is the folder of the repository.
const root = "../.."

// binary builds the program once.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := os.MkdirTemp("", "docs")
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "ionos-endpointslice-controller")
	build := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w", "-o", path, "../../cmd/ionos-endpointslice-controller")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(build.Args, " "), err, out)
	}
	return path, nil
})

// says is what the built program prints.
func says(t *testing.T, args ...string) string {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), path, args...)
	cmd.Env = []string{}
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("%s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}
