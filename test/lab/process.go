//go:build lab

package lab

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/child"
)

// waitTimeout bounds every wait; none is expected to take so long.
const waitTimeout = 90 * time.Second

// process is a child that ends with the test.
type process struct {
	*child.Child

	t   testing.TB
	in  io.WriteCloser
	out *bufio.Scanner
}

// start runs a command. Its standard error goes to a file, and its standard output
// too if the test does not read it. The end of the file is shown if the test fails.
func start(t testing.TB, name string, env, args []string, readOutput bool) *process {
	t.Helper()
	p := &process{t: t}
	command := exec.Command(args[0], args[1:]...)
	command.Env = env
	var err error
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
	if p.Child, err = child.Start(command, filepath.Join(t.TempDir(), name+".log")); err != nil {
		t.Fatalf("start %s: %v", name, err)
	}
	t.Cleanup(func() {
		p.Kill()
		ours.Close() // nil is allowed
		if t.Failed() {
			t.Log(p.Tail())
		}
	})
	return p
}

// shareLog lets other users open the standard output again, as one in a container may.
func (p *process) shareLog() {
	if err := os.Chmod(p.Log, 0o666); err != nil {
		p.t.Error(err)
	}
}

// signal sends a signal; the process may have ended.
func (p *process) signal(s syscall.Signal) { _ = p.Signal(s) }

// stop ends the process as Kubernetes does, and waits until it has ended.
func (p *process) stop() {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	p.end()
}

// end waits until the process has ended.
func (p *process) end() {
	p.t.Helper()
	if err := p.Await(waitTimeout); err != nil {
		p.t.Fatalf("%v\n%s", err, p.Tail())
	}
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
