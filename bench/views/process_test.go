package views_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// program is a running program that is measured.
type program struct{ *exec.Cmd }

// start starts it; it ends with the test.
func start(t *testing.T, cmd *exec.Cmd) program {
	t.Helper()
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // may have ended
		_ = cmd.Wait()         // killed
	})
	return program{cmd}
}

// cpu is what all its threads have used so far.
func (p program) cpu(t *testing.T) time.Duration {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p.Process.Pid))
	if err != nil || len(files) == 0 {
		t.Fatalf("%s has no threads (any more): %v", p.Path, err)
	}
	sum := time.Duration(0)
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil { // a thread may have ended
			ns, _ := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
			sum += time.Duration(ns)
		}
	}
	return sum
}

// resident is its memory, in bytes.
func (p program) resident(t *testing.T) int {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		if value, found := strings.CutPrefix(line, "VmRSS:"); found {
			kilobytes, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB"))
			return kilobytes << 10
		}
	}
	t.Fatalf("%s: no VmRSS", p.Path)
	return 0
}
