package kubernetes_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/kubernetes"
)

// TestContract30AKubeconfigThatIsAFIFODelaysNothing: the FIFO has no writer, and
// an open that waits for one cannot be cancelled.
func TestContract30AKubeconfigThatIsAFIFODelaysNothing(t *testing.T) {
	folder := t.TempDir()
	fifo := filepath.Join(folder, "fifo")
	if err := syscall.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	// Release the open that waits, or the check for leaks would fail. None can begin afterwards.
	t.Cleanup(func() {
		if f, err := os.OpenFile(fifo, os.O_RDWR|syscall.O_NONBLOCK, 0); err == nil {
			_ = os.Remove(fifo)
			<-time.After(100 * time.Millisecond)
			_ = f.Close()
		}
	})
	naming := write(t, filepath.Join(folder, "kubeconfig"), fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c,
contexts: [{name: c, context: {cluster: c, user: u}}], clusters: [{name: c, cluster: {server: "https://127.0.0.1:9"}}],
users: [{name: u, user: {tokenFile: "%s"}}]}`, fifo))
	for name, path := range map[string]string{"itself": fifo, "its token file": naming} {
		t.Run(name, func(t *testing.T) {
			source := newSource(t, kubernetes.Options{Way: remote(path)})
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- source.Run(ctx) }()
			if _, err := source.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "not a regular file") {
				t.Errorf("got %v, want that it is no regular file", err)
			}
			stop()
			select {
			case <-ended:
			case <-time.After(time.Minute):
				t.Error("it does not end")
			}
		})
	}
}
