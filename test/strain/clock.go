package strain

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A real clock cannot be stepped for one process alone: a time namespace has clocks
// of its own for monotonic time, but not for the time of day. So the program is built
// with a package time whose Now adds an offset. Nothing else about it differs: go
// build -overlay replaces the file that has Now and adds one that maps a page of
// shared memory, which the test writes. Timers, sleeps and the monotonic part of
// every time continue as they were, exactly as when an administrator sets the clock
// of a machine.

// variable names the file with the offset in the program's environment.
const variable = "TEST_CLOCK"

// nowBefore is the line of Now in time.go of the Go that builds the program.
const (
	nowBefore = "\tsec, nsec, mono := runtimeNow()\n\tif mono == 0 {"
	nowAfter  = "\tsec, nsec, mono := runtimeNow()\n\tsec, nsec = stepped(sec, nsec)\n\tif mono == 0 {"
)

// steppedSource becomes a file of package time. What it needs of syscall is
// there before any variable of package time is set.
const steppedSource = `package time

import (
	"sync/atomic"
	"syscall"
	"unsafe"
)

// step is how far the wall clock is off, in nanoseconds; nil without the variable.
var step = mapStep()

func mapStep() *int64 {
	path, ok := syscall.Getenv("` + variable + `")
	if !ok {
		return nil
	}
	fd, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		panic("` + variable + `: " + err.Error())
	}
	page, err := syscall.Mmap(fd, 0, 8, syscall.PROT_READ, syscall.MAP_SHARED)
	if err != nil {
		panic("` + variable + `: " + err.Error())
	}
	syscall.Close(fd)
	return (*int64)(unsafe.Pointer(&page[0]))
}

func stepped(sec int64, nsec int32) (int64, int32) {
	if step == nil {
		return sec, nsec
	}
	total := int64(nsec) + atomic.LoadInt64(step)
	sec, rest := sec+total/1e9, total%1e9
	if rest < 0 {
		sec, rest = sec-1, rest+1e9
	}
	return sec, int32(rest)
}
`

// SteppedBuild builds a package of this module for a [Clock] that can step its wall
// clock, and returns the program's path. The first build on a machine compiles almost
// everything again, which takes a minute or two. Later builds come out of Go's build
// cache.
func SteppedBuild(t testing.TB, path string) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), filepath.Base(path))
	overlay, err := writeOverlay(t.TempDir())
	if err != nil {
		t.Fatalf("strain: %v", err)
	}
	build := exec.CommandContext(t.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-overlay", overlay, "-o", program, path)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("strain: %s: %v\n%s", strings.Join(build.Args, " "), err, output)
	}
	return program
}

// goRoot is where the sources of the standard library are.
var goRoot = sync.OnceValues(func() (string, error) {
	output, err := exec.Command("go", "env", "GOROOT").Output()
	return strings.TrimSpace(string(output)), err
})

// writeOverlay writes what -overlay asks for and returns its path.
func writeOverlay(dir string) (string, error) {
	root, err := goRoot()
	if err != nil {
		return "", fmt.Errorf("go env GOROOT: %w", err)
	}
	original := filepath.Join(root, "src", "time", "time.go")
	source, err := os.ReadFile(original)
	if err != nil {
		return "", err
	}
	if n := strings.Count(string(source), nowBefore); n != 1 {
		return "", fmt.Errorf("%s of %s has %d places that look like the beginning of Now, want 1: bring nowBefore up to date", original, runtime.Version(), n)
	}
	changed, added := filepath.Join(dir, "time.go"), filepath.Join(dir, "step.go")
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {
		original: changed,
		filepath.Join(root, "src", "time", "step.go"): added,
	}})
	if err != nil {
		return "", err
	}
	path := filepath.Join(dir, "overlay.json")
	for name, content := range map[string]string{
		changed: strings.Replace(string(source), nowBefore, nowAfter, 1), added: steppedSource, path: string(overlay),
	} {
		if err := os.WriteFile(name, []byte(content), 0o600); err != nil {
			return "", err
		}
	}
	return path, nil
}

// Clock is the wall clock of programs that [SteppedBuild] built.
type Clock struct {
	path string
	page []byte
}

// NewClock makes a clock that is right until it is stepped.
func NewClock(t testing.TB) *Clock {
	t.Helper()
	path := filepath.Join(t.TempDir(), "clock")
	if err := os.WriteFile(path, make([]byte, 8), 0o600); err != nil {
		t.Fatalf("strain: %v", err)
	}
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		t.Fatalf("strain: %v", err)
	}
	defer file.Close()
	page, err := unix.Mmap(int(file.Fd()), 0, 8, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
	if err != nil {
		t.Fatalf("strain: map %s: %v", path, err)
	}
	t.Cleanup(func() { _ = unix.Munmap(page) })
	return &Clock{path: path, page: page}
}

// Environment is the variable that a program follows this clock by.
func (c *Clock) Environment() string { return variable + "=" + c.path }

// Set puts the clock this far ahead of the true time, or behind it when negative. The
// earlier offset does not matter.
func (c *Clock) Set(ahead time.Duration) {
	atomic.StoreInt64((*int64)(unsafe.Pointer(&c.page[0])), int64(ahead))
}
