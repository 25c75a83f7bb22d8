// Package program builds and runs the programs that benchmarks compare, and says what
// they use. It measures nothing by itself.
package program

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Program is a running program that is measured.
type Program struct {
	// Started is the moment before it was executed.
	Started time.Time

	t    *testing.T
	cmd  *exec.Cmd
	in   io.WriteCloser
	log  string
	done chan struct{}
}

// Build compiles a program as the image does.
func Build(t *testing.T, dir, pkg string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), filepath.Base(pkg))
	cmd := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w", "-o", path, pkg)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
	}
	return path
}

// Start runs a program until the test ends or Stop is called. What it prints is its log.
func Start(t *testing.T, env []string, path string, args ...string) *Program {
	t.Helper()
	p := &Program{t: t, cmd: exec.Command(path, args...), done: make(chan struct{})}
	p.log = filepath.Join(t.TempDir(), "log")
	log, err := os.Create(p.log)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	if p.in, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	p.cmd.Env, p.cmd.Stdout, p.cmd.Stderr = env, log, log
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	p.Started = time.Now()
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = p.cmd.Wait() // the log says why
		close(p.done)
	}()
	t.Cleanup(p.Stop)
	return p
}

// Stop ends it in order, and after ten seconds by force.
func (p *Program) Stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // may have ended
	select {
	case <-p.done:
	case <-time.After(10 * time.Second):
		_ = p.cmd.Process.Kill()
		<-p.done
	}
}

// Tell writes a line to its standard input.
func (p *Program) Tell(format string, args ...any) {
	p.t.Helper()
	if _, err := fmt.Fprintf(p.in, format+"\n", args...); err != nil {
		p.Fail("it takes no input: %v", err)
	}
}

// AwaitLog returns the first line after the given offset of the log that has all the
// parts, and the offset after it.
func (p *Program) AwaitLog(offset int, limit time.Duration, parts ...string) (line string, next int) {
	p.t.Helper()
	for deadline := time.Now().Add(limit); time.Now().Before(deadline); time.Sleep(2 * time.Millisecond) {
		log, err := os.ReadFile(p.log)
		if err != nil {
			p.t.Fatal(err)
		}
		for {
			text, _, complete := bytes.Cut(log[offset:], []byte("\n"))
			if !complete {
				break
			}
			offset += len(text) + 1
			if has(string(text), parts) {
				return string(text), offset
			}
		}
	}
	p.Fail("it did not say %q within %v", parts, limit)
	return "", 0
}

// LogSize is how much it has printed so far.
func (p *Program) LogSize() int {
	p.t.Helper()
	about, err := os.Stat(p.log)
	if err != nil {
		p.t.Fatal(err)
	}
	return int(about.Size())
}

func has(line string, parts []string) bool {
	for _, part := range parts {
		if !strings.Contains(line, part) {
			return false
		}
	}
	return true
}

// Fail ends the test with the end of the program's log.
func (p *Program) Fail(format string, args ...any) {
	p.t.Helper()
	log, _ := os.ReadFile(p.log)
	p.t.Fatalf("%s\nits log ends:\n%s", fmt.Sprintf(format, args...), log[max(0, len(log)-4_000):])
}

// CPU is what all its threads have used so far.
func (p *Program) CPU() time.Duration {
	p.t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", p.cmd.Process.Pid))
	if err != nil || len(files) == 0 {
		p.Fail("%s has no threads (any more): %v", p.cmd.Path, err)
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

// Memory is what is resident now and the most that ever was, in bytes.
func (p *Program) Memory() (now, peak int) {
	p.t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err != nil {
		p.Fail("%v", err)
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
