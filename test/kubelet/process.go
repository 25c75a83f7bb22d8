package kubelet

import (
	"bytes"
	"io"
	"net/http"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

const (
	// stopTimeout is more than a Pod is given to end.
	stopTimeout = time.Minute
	// probeTimeout is that of the Pod's probes.
	probeTimeout = 5 * time.Second
)

// Process is the running daemon of one Pod.
type Process struct {
	command *exec.Cmd
	done    chan struct{}
	mu      sync.Mutex
	output  bytes.Buffer
}

// Start runs the daemon of a Pod until the test ends. If the test failed, it then
// shows the daemon's log. The changes are those of [Kubelet.Command].
func (k *Kubelet) Start(t *testing.T, pod *corev1.Pod, changes map[string]string) *Process {
	t.Helper()
	p := &Process{command: k.Command(t, pod, changes), done: make(chan struct{})}
	p.command.Stdout, p.command.Stderr = p, p
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		_ = p.command.Wait()
	}()
	t.Cleanup(func() {
		_ = p.command.Process.Kill()
		<-p.done
		if t.Failed() {
			t.Logf("log of %s:\n%s", pod.Name, p.Log())
		}
	})
	return p
}

// Write takes the log in.
func (p *Process) Write(line []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output.Write(line)
}

// Log is what the daemon has said so far.
func (p *Process) Log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output.String()
}

// Stop ends the daemon as the deletion of its Pod would; it must end well.
func (p *Process) Stop(t *testing.T) {
	t.Helper()
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.done:
	case <-time.After(stopTimeout):
		t.Fatal("kubelet: the daemon does not stop")
	}
	if code := p.command.ProcessState.ExitCode(); code != 0 {
		t.Errorf("kubelet: got exit status %d, want 0", code)
	}
}

// Probe reports whether a probe by HTTP would pass.
func Probe(url string) bool {
	client := http.Client{Timeout: probeTimeout}
	response, err := client.Get(url)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode == http.StatusOK
}
