package system_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/system"
)

// What makes this program be one of two others, and the folder where they meet.
const (
	victim = "PROCESS_TEST_VICTIM"
	holder = "PROCESS_TEST_HOLDER"
)

// beUnkillable makes a process that cannot be collected after it was killed, like a
// process that waits for a dead disk. A traced process stays until its tracer has
// read its end. The victim lets the holder trace it. The victim starts the holder in
// a session of its own, and the holder reads nothing until it is asked to end.
func beUnkillable() {
	if folder := os.Getenv(victim); folder != "" {
		_ = unix.Prctl(unix.PR_SET_PTRACER, ^uintptr(0), 0, 0, 0) // without Yama there is nothing to allow
		cmd := exec.Command("/proc/self/exe")
		cmd.Env = []string{holder + "=" + folder, "PID=" + strconv.Itoa(os.Getpid())}
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		_ = cmd.Wait()
		os.Exit(0)
	}
	if folder := os.Getenv(holder); folder != "" {
		runtime.LockOSThread()
		pid, _ := strconv.Atoi(os.Getenv("PID"))
		_, _, errno := unix.Syscall6(unix.SYS_PTRACE, unix.PTRACE_SEIZE, uintptr(pid), 0, 0, 0, 0)
		told := fmt.Sprint(pid, " ", os.Getpid(), " ", int(errno))
		if err := os.WriteFile(filepath.Join(folder, "held"), []byte(told), 0); err != nil {
			panic(err)
		}
		end := make(chan os.Signal, 1)
		signal.Notify(end, syscall.SIGTERM)
		<-end
		os.Exit(0)
	}
}

// stuckProcess is the process that cannot be killed, and the way to release it.
type stuckProcess struct {
	pid     string
	release func()
}

// newVictim returns the command of a program that cannot be killed, and a function
// that waits until this is so. If a script is given, a shell with that script is its
// parent.
func newVictim(t *testing.T, script string) (system.Command, func() stuckProcess) {
	t.Helper()
	folder := t.TempDir()
	fifo := filepath.Join(folder, "held")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	command := system.Command{Path: self, Env: []string{victim + "=" + folder}, MaxOutput: 1000}
	if script != "" {
		command = sh(script, self)
		command.Env = append(command.Env, victim+"="+folder)
	}
	return command, func() stuckProcess {
		text, err := os.ReadFile(fifo) // blocks until the holder has written
		if err != nil {
			t.Fatal(err)
		}
		fields := strings.Fields(string(text))
		tracer := open(t, fields[1])
		release := func() { _ = unix.PidfdSendSignal(tracer, unix.SIGTERM, nil, 0) }
		t.Cleanup(release)
		if fields[2] != "0" {
			release()
			t.Skipf("no process may be traced here: errno %s", fields[2])
		}
		return stuckProcess{fields[0], release}
	}
}

// late is how long after its deadline Run may return, on a machine that is busy.
const late = 10 * time.Second

// runUntilHeld runs the command until the victim is there, and returns what came
// of ending it then.
func runUntilHeld(t *testing.T, runner *system.Runner, command system.Command, ready func() stuckProcess) (stuckProcess, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	result := make(chan error, 1)
	go func() {
		_, err := runner.Run(ctx, command)
		result <- err
	}()
	h := ready()
	cancel()
	select {
	case err := <-result:
		return h, err
	case <-time.After(late):
		h.release()
		<-result
		t.Fatal("Run waited for a program that cannot be killed")
	}
	return h, nil
}

// checkRefusedUntilReleased checks that the runner starts nothing while the process
// is there, and starts again when it is gone.
func checkRefusedUntilReleased(t *testing.T, runner *system.Runner, h stuckProcess) {
	t.Helper()
	for range 3 {
		_, err := runner.Run(t.Context(), sh("exit 0"))
		if err == nil || !strings.Contains(err.Error(), "not started") || !strings.Contains(err.Error(), "process "+h.pid+" ") {
			t.Errorf("got error %v, want that nothing is started while process %s is there", err, h.pid)
		}
	}
	if _, err := new(system.Runner).Run(t.Context(), sh("exit 0")); err != nil {
		t.Errorf("another runner: %v", err)
	}
	h.release()
	for end := time.Now().Add(late); ; <-time.After(10 * time.Millisecond) {
		_, err := runner.Run(t.Context(), sh("exit 0"))
		if err == nil {
			break
		}
		if time.Now().After(end) {
			t.Fatalf("the process is gone, but: %v", err)
		}
	}
	if _, err := os.Stat("/proc/" + h.pid); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("process %s was not collected: %v", h.pid, err)
	}
}

func TestContract03AProgramThatCannotBeKilledDelaysNothingAndIsTheOnlyOne(t *testing.T) {
	runner := new(system.Runner)
	command, ready := newVictim(t, "")
	before := runtime.NumGoroutine()
	h, err := runUntilHeld(t, runner, command, ready)
	if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), "it does not end: process "+h.pid+" ") {
		t.Errorf("got error %v, want context.Canceled and the number of the process, %s", err, h.pid)
	}
	if got := runtime.NumGoroutine() - before; got > 5 {
		t.Errorf("got %d goroutines more while the process is there, want a few", got)
	}
	checkRefusedUntilReleased(t, runner, h)
}

// In a container the program is often process 1, and inherits what the killed
// program had started.
func TestContract03AChildOfTheProgramThatCannotBeKilledDelaysNothingEither(t *testing.T) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0) }()
	runner := new(system.Runner)
	command, ready := newVictim(t, `"$1" & wait`)
	h, err := runUntilHeld(t, runner, command, ready)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want context.Canceled", err)
	}
	checkRefusedUntilReleased(t, runner, h)
}

func TestOfAGroupTheMembersThatAreStuckAreFoundWhateverTheirNames(t *testing.T) {
	tests := []struct {
		stat        string
		pid         int
		name, state string
		group       int
		ok          bool
	}{
		{"4711 (cat) D 4710 4700 4600 0 -1", 4711, "cat", "D", 4700, true},
		{"4711 (a) R 1 (b) S 4710 4700 4600 0", 4711, "a) R 1 (b", "S", 4700, true},
		{"4711 (cat) D 4710", 0, "", "", 0, false},
		{"4711 (", 0, "", "", 0, false},
		{") 4711 (cat", 0, "", "", 0, false},
		{"", 0, "", "", 0, false},
	}
	for _, test := range tests {
		pid, name, state, group, ok := system.ParseStat(test.stat)
		if ok != test.ok || ok && (pid != test.pid || name != test.name || state != test.state || group != test.group) {
			t.Errorf("%q: got %d, %s, %s, %d, %t", test.stat, pid, name, state, group, ok)
		}
	}
}
