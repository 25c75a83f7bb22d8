package strain

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// NoDescriptors makes every open of a process fail: no file, no connection. What is
// open stays open. The returned function ends that. The end of the test calls it at
// the latest.
func NoDescriptors(t testing.TB, pid int) (restore func()) {
	t.Helper()
	var before unix.Rlimit
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &before); err != nil {
		lacking(t, fmt.Errorf("read the limit of descriptors of process %d: %w", pid, err))
	}
	// The hard limit stays: only with more rights could it be raised again.
	if err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 0, Max: before.Max}, nil); err != nil {
		lacking(t, fmt.Errorf("take the descriptors of process %d away: %w", pid, err))
	}
	restore = func() {
		err := unix.Prlimit(pid, unix.RLIMIT_NOFILE, &before, nil)
		if err != nil && !errors.Is(err, unix.ESRCH) {
			t.Errorf("strain: give process %d its descriptors back: %v", pid, err)
		}
	}
	t.Cleanup(restore)
	return restore
}

// lacking ends a test without the rights for a fault. It skips the test, or fails it
// with CI=true: such a machine must have everything.
func lacking(t testing.TB, err error) {
	t.Helper()
	switch {
	case !errors.Is(err, unix.EPERM) && !errors.Is(err, unix.EACCES):
		t.Fatalf("strain: %v", err)
	case os.Getenv("CI") == "true":
		t.Fatalf("strain: %v; CI=true forbids to skip for that: run as root", err)
	default:
		t.Skipf("strain: %v", err)
	}
}
