package system_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/system"
)

// family is a script that starts a child and a grandchild, which ignore what
// can be ignored and hold the output open, tells their pids through the FIFO $1
// when both are there, and waits for a line in $1.go. What it does then is up to
// the test.
const family = `
trap '' TERM INT HUP
sh -c 'sleep 600 & echo $! >"$2"; wait' sh "" "$1.grandchild" &
child=$!
read grandchild <"$1.grandchild"
echo "$$ $child $grandchild" >"$1"
read go <"$1.go"
`

// newFamily returns the command and a function that waits for the pids and
// returns a handle on each process, which stays valid when its pid does not.
func newFamily(t *testing.T, then string) (system.Command, func() []int) {
	t.Helper()
	fifo := filepath.Join(t.TempDir(), "pids")
	for _, path := range []string{fifo, fifo + ".grandchild", fifo + ".go"} {
		if err := unix.Mkfifo(path, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return sh(family+then, fifo), func() []int {
		data, err := os.ReadFile(fifo) // blocks until the script has written
		if err != nil {
			t.Fatal(err)
		}
		var handles []int
		for _, pid := range strings.Fields(string(data)) {
			handles = append(handles, open(t, pid))
		}
		if len(handles) != 3 {
			t.Fatalf("got pids %q, want 3", data)
		}
		if err := os.WriteFile(fifo+".go", []byte("go\n"), 0); err != nil {
			t.Fatal(err)
		}
		return handles
	}
}

func open(t *testing.T, pid string) int {
	t.Helper()
	number, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	handle, err := unix.PidfdOpen(number, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Close(handle) })
	return handle
}

// checkGone fails unless every process has ended, or does so within a second.
func checkGone(t *testing.T, handles []int) {
	t.Helper()
	for i, handle := range handles {
		events := []unix.PollFd{{Fd: int32(handle), Events: unix.POLLIN}}
		n, err := unix.Poll(events, 1000)
		if n != 1 || err != nil {
			t.Errorf("process %d of the family is still there (%v)", i, err)
			_ = unix.PidfdSendSignal(handle, unix.SIGKILL, nil, 0)
		}
	}
}

func TestContract03TheEndOfTheContextKillsTheWholeGroup(t *testing.T) {
	command, pids := newFamily(t, "echo waiting >&2; wait")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	result := make(chan error)
	go func() {
		_, err := new(system.Runner).Run(ctx, command)
		result <- err
	}()
	handles := pids()
	cancel()
	err := <-result
	checkGone(t, handles)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want context.Canceled", err)
	}
}

// overdue is a context whose deadline has passed as soon as it is done.
type overdue struct{ context.Context }

func (o overdue) Err() error {
	if o.Context.Err() != nil {
		return context.DeadlineExceeded
	}
	return nil
}

func TestContract03ADeadlineKillsAndSaysWhatTheProgramSaidLast(t *testing.T) {
	command, pids := newFamily(t, "echo connecting to 10.0.0.1 >&2; echo said >\"$1\"; wait")
	inner, cancel := context.WithCancel(t.Context())
	defer cancel()
	ctx := overdue{inner}
	result := make(chan error)
	go func() {
		_, err := new(system.Runner).Run(ctx, command)
		result <- err
	}()
	pids()
	if _, err := os.ReadFile(command.Args[len(command.Args)-1]); err != nil { // when it has said that
		t.Fatal(err)
	}
	cancel()
	err := <-result
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got error %v, want context.DeadlineExceeded", err)
	}
	if want := `run "/bin/sh": killed: context deadline exceeded; stderr ends: connecting to 10.0.0.1`; err.Error() != want {
		t.Errorf("got error %v, want %s", err, want)
	}
}

func TestContract03AProgramThatExitsTakesItsGroupAlong(t *testing.T) {
	for _, test := range []struct {
		then string
		fail bool
	}{{"echo '[]'; exit 0", false}, {"exit 3", true}, {"cat /dev/zero", true}} {
		t.Run(test.then, func(t *testing.T) {
			command, pids := newFamily(t, test.then)
			var output system.Output
			result := make(chan error)
			go func() {
				var err error
				output, err = new(system.Runner).Run(t.Context(), command)
				result <- err
			}()
			handles := pids()
			err := <-result
			checkGone(t, handles)
			if got := err != nil; got != test.fail {
				t.Errorf("got error %v, want one: %t", err, test.fail)
			}
			if want := []byte("[]\n"); !test.fail && !bytes.Equal(output.Stdout, want) {
				t.Errorf("got output %q, want %q", output.Stdout, want)
			}
		})
	}
}

// A process that leaves the group cannot be found, but it must not hang a read,
// and the output that it may still write to is not complete.
func TestContract03AProcessThatLeftTheGroupDoesNotHangRun(t *testing.T) {
	folder := t.TempDir()
	_, err := new(system.Runner).Run(t.Context(), sh(`
		cd "$1" && mkfifo ready
		setsid sh -c 'echo $$ >ready; exec sleep 600' &
		read pid <ready
		echo $pid >pid
		echo '[]'`, folder))
	pid, readErr := os.ReadFile(filepath.Join(folder, "pid"))
	if readErr != nil {
		t.Fatal(readErr)
	}
	handle := open(t, strings.TrimSpace(string(pid)))
	defer func() { _ = unix.PidfdSendSignal(handle, unix.SIGKILL, nil, 0) }()
	if err == nil || !strings.Contains(err.Error(), "holds the output open") {
		t.Errorf("got error %v, want the output to be incomplete", err)
	}
}

// In a container the program is often process 1, and inherits every orphan.
func TestContract33TheInitOfAContainerIsLeftWithoutZombies(t *testing.T) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) }()
	command, pids := newFamily(t, "exit 0")
	result := make(chan error)
	go func() {
		_, err := new(system.Runner).Run(t.Context(), command)
		result <- err
	}()
	checkGone(t, pids())
	if err := <-result; err != nil {
		t.Fatal(err)
	}
	if pid, err := syscall.Wait4(-1, nil, syscall.WNOHANG, nil); !errors.Is(err, syscall.ECHILD) {
		t.Errorf("got child %d (error %v), want none left", pid, err)
	}
}
