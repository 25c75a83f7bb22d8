package chart_test

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"sync"
	"syscall"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// volumes reads what the volumes of a Pod hold, as a kubelet would.
func (c *cloud) volumes(t *testing.T, pod *corev1.Pod) contents {
	return func(volume corev1.Volume) map[string]string {
		t.Helper()
		files := map[string]string{}
		switch {
		case volume.Secret != nil:
			secret, err := c.client.CoreV1().Secrets(pod.Namespace).Get(t.Context(), volume.Secret.SecretName, metav1.GetOptions{})
			if err != nil {
				t.Fatal(err)
			}
			for _, item := range volume.Secret.Items {
				value, ok := secret.Data[item.Key]
				if !ok {
					t.Fatalf("Secret %s: no key %s", secret.Name, item.Key)
				}
				files[item.Path] = string(value)
			}
		case volume.Projected != nil:
			for _, source := range volume.Projected.Sources {
				c.project(t, pod, source, files)
			}
		default:
			t.Fatalf("volume %s: unforeseen", volume.Name)
		}
		return files
	}
}

// project adds the files of one source of a projected volume.
func (c *cloud) project(t *testing.T, pod *corev1.Pod, source corev1.VolumeProjection, files map[string]string) {
	t.Helper()
	switch {
	case source.ServiceAccountToken != nil:
		files[source.ServiceAccountToken.Path] = c.token(t, pod, source.ServiceAccountToken.ExpirationSeconds)
	case source.ConfigMap != nil:
		found, err := c.client.CoreV1().ConfigMaps(pod.Namespace).Get(t.Context(), source.ConfigMap.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range source.ConfigMap.Items {
			files[item.Path] = found.Data[item.Key]
		}
	case source.DownwardAPI != nil:
		for _, item := range source.DownwardAPI.Items {
			if item.FieldRef.FieldPath != "metadata.namespace" {
				t.Fatalf("field %s: unforeseen", item.FieldRef.FieldPath)
			}
			files[item.Path] = pod.Namespace
		}
	}
}

// token asks for the token of the Pod's ServiceAccount, bound to the Pod.
func (c *cloud) token(t *testing.T, pod *corev1.Pod, seconds *int64) string {
	t.Helper()
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{
		ExpirationSeconds: seconds,
		BoundObjectRef:    &authenticationv1.BoundObjectReference{Kind: "Pod", APIVersion: "v1", Name: pod.Name, UID: pod.UID},
	}}
	answer, err := c.client.CoreV1().ServiceAccounts(pod.Namespace).CreateToken(t.Context(), pod.Spec.ServiceAccountName, request, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return answer.Status.Token
}

// process is the daemon of one Pod.
type process struct {
	*exec.Cmd
	metrics string
	done    chan struct{}
	mu      sync.Mutex
	output  bytes.Buffer
}

// Write takes the log in.
func (p *process) Write(line []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output.Write(line)
}

func (p *process) log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.output.String()
}

// services is what a kubelet tells each Pod of the API server, here at its true
// address, and where the fake of the IONOS Cloud is. Two Pods on this one machine
// cannot have the same ports: the second takes others.
func (c *cloud) services(second bool) map[string]string {
	changes := map[string]string{
		"KUBERNETES_SERVICE_HOST": c.cp.Address().Addr().String(),
		"KUBERNETES_SERVICE_PORT": fmt.Sprint(c.cp.Address().Port()),
		"IONOS_API_URL":           c.url,
	}
	if second {
		changes["METRICS_ADDRESS"], changes["ADMIN_ADDRESS"] = "0.0.0.0:8091", "127.0.0.1:8090"
	}
	return changes
}

// start runs the daemon of a Pod until the test ends.
func (c *cloud) start(t *testing.T, pod *corev1.Pod, second bool) *process {
	t.Helper()
	p := &process{Cmd: command(t, pod.Spec, c.volumes(t, pod), c.services(second)), metrics: "127.0.0.1:8081", done: make(chan struct{})}
	if second {
		p.metrics = "127.0.0.1:8091"
	}
	p.Stdout, p.Stderr = p, p
	if err := p.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		_ = p.Wait()
	}()
	t.Cleanup(func() {
		_ = p.Process.Kill()
		<-p.done
		if t.Failed() {
			t.Logf("log of %s:\n%s", pod.Name, p.log())
		}
	})
	return p
}

// stop ends the daemon as the deletion of its Pod would.
func (p *process) stop(t *testing.T) {
	t.Helper()
	if err := p.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.done:
	case <-time.After(patience):
		t.Fatal("the daemon does not stop")
	}
	if code := p.ProcessState.ExitCode(); code != 0 {
		t.Errorf("got exit status %d, want 0", code)
	}
}

// answers reports whether a probe of the Pod would pass.
func (p *process) answers(path string) bool {
	client := http.Client{Timeout: 5 * time.Second}
	response, err := client.Get("http://" + p.metrics + path)
	if err != nil {
		return false
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode == http.StatusOK
}
