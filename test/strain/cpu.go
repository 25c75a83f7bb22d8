package strain

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// cpuGroups is where the first version of control groups shares the CPU out.
const cpuGroups = "/sys/fs/cgroup/cpu"

// cpuPeriod is in how long a process gets its share; it then stands still until
// the next begins.
const cpuPeriod = 100 * time.Millisecond

// StarveCPU leaves a process this share of one CPU, 0 to 1, by a control group. On a
// machine without control groups of the first version it stops the process for the
// rest of each period. The returned function ends that. The end of the test calls it
// at the latest.
func StarveCPU(t testing.TB, pid int, share float64) (restore func()) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(cpuGroups, "cpu.cfs_quota_us")); err != nil {
		return dutyCycle(t, pid, share)
	}
	restore, err := limit(pid, share)
	if err != nil {
		lacking(t, fmt.Errorf("starve process %d of CPU: %w", pid, err))
	}
	restore = sync.OnceFunc(restore)
	t.Cleanup(restore)
	return restore
}

// limit puts a process into a control group of its own.
func limit(pid int, share float64) (restore func(), err error) {
	before, err := groupOf(pid)
	if err != nil {
		return nil, err
	}
	group := filepath.Join(cpuGroups, fmt.Sprintf("strain-%d", pid))
	if err := os.Mkdir(group, 0o755); err != nil {
		return nil, err
	}
	restore = func() {
		// A process that has ended is in no group, and a group without processes
		// goes.
		_ = os.WriteFile(filepath.Join(cpuGroups, before, "cgroup.procs"), []byte(strconv.Itoa(pid)), 0o600)
		for deadline := time.Now().Add(time.Second); os.Remove(group) != nil && time.Now().Before(deadline); {
			time.Sleep(time.Millisecond)
		}
	}
	quota := max(1000, int(share*float64(cpuPeriod/time.Microsecond)))
	for _, set := range []struct{ name, value string }{
		{"cpu.cfs_period_us", strconv.Itoa(int(cpuPeriod / time.Microsecond))},
		{"cpu.cfs_quota_us", strconv.Itoa(quota)},
		{"cgroup.procs", strconv.Itoa(pid)},
	} {
		if err := os.WriteFile(filepath.Join(group, set.name), []byte(set.value), 0o600); err != nil {
			restore()
			return nil, err
		}
	}
	return restore, nil
}

// groupOf is the group that a process is in.
func groupOf(pid int) (string, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(text)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		for _, controller := range strings.Split(fields[1], ",") {
			if controller == "cpu" {
				return fields[2], nil
			}
		}
	}
	return "", errors.New("no group of the controller cpu")
}

// dutyCycle stops a process for the rest of each period.
func dutyCycle(t testing.TB, pid int, share float64) (restore func()) {
	t.Helper()
	run := time.Duration(share * float64(cpuPeriod))
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		defer func() { _ = syscall.Kill(pid, syscall.SIGCONT) }() // it may have ended
		for ticker := time.NewTicker(cpuPeriod); ; {
			_ = syscall.Kill(pid, syscall.SIGCONT)
			time.Sleep(run)
			_ = syscall.Kill(pid, syscall.SIGSTOP)
			select {
			case <-stop:
				ticker.Stop()
				return
			case <-ticker.C:
			}
		}
	}()
	restore = sync.OnceFunc(func() { close(stop); <-ended })
	t.Cleanup(restore)
	return restore
}
