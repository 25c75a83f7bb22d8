package system_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/system"
)

// TestContract33WhatLeftItsSessionAndEndedIsCollectedByTheNextRun: a child that the
// runner did not start is left to the code that waits for it.
func TestContract33WhatLeftItsSessionAndEndedIsCollectedByTheNextRun(t *testing.T) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) }()
	folder := t.TempDir()
	_, err := new(system.Runner).Run(t.Context(), sh(`
		cd "$1" && mkfifo ready go
		setsid sh -c 'echo $$ >ready; read line <go' </dev/null >/dev/null 2>&1 &
		read pid <ready
		echo $pid >pid`, folder))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(folder, "pid"))
	if err != nil {
		t.Fatal(err)
	}
	stray := open(t, strings.TrimSpace(string(text)))
	// A child that other code of this process has started and has not yet waited for.
	own, err := os.StartProcess("/bin/true", []string{"true"}, &os.ProcAttr{})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "go"), []byte("go\n"), 0); err != nil {
		t.Fatal(err)
	}
	for end := time.Now().Add(time.Minute); ; <-time.After(10 * time.Millisecond) {
		if _, err := new(system.Runner).Run(t.Context(), sh("exit 0")); err != nil {
			t.Fatal(err)
		}
		if err := unix.PidfdSendSignal(stray, 0, nil, 0); errors.Is(err, syscall.ESRCH) {
			break
		}
		if time.Now().After(end) {
			t.Fatal("what has ended is not collected")
		}
	}
	if state, err := own.Wait(); err != nil || !state.Success() {
		t.Errorf("another's child: got %v, %v, want its exit status", state, err)
	}
}
