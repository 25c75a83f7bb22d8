package hack_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// setImage is a call of set-image.sh for a folder of the test's own: deploy/ may hold
// manifests of a user.
func (w *world) setImage(folder string, args ...string) script {
	return w.script("set-image.sh", append([]string{"--folder", folder}, args...)...)
}

func setsTheImage(t *testing.T, w *world) {
	none := t.TempDir()
	w.deploy(t, "controller")
	w.setImage(none, "--dry-run", "v1.2.3").run(t).want(0, "controller:v0 -> "+image+":v1.2.3", "the script changed no object")
	w.unchanged(t, "dry run")
	w.setImage(none, "--timeout", "1", "v1.2.2").run(t).want(1, "the rollout did not end within 1 s", "rollout undo deployment "+controller)

	w.rollOut(t)
	w.setImage(none, "v1.2.3").run(t).want(0, "cluster: context test, https://", "there is no "+none+"/controller-deployment.yaml", image+":v1.2.3 runs")
	if got, want := w.deployment(t).Spec.Template.Spec.Containers[0].Image, image+":v1.2.3"; got != want {
		t.Errorf("got image %s, want %s", got, want)
	}
	w.setImage(none, "v1").with(map[string]string{"CONTROLLER_IMAGE": "registry.example/mine"}).run(t).want(0, "-> registry.example/mine:v1")
	w.setImage(none, "--container", "other", "v1").run(t).want(1, "no container other", "remedy: --container")

	other := newWorld(t, w.cp)
	other.deploy(t, "controller", "sidecar")
	other.rollOut(t)
	other.setImage(none, "v1").run(t).want(1, "several containers: controller sidecar", "remedy: --container")
	other.unchanged(t, "several containers")
	other.setImage(none, "--container", "controller", "v1").run(t).want(0)
	if got := other.deployment(t).Spec.Template.Spec.Containers[1].Image; got != "sidecar:v0" {
		t.Errorf("got image %s for the other container, want it left alone", got)
	}
}

