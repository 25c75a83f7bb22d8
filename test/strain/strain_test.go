package strain_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/strain"
)

// waitTimeout bounds every wait.
const waitTimeout = 30 * time.Second

// shell is a running sh that carries lines out and answers.
type shell struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Scanner
	pid int
}

func newShell(t *testing.T) *shell {
	t.Helper()
	command := exec.CommandContext(t.Context(), "sh")
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait() // killed
	})
	return &shell{t, in, bufio.NewScanner(out), command.Process.Pid}
}

// do carries a line out and returns what it says.
func (s *shell) do(line string) string {
	s.t.Helper()
	fmt.Fprintln(s.in, line)
	if !s.out.Scan() {
		s.t.Fatalf("%s: the shell has ended", line)
	}
	return s.out.Text()
}

func TestWithoutDescriptorsNothingCanBeOpened(t *testing.T) {
	s := newShell(t)
	open := "(exec 7</dev/null) && echo opened || echo not"
	if got := s.do(open); got != "opened" {
		t.Fatalf("before: got %q", got)
	}
	restore := strain.NoDescriptors(t, s.pid)
	if got := s.do(open); got != "not" {
		t.Errorf("without descriptors: got %q, want not", got)
	}
	restore()
	if got := s.do(open); got != "opened" {
		t.Errorf("afterwards: got %q, want opened", got)
	}
}

func TestAFullDiskTakesNothingUntilItIsFreed(t *testing.T) {
	// The thread gets a mount namespace and ends with the test.
	runtime.LockOSThread()
	if err := unix.Unshare(unix.CLONE_NEWNS); err != nil {
		t.Skipf("no mount namespace: %v", err)
	}
	if err := unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""); err != nil {
		t.Fatal(err)
	}
	disk := strain.NewDisk(t)
	disk.Fill()
	path := filepath.Join(disk.Path, "file")
	if err := os.WriteFile(path, []byte("content"), 0o600); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("full: got %v, want %v", err, syscall.ENOSPC)
	}
	disk.Free()
	if err := os.WriteFile(path, []byte("content"), 0o600); err != nil {
		t.Errorf("freed: %v", err)
	}
}

func TestAStarvedProcessGetsItsShareOfTheCPU(t *testing.T) {
	spin := exec.CommandContext(t.Context(), "sh", "-c", "while :; do :; done")
	if err := spin.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = spin.Process.Kill()
		_ = spin.Wait() // killed
	}()
	restore := strain.StarveCPU(t, spin.Process.Pid, 0.05)
	// It may use up what it has been given before the limit held.
	before, start := used(t, spin.Process.Pid), time.Now()
	time.Sleep(time.Second)
	got, took := used(t, spin.Process.Pid)-before, time.Since(start)
	if share := got.Seconds() / took.Seconds(); share > 0.15 {
		t.Errorf("got %.2f of a CPU, want 0.05", share)
	}
	restore()
	before = used(t, spin.Process.Pid)
	for deadline := time.Now().Add(waitTimeout); used(t, spin.Process.Pid)-before < 500*time.Millisecond; time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("it is starved still")
		}
	}
}

// used is the CPU time of a process.
func used(t *testing.T, pid int) time.Duration {
	t.Helper()
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(stat), ") ")
	fields := strings.Fields(after)
	ticks := 0
	for _, field := range fields[11:13] { // utime and stime, in hundredths of a second
		n, err := strconv.Atoi(field)
		if err != nil {
			t.Fatal(err)
		}
		ticks += n
	}
	return time.Duration(ticks) * 10 * time.Millisecond
}
