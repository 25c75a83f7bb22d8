package kubelet

import (
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/child"
)

const (
	// stopTimeout is more than a Pod is given to end.
	stopTimeout = time.Minute
	// probeTimeout is that of the Pod's probes.
	probeTimeout = 5 * time.Second
)

// Process is the running daemon of one Pod.
type Process struct {
	kubelet *Kubelet
	pod     *corev1.Pod
	command *exec.Cmd
	child   *child.Child
}

// Start runs the daemon of a Pod until the test ends. If the test failed, it then
// shows the daemon's log. The changes are those of [Kubelet.Command].
func (k *Kubelet) Start(t *testing.T, pod *corev1.Pod, changes map[string]string) *Process {
	t.Helper()
	p := &Process{kubelet: k, pod: pod, command: k.Command(t, pod, changes)}
	var err error
	if p.child, err = child.Start(p.command, filepath.Join(t.TempDir(), pod.Name+".log")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.child.Kill()
		if t.Failed() {
			t.Logf("log of %s:\n%s", pod.Name, p.Log())
		}
	})
	return p
}

// Log is what the daemon has said so far.
func (p *Process) Log() string {
	text, err := os.ReadFile(p.child.Log)
	if err != nil {
		return err.Error()
	}
	return string(text)
}

// Stop ends the daemon as the deletion of its Pod would; it must end well.
func (p *Process) Stop(t *testing.T) {
	t.Helper()
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	if err := p.child.Await(stopTimeout); err != nil {
		t.Fatalf("kubelet: %v", err)
	}
	if code := p.child.State().ExitCode(); code != 0 {
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
