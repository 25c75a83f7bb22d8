package endtoend_test

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
type program struct {
	t    *testing.T
	cmd  *exec.Cmd
	log  string
	done chan struct{}
	// started is the moment before it was executed.
	started time.Time
}

// start runs it until the test ends or stop is called.
func start(t *testing.T, env []string, path string, args ...string) *program {
	t.Helper()
	p := &program{t: t, cmd: exec.Command(path, args...), done: make(chan struct{})}
	p.log = filepath.Join(t.TempDir(), "log")
	log, err := os.Create(p.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = env, log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.started = time.Now()
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // the log says why
		close(p.done)
	}()
	t.Cleanup(p.stop)
	return p
}

// stop ends it in order, and after ten seconds by force.
func (p *program) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // may have ended
	select {
	case <-p.done:
	case <-time.After(10 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// fail ends the test with the end of the program's log.
func (p *program) fail(format string, args ...any) {
	p.t.Helper()
	log, _ := os.ReadFile(p.log)
	p.t.Fatalf("%s\nits log ends:\n%s", fmt.Sprintf(format, args...), log[max(0, len(log)-4_000):])
}

// cpu is what all its threads have used so far.
func (p *program) cpu() time.Duration {
	p.t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p.cmd.Process.Pid))
	if err != nil || len(files) == 0 {
		p.fail("%s has no threads (any more): %v", p.cmd.Path, err)
	}
	sum := time.Duration(0)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // a thread that has ended
		}
		ns, err := strconv.ParseInt(strings.Fields(string(text))[0], 10, 64)
		if err != nil {
			p.t.Fatal(err)
		}
		sum += time.Duration(ns)
	}
	return sum
}

// memory is what is resident now and the most that ever was, in bytes.
func (p *program) memory() (now, peak int) {
	p.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		p.fail("%v", err)
	}
	for line := range strings.Lines(string(text)) {
		name, value, _ := strings.Cut(line, ":")
		kilobytes, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(value), " kB"))
		switch name {
		case "VmRSS":
			now = kilobytes << 10
		case "VmHWM":
			peak = kilobytes << 10
		}
	}
	return now, peak
}
