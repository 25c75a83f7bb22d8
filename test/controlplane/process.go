package controlplane

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a child in a process group of its own, which dies with the test
// even when the test is killed.
type process struct {
	name string
	log  string
	pid  int
	// done is closed when the child has ended and been waited for.
	done chan struct{}
}

// start runs a program in dir, with its output appended to NAME.log there.
func start(path string, args []string, dir string) (*process, error) {
	name := filepath.Base(path)
	p := &process{name: name, log: filepath.Join(dir, name+".log"), done: make(chan struct{})}
	output, err := os.OpenFile(p.log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer output.Close()
	command := exec.Command(path, args...)
	command.Dir = dir
	command.Stdout, command.Stderr = output, output
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}

	started := make(chan error)
	go func() {
		// The death signal is sent when the *thread* that started the child ends. So
		// that thread is kept until the child has ended.
		runtime.LockOSThread()
		defer runtime.UnlockOSThread()
		err := command.Start()
		started <- err
		if err == nil {
			_ = command.Wait() // an exit status says nothing that the log does not
			close(p.done)
		}
	}()
	if err := <-started; err != nil {
		return nil, err
	}
	p.pid = command.Process.Pid
	return p, nil
}

// kill ends the process group, also a paused one, and waits for its leader.
func (p *process) kill() {
	_ = p.signal(syscall.SIGKILL)
	<-p.done
}

// stopped waits until every thread of a process that was sent SIGSTOP stands
// still: the signal takes effect a moment after it was sent.
func (p *process) stopped() {
	tasks := filepath.Join("/proc", strconv.Itoa(p.pid), "task")
	for deadline := time.Now().Add(10 * time.Second); time.Now().Before(deadline); time.Sleep(time.Millisecond) {
		stats, err := filepath.Glob(filepath.Join(tasks, "*", "stat"))
		if err != nil || len(stats) == 0 {
			return // no /proc here
		}
		if !slices.ContainsFunc(stats, running) {
			return
		}
	}
}

// running reports whether the thread of a stat file is not stopped. Its state
// follows the name, which is in parentheses.
func running(stat string) bool {
	data, err := os.ReadFile(stat)
	if err != nil {
		return false // it has ended
	}
	_, after, _ := strings.Cut(string(data), ") ")
	return !strings.HasPrefix(after, "T")
}

// signal reports an error when the process has ended already.
func (p *process) signal(s syscall.Signal) error {
	if p.ended() {
		return os.ErrProcessDone
	}
	return syscall.Kill(-p.pid, s)
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// tail returns the last lines of the log, for failure messages.
func (p *process) tail() string {
	const lines = 25
	data, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	return fmt.Sprintf("--- last lines of %s:\n%s", p.name, strings.Join(all[max(0, len(all)-lines):], "\n"))
}
