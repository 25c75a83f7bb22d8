package deploy_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/stage"
)

const (
	// namespace is that of the how-to pages: their commands run as they are printed.
	namespace = "backends"
	// watcher is the user of kubeconfigs-secret.example.yaml.
	watcher = "endpointslice-inventory"
)

// world is the stage, with the namespace of the pages.
type world struct{ *stage.Stage }

func newWorld(t *testing.T) *world {
	t.Helper()
	netns.Require(t)
	w := &world{stage.New(t, controlplane.Start(t, controlplane.Options{Audit: true, ControllerManager: true}))}
	w.Namespace(t, namespace)
	return w
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func absolute(t *testing.T, path string) string {
	t.Helper()
	path, err := filepath.Abs(path)
	must(t, err)
	return path
}

// examples are the manifests of a folder.
func examples(t *testing.T, dir string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.example.yaml"))
	must(t, err)
	var names []string
	for _, path := range paths {
		names = append(names, filepath.Base(path))
	}
	if len(names) != 7 {
		t.Fatalf("got %v, want seven manifests", names)
	}
	return names
}

// script is a script of hack/ as an administrator of the cluster runs it.
func (w *world) script(t *testing.T, script string, args ...string) *exec.Cmd {
	t.Helper()
	command := exec.CommandContext(t.Context(), filepath.Join("../../hack", script), args...)
	command.Env = []string{
		"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH"), "KUBECONFIG=" + w.CP.Kubeconfig(t),
		"KUBECTL_PATH=" + w.CP.KubectlPath(), "TARGET_NAMESPACE=" + namespace,
	}
	return command
}

// hack runs a script that must succeed.
func (w *world) hack(t *testing.T, script string, args ...string) {
	t.Helper()
	if out, err := w.script(t, script, args...).CombinedOutput(); err != nil {
		t.Fatalf("%s %s: %v\n%s", script, strings.Join(args, " "), err, out)
	}
}

// becomeReady makes every Pod ready, as a kubelet does once the probes pass, until
// it is stopped: a rollout goes on only then.
func (w *world) becomeReady(t *testing.T) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		pods := w.Client.CoreV1().Pods(namespace)
		for ticker := time.NewTicker(100 * time.Millisecond); ctx.Err() == nil; <-ticker.C {
			list, err := pods.List(ctx, metav1.ListOptions{})
			if err != nil {
				continue // it was stopped, or the rollout will report it
			}
			for _, pod := range list.Items {
				if len(pod.Status.Conditions) > 0 {
					continue
				}
				pod.Status.Phase = corev1.PodRunning
				pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}
				_, _ = pods.UpdateStatus(ctx, &pod, metav1.UpdateOptions{})
			}
		}
	}()
	stop = func() { cancel(); <-done }
	t.Cleanup(stop)
	return stop
}

// replace changes a file as a person does.
func replace(t *testing.T, path, before, after string) {
	t.Helper()
	text := read(t, path)
	if strings.Count(text, before) != 1 {
		t.Fatalf("%s: got %d times %q, want it once", path, strings.Count(text, before), before)
	}
	must(t, os.WriteFile(path, []byte(strings.Replace(text, before, after, 1)), 0o600))
}
