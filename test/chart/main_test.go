package chart_test

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

func TestMain(m *testing.M) {
	netns.Enter()
	code := m.Run()
	if dir, err := scratch(); err == nil {
		_ = os.RemoveAll(dir) // in the folder for what is temporary
	}
	os.Exit(code)
}

// scratch is where the program is built; it is gone after the tests.
var scratch = sync.OnceValues(func() (string, error) { return os.MkdirTemp("", "chart") })

// binary builds the program as the image's build stage does, once.
var binary = sync.OnceValues(func() (string, error) {
	dir, err := scratch()
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

// program returns the path of the built program.
func program(t *testing.T) string {
	t.Helper()
	path, err := binary()
	if err != nil {
		t.Fatal(err)
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
