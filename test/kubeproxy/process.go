package kubeproxy

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
)

// process is a child in a process group of its own, which dies with the test
// even when the test is killed.
type process struct {
	log string
	pid int
	// done is closed when the child has ended and been waited for.
	done chan struct{}
}

// start runs a program inside a namespace, with its output in a file of dir.
func start(namespace, program string, args []string, dir string) (*process, error) {
	p := &process{log: filepath.Join(dir, "kube-proxy.log"), done: make(chan struct{})}
	output, err := os.Create(p.log)
	if err != nil {
		return nil, err
	}
	defer output.Close()
	// ip replaces itself by the program, which so keeps the process id and the death signal.
	command := exec.Command("ip", append([]string{"netns", "exec", namespace, program}, args...)...)
	// kube-proxy looks for nft and iptables, which lie in folders that a user's PATH may lack.
	command.Env = append(os.Environ(), "PATH="+os.Getenv("PATH")+":/usr/sbin:/sbin")
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

// kill ends the process group and waits for its leader.
func (p *process) kill() {
	if !p.ended() {
		_ = syscall.Kill(-p.pid, syscall.SIGKILL) // it may end meanwhile
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

// tail returns the last lines of the log, for failure messages.
func (p *process) tail() string {
	const lines = 25
	data, err := os.ReadFile(p.log)
	if err != nil {
		return err.Error()
	}
	all := strings.Split(strings.TrimRight(string(data), "\n"), "\n")
	return fmt.Sprintf("--- last lines of kube-proxy:\n%s", strings.Join(all[max(0, len(all)-lines):], "\n"))
}
