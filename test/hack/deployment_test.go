package hack_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func setsTheImage(t *testing.T, w *world) {
	w.deploy(t, "controller")
	w.script("set-image.sh", "--dry-run", "v1.2.3").run(t).want(0, "controller:v0 -> "+image+":v1.2.3", "nothing was changed")
	w.unchanged(t, "dry run")
	w.script("set-image.sh", "--timeout", "1", "v1.2.2").run(t).want(1, "the rollout did not end within 1 s", "rollout undo deployment "+controller)

	w.rollOut(t)
	w.script("set-image.sh", "v1.2.3").run(t).want(0, "cluster: context test, https://", image+":v1.2.3 runs")
	if got, want := w.deployment(t).Spec.Template.Spec.Containers[0].Image, image+":v1.2.3"; got != want {
		t.Errorf("got image %s, want %s", got, want)
	}
	w.script("set-image.sh", "v1").with(map[string]string{"CONTROLLER_IMAGE": "registry.example/mine"}).run(t).want(0, "-> registry.example/mine:v1")
	w.script("set-image.sh", "--container", "other", "v1").run(t).want(1, "no container other", "remedy: --container")

	other := newWorld(t, w.cp)
	other.deploy(t, "controller", "sidecar")
	other.rollOut(t)
	other.script("set-image.sh", "v1").run(t).want(1, "several containers: controller sidecar", "remedy: --container")
	other.unchanged(t, "several containers")
	other.script("set-image.sh", "--container", "controller", "v1").run(t).want(0)
	if got := other.deployment(t).Spec.Template.Spec.Containers[1].Image; got != "sidecar:v0" {
		t.Errorf("got image %s for the other container, want it left alone", got)
	}
}

func restarts(t *testing.T, w *world) {
	w.deploy(t, "controller")
	before := w.deployment(t)
	w.script("restart-controller.sh", "--dry-run").run(t).want(0, "nothing was changed")
	w.unchanged(t, "dry run")
	w.script("restart-controller.sh", "--timeout", "1").run(t).want(1, "the rollout did not end within 1 s", "remedy: hack/logs-controller.sh")
	w.rollOut(t)
	w.script("restart-controller.sh").run(t).want(0, "Deployment: "+w.namespace+"/"+controller, "restarted")
	after := w.deployment(t)
	if before.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"] == after.Spec.Template.Annotations["kubectl.kubernetes.io/restartedAt"] {
		t.Error("the Pods were not restarted")
	}
	after.Spec.Template.Annotations = before.Spec.Template.Annotations
	if diff := cmp.Diff(before.Spec, after.Spec); diff != "" {
		t.Errorf("more was changed (-before +after):\n%s", diff)
	}
}

// kubelet makes a kubectl whose logs are those of the test, for there is no
// kubelet to have any; everything else is asked of the API server.
func (w *world) kubelet(t *testing.T, logs string) (kubectl, record string) {
	t.Helper()
	record = filepath.Join(t.TempDir(), "calls")
	dir := fake(t, "kubectl", fmt.Sprintf(`case " $* " in
  *" logs "*) printf '%%s\n' "$*" >>%q; printf '%%b' %q; exit 0 ;;
esac
exec %q "$@"
`, record, logs, w.cp.KubectlPath()))
	return filepath.Join(dir, "kubectl"), record
}

func asksForLogs(t *testing.T, w *world) {
	w.deploy(t, "controller")
	kubectl, record := w.kubelet(t, "")
	changes := map[string]string{"KUBECTL_PATH": kubectl}
	w.script("logs-controller.sh").with(changes).run(t).want(1, "the Deployment has no Pods", "remedy: ")
	unprivileged, nonRoot := false, true
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "one", Labels: map[string]string{"app": "controller", "part": "x"}}}
	pod.Spec.Containers = []corev1.Container{{Name: "c", Image: "c:v0", SecurityContext: &corev1.SecurityContext{
		AllowPrivilegeEscalation: &unprivileged, RunAsNonRoot: &nonRoot, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}}}
	if _, err := w.client.CoreV1().Pods(w.namespace).Create(t.Context(), pod, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	const base = " logs --selector app=controller,part=x --all-containers --prefix --max-log-requests=20"
	want := ""
	for _, test := range []struct {
		args []string
		want string
	}{
		{nil, " --tail=200"},
		{[]string{"--follow", "--since", "10m", "--tail", "-1"}, " --tail=-1 --follow --since=10m"},
		{[]string{"--previous", "-f"}, " --tail=200 --previous --follow"},
	} {
		w.script("logs-controller.sh", test.args...).with(changes).run(t).want(0)
		want += "-n " + w.namespace + base + test.want + "\n"
	}
	got, err := os.ReadFile(record)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("calls of kubectl (-want +got):\n%s", diff)
	}
	w.unchanged(t, "reading logs")
}