// manifests makes a folder with the example of the Deployment, and with its copy
// where the copy is not empty.
func manifests(t *testing.T, copied string) (folder, manifest string) {
	t.Helper()
	folder = t.TempDir()
	example, err := os.ReadFile(filepath.Join(root, "deploy/controller-deployment.example.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"controller-deployment.example.yaml": string(example)}
	manifest = filepath.Join(folder, "controller-deployment.yaml")
	if copied != "" {
		files["controller-deployment.yaml"] = copied
	}
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder, manifest
}

// changed are the lines of a file that another one does not have.
func changed(t *testing.T, path, other string) string {
	t.Helper()
	var lines []string
	texts := [2]string{}
	for i, name := range []string{path, other} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(text)
	}
	for line := range strings.Lines(texts[0]) {
		if !strings.Contains(texts[1], line) {
			lines = append(lines, strings.TrimSpace(line))
		}
	}
	if got, want := strings.Count(texts[0], "\n"), strings.Count(texts[1], "\n"); got != want {
		t.Errorf("%s: got %d lines, want %d", path, got, want)
	}
	return strings.Join(lines, "\n")
}

// Before anything is applied there is the manifest alone.
func setsTheManifest(t *testing.T, w *world) {
	folder, manifest := manifests(t, "")
	example := filepath.Join(folder, "controller-deployment.example.yaml")
	absent := "the Deployment " + w.namespace + "/" + controller + " is not in the cluster"
	w.setImage(folder, "--dry-run", "v1.2.3").run(t).want(0, absent, "made from the example", "the script changed no object")
	if _, err := os.Stat(manifest); err == nil {
		t.Error("a dry run made the manifest")
	}
	w.setImage(folder, "v1.2.3").run(t).want(0, absent, "made from the example: "+image+":v1.2.3", "next: ", "hack/apply-order.sh "+folder)
	if got, want := changed(t, manifest, example), `image: "`+image+`:v1.2.3"`; got != want {
		t.Errorf("got the changed lines %q, want %q", got, want)
	}
	before, err := os.Stat(manifest)
	if err != nil {
		t.Fatal(err)
	}
	w.setImage(folder, "v1.2.3").run(t).want(0, manifest+" has "+image+":v1.2.3 already")
	if after, err := os.Stat(manifest); err != nil || !after.ModTime().Equal(before.ModTime()) {
		t.Errorf("got %v, %v: the second call wrote the manifest", after, err)
	}
	mine := map[string]string{"CONTROLLER_IMAGE": "registry.example.com:5000/mine&co|x"}
	w.setImage(folder, "v2").with(mine).run(t).want(1, "is no image without a tag", "remedy: export CONTROLLER_IMAGE=")
	mine["CONTROLLER_IMAGE"] = "registry.example.com:5000/edge/mine"
	w.setImage(folder, "v2").with(mine).run(t).want(0, image+":v1.2.3 -> registry.example.com:5000/edge/mine:v2")
	if got, want := changed(t, manifest, example), `image: "registry.example.com:5000/edge/mine:v2"`; got != want {
		t.Errorf("got the changed lines %q, want %q", got, want)
	}
	w.setImage(folder, "--manifest-only", "v3").with(map[string]string{"KUBECONFIG": "/none", "KUBECTL_PATH": "/none"}).run(t).
		want(0, "-> "+image+":v3").lacks("cluster: context")
	w.unchanged(t, "the manifest alone")
}

// Once it is applied the manifest must not take the image back when it is applied again.
func setsManifestAndCluster(t *testing.T, w *world) {
	folder, manifest := manifests(t, "spec:\n  containers:\n    - image: \""+image+":v1\"  # ours\n      name: c\n")
	w.deploy(t, "controller")
	w.rollOut(t)
	w.setImage(folder, "v2").run(t).want(0, manifest+": "+image+":v1 -> "+image+":v2", "controller:v0 -> "+image+":v2", image+":v2 runs")
	text, err := os.ReadFile(manifest)
	if want := "    - image: \"" + image + ":v2\"\n"; err != nil || !strings.Contains(string(text), want) {
		t.Errorf("got %v and the manifest\n%s\nwant a line %q", err, text, want)
	}
	if got, want := w.deployment(t).Spec.Template.Spec.Containers[0].Image, image+":v2"; got != want {
		t.Errorf("got image %s, want %s", got, want)
	}
	writes := len(w.writes())
	w.setImage(folder, "v2").run(t).want(0, "has "+image+":v2 already", image+":v2 runs")
	if got := w.writes()[writes:]; len(got) > 0 {
		t.Errorf("a second time: got the writes %v, want none", got)
	}
}

// What cannot be set as a whole is not set at all.
func setsNoImage(t *testing.T, w *world) {
	const two = "containers:\n- image: a:v0\n- image: b:v0\n"
	for name, test := range map[string]struct{ text, args, want, remedy string }{
		"several images": {two, "", "several lines with an image", "remedy: set the image in "},
		"no image":       {"containers: []\n", "", "has no line with an image", "remedy: compare it"},
		"a refusal":      {"- image: a:v0\n", "--as nobody", "cannot be read, see above", "remedy: kubectl auth can-i get deployments"},
	} {
		folder, manifest := manifests(t, test.text)
		call := w.setImage(folder, "v1")
		if test.args != "" {
			refused := fake(t, "kubectl", fmt.Sprintf("exec %q %s \"$@\"\n", w.cp.KubectlPath(), test.args))
			// The context and the version are everybody's.
			call = call.with(map[string]string{"KUBECTL_PATH": filepath.Join(refused, "kubectl")})
		}
		call.run(t).want(1, test.want, test.remedy)
		if text, err := os.ReadFile(manifest); err != nil || string(text) != test.text {
			t.Errorf("%s: got %v and the manifest\n%s\nwant it unchanged", name, err, text)
		}
	}
	folder, manifest := manifests(t, two+"- image: "+image+":v0\n")
	w.setImage(folder, "v1").run(t).want(0, image+":v0 -> "+image+":v1")
	if text, err := os.ReadFile(manifest); err != nil || string(text) != two+"- image: \""+image+":v1\"\n" {
		t.Errorf("got %v and the manifest\n%s\nwant the one image changed that is the daemon's", err, text)
	}
	w.setImage(t.TempDir(), "v1").run(t).want(1, "there is neither ", "remedy: git restore ")
	w.setImage("/none", "v1").run(t).want(1, "there is no folder /none", "remedy: --folder")
	w.unchanged(t, "an error")
}

func restarts(t *testing.T, w *world) {
	w.deploy(t, "controller")
	before := w.deployment(t)
	w.script("restart-controller.sh", "--dry-run").run(t).want(0, "the script changed no object")
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

// kubelet makes a kubectl that prints the logs of the test, because there is no
// kubelet with any. Everything else is asked of the API server.
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
		{nil, " --tail=200 --follow"},
		{[]string{"--since", "10m", "--tail", "-1"}, " --tail=-1 --follow --since=10m"},
		{[]string{"--no-follow"}, " --tail=200"},
		{[]string{"--previous"}, " --tail=200 --previous"},
		{[]string{"--no-follow", "-f"}, " --tail=200 --follow"},
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
