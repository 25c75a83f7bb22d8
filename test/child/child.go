// Package child runs a real program for a test: it dies with the test, and what it
// printed last is there for the message of a failure. The package is for tests only.
package child

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Child is a program in a process group of its own. It ends with the test, also when the
// test is killed.
type Child struct {
	// PID is its process id, and that of its group.
	PID int
	// Log is the file with what it prints.
	Log string
	// Done is closed when it has ended and was waited for.
	Done <-chan struct{}

	command *exec.Cmd
}

// Start starts a command. What it prints is appended to the file log, if the command does
// not say where it goes.
func Start(command *exec.Cmd, log string) (*Child, error) {
	output, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer output.Close()
	if command.Stdout == nil {
		command.Stdout = output
	}
	if command.Stderr == nil {
		command.Stderr = output
	}
	if command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{}
	}
	command.SysProcAttr.Setpgid, command.SysProcAttr.Pdeathsig = true, syscall.SIGKILL

	started, done := make(chan error), make(chan struct{})
	go func() {
		// The death signal is sent when the *thread* that started the child ends. So
		// that thread is kept until the child has ended.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := command.Start()
		started <- err
		if err == nil {
			_ = command.Wait() // State says it
			close(done)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	return &Child{PID: command.Process.Pid, Log: log, Done: done, command: command}, nil
}

// Signal sends a signal to the process group. It is an error when the child has ended.
func (c *Child) Signal(s syscall.Signal) error {
	if c.Ended() {
		return os.ErrProcessDone
	}
	return syscall.Kill(-c.PID, s)
}

// Kill ends the process group, also a paused one, and waits for the child.
func (c *Child) Kill() {
	_ = c.Signal(syscall.SIGKILL) // it may have ended
	<-c.Done
}

// Ended reports whether the child has ended.
func (c *Child) Ended() bool {
	select {
	case <-c.Done:
		return true
	default:
		return false
	}
}

// Await waits for the end of the child, but not for longer than the limit.
func (c *Child) Await(limit time.Duration) error {
	select {
	case <-c.Done:
		return nil
	case <-time.After(limit):
		return fmt.Errorf("%s has not ended in %v", c.name(), limit)
	}
}

// State waits for the end of the child and says how it ended.
func (c *Child) State() *os.ProcessState {
	<-c.Done
	return c.command.ProcessState
}

// AwaitStopped waits until every thread of a child that was sent SIGSTOP stands still: the
// signal takes effect a moment after it was sent.
func (c *Child) AwaitStopped() {
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		stats, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/stat", c.PID))
		if err != nil || len(stats) == 0 {
			return // no /proc here
		}
		if !slices.ContainsFunc(stats, running) {
			return
		}
	}
}

// running reports whether the thread of a stat file is not stopped. Its state follows the
// name, which is in parentheses.
func running(stat string) bool {
	data, err := os.ReadFile(stat)
	if err != nil {
		return false // it has ended
	}
	_, after, _ := strings.Cut(string(data), ") ")
	return !strings.HasPrefix(after, "T")
}

// Tail returns the last lines of the log, with the name of the child, for messages.
func (c *Child) Tail() string {
	const most = 30
	text, err := os.ReadFile(c.Log)
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(strings.TrimRight(string(text), "\n"), "\n")
	return fmt.Sprintf("--- last lines of %s:\n%s", c.name(), strings.Join(lines[max(0, len(lines)-most):], "\n"))
}

func (c *Child) name() string { return strings.TrimSuffix(filepath.Base(c.Log), ".log") }
