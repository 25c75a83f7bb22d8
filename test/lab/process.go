//go:build lab

package lab

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// waitTimeout bounds every wait; none is expected to take so long.
const waitTimeout = 90 * time.Second

// process is a child that always dies with the test.
type process struct {
	t     testing.TB
	name  string
	log   string // file with its standard error
	pid   int
	done  chan struct{} // closed when it was waited for
	state *os.ProcessState
	in    io.WriteCloser
	out   *bufio.Scanner
}

// start runs a command. Its standard error goes to a file, and its standard output
// too if the test does not read it. The end of the file is shown if the test fails.
func start(t testing.TB, name string, env, args []string, readOutput bool) *process {
	t.Helper()
	p := &process{t: t, name: name, log: filepath.Join(t.TempDir(), name+".log"), done: make(chan struct{})}
	log, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer log.Close()
	command := exec.Command(args[0], args[1:]...)
	command.Env = env
	command.Stdout, command.Stderr = log, log
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if p.in, err = command.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	var ours, theirs *os.File
	if readOutput {
		if ours, theirs, err = os.Pipe(); err != nil {
			t.Fatal(err)
		}
		defer theirs.Close()
		command.Stdout, p.out = theirs, bufio.NewScanner(ours)
	}
	started := make(chan error)
	go func() {
		// The death signal is sent when the thread that started the child ends.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := command.Start()
		started <- err
		if err == nil {
			_ = command.Wait() // its state says it
			p.state = command.ProcessState
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	p.pid = command.Process.Pid
	t.Cleanup(func() {
		p.kill()
		ours.Close() // nil is allowed
		p.show()
	})
	return p
}

// show puts the end of the log into the test's, if that failed.
func (p *process) show() {
	if text := p.tail(15); p.t.Failed() && text != "" {
		p.t.Logf("last lines of %s:\n%s", p.name, text)
	}
}

func (p *process) signal(s syscall.Signal) { _ = syscall.Kill(-p.pid, s) }

// kill ends the process group, also a paused one.
func (p *process) kill() {
	if !p.ended() {
		p.signal(syscall.SIGKILL)
	}
	<-p.done
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// await waits for the end of the process.
func (p *process) await() {
	p.t.Helper()
	select {
	case <-p.done:
	case <-time.After(waitTimeout):
		p.t.Fatalf("%s has not ended in %v\n%s", p.name, waitTimeout, p.tail(15))
	}
}

// tail returns the last lines of the log.
func (p *process) tail(lines int) string {
	data, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	return strings.Join(all[max(0, len(all)-lines):], "\n")
}

// until waits for a condition, which it checks often.
func until(t testing.TB, what func() string, condition func() bool) {
	t.Helper()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for deadline := time.Now().Add(waitTimeout); !condition(); <-ticker.C {
		if time.Now().After(deadline) {
			t.Fatalf("waited %v: %s", waitTimeout, what())
		}
	}
}

// environ writes a map as an environment.
func environ(values map[string]string) []string {
	var list []string
	for name, value := range values {
		list = append(list, fmt.Sprintf("%s=%s", name, value))
	}
	return list
}
