// Package built gives tests the built programs, and the tools that tools/build.sh
// has built. It builds each program once in a process, as the image does, and
// leaves nothing behind. Where the variable TEST_PROGRAMS names a folder, as
// hack/run-tests.sh does, all processes share the programs in it.
package built

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
)

// Version is what the programs built for tests call themselves.
const Version = "v1.2.3"

// commands is where the programs' packages are.
const commands = "github.com/ablmnzde/ionoscloud-endpointslice-controller/cmd/"

// shared is the folder that all processes of a run share; empty without one.
var shared = os.Getenv("TEST_PROGRAMS")

// scratch is the folder of the programs.
var scratch = sync.OnceValues(func() (string, error) {
	if shared != "" {
		return shared, nil
	}
	return os.MkdirTemp("", "ionos-endpointslice-controller")
})

var (
	program = sync.OnceValues(func() (string, error) { return build("ionos-endpointslice-controller") })
	views   = sync.OnceValues(func() (string, error) { return build("endpoint-views") })
)

// build builds a program, unless another process has, and returns its path.
func build(name string) (string, error) {
	dir, err := scratch()
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, name)
	unlock, err := lock(path + ".lock")
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	command := exec.Command("go", "build", "-trimpath", "-ldflags", "-s -w -X main.version="+Version, "-o", path+".new", commands+name)
	command.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := command.CombinedOutput(); err != nil {
		return "", fmt.Errorf("%s: %w\n%s", strings.Join(command.Args, " "), err, out)
	}
	return path, os.Rename(path+".new", path)
}

// lock waits until no other process has the lock.
func lock(path string) (unlock func(), err error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX); err != nil {
		file.Close()
		return nil, fmt.Errorf("lock %s: %w", path, err)
	}
	return func() { file.Close() }, nil
}

// Main is a TestMain that removes the programs after the tests, if no others share them.
func Main(m *testing.M) {
	code := m.Run()
	if dir, err := scratch(); err == nil && shared == "" {
		_ = os.RemoveAll(dir) // in the folder for what is temporary
	}
	os.Exit(code)
}

// Program returns the path of the built daemon.
func Program(t testing.TB) string {
	t.Helper()
	return must(t, program)
}

// Views returns the path of the built endpoint-views.
func Views(t testing.TB) string {
	t.Helper()
	return must(t, views)
}

func must(t testing.TB, built func() (string, error)) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Tool returns the path of a program that tools/build.sh has built. Without it
// the test fails, but with -short, which asks for nothing that must be built.
func Tool(t testing.TB, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("..", "..", ".tools", "bin", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		if testing.Short() {
			t.Skipf("%s is not built, and -short asks for nothing that must be", name)
		}
		t.Fatalf("%v; run `tools/build.sh test` (or `make test`, which does), or leave these tests out with -short", err)
	}
	return path
}
