package deploy_test

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/kubelet"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/stage"
)

// TestTheManifestsApplied holds every test that needs a cluster: one cluster serves
// them all.
func TestTheManifestsApplied(t *testing.T) {
	w := newWorld(t)
	dir := w.filledIn(t)
	for _, test := range []struct {
		name string
		test func(*testing.T, *world, string)
	}{
		{"as they are they are refused", refusedWithPlaceholders},
		{"in their order, and again", appliedInOrder},
		{"the kustomization changes nothing", kustomizationChangesNothing},
		{"the Pods are admitted in a restricted namespace", podsAreAdmitted},
		{"the daemon of the Pods does its job", daemonDoesItsJob},
		{"with the script of the ConfigMap, too", scriptDoesItsJob},
		{"without the manifests the slice stays", sliceStays},
		{"many Services as the page says without Helm", manyAsPrinted},
	} {
		if !t.Run(test.name, func(t *testing.T) { test.test(t, w, dir) }) {
			return
		}
	}
}

func refusedWithPlaceholders(t *testing.T, w *world, _ string) {
	out, err := w.script(t, "apply-order.sh", absolute(t, folder)).CombinedOutput()
	if err == nil || !strings.Contains(string(out), placeholder) {
		t.Errorf("got %v, want it to say where a placeholder is:\n%s", err, out)
	}
	if left := w.CP.Kubectl(t, "get", "serviceaccounts,roles,secrets,services,deployments", "--namespace", namespace, "--output", "name"); strings.Contains(left, name) {
		t.Errorf("got objects in spite of it:\n%s", left)
	}
}

func appliedInOrder(t *testing.T, w *world, dir string) {
	defer w.becomeReady(t)()
	w.hack(t, "apply-order.sh", "--dry-run", dir)
	w.hack(t, "apply-order.sh", "--timeout", "90", dir)
	before := w.versions(t, dir)
	if len(before) != 12 {
		t.Fatalf("got %v, want 12 objects", before)
	}
	w.hack(t, "apply-order.sh", "--timeout", "90", dir)
	if diff := cmp.Diff(before, w.versions(t, dir)); diff != "" {
		t.Errorf("a second time (-before +after):\n%s", diff)
	}
}

func kustomizationChangesNothing(t *testing.T, w *world, dir string) {
	before := w.versions(t, dir)
	w.CP.Kubectl(t, "apply", "--namespace", namespace, "--kustomize", dir)
	if diff := cmp.Diff(before, w.versions(t, dir)); diff != "" {
		t.Errorf("objects (-before +after):\n%s", diff)
	}
}

// versions are the objects of the manifests with the generation of their
// specification, or, where Kubernetes counts none, with their resourceVersion.
func (w *world) versions(t *testing.T, dir string) []string {
	t.Helper()
	return strings.Fields(w.CP.Kubectl(t, "get", "--namespace", namespace, "--kustomize", dir, "--output",
		`go-template={{range .items}}{{.kind}}/{{.metadata.name}}@{{or .metadata.generation .metadata.resourceVersion}}{{"\n"}}{{end}}`))
}

// pods waits for the two Pods of the Deployment.
func (w *world) pods(t *testing.T) []corev1.Pod {
	t.Helper()
	var found []corev1.Pod
	stage.Until(t, "two Pods of the Deployment", func() bool {
		list, err := w.Client.CoreV1().Pods(namespace).List(t.Context(), metav1.ListOptions{})
		must(t, err)
		found = list.Items
		return len(found) == 2
	})
	return found
}

func podsAreAdmitted(t *testing.T, w *world, _ string) {
	if pods := w.pods(t); pods[0].Spec.Containers[0].Image != "ghcr.io/ablmnzde/ionoscloud-endpointslice-controller:v0.1.0" {
		t.Errorf("got image %s", pods[0].Spec.Containers[0].Image)
	}
	// The namespace is restricted indeed, or the test above would mean nothing.
	loose := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "loose"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "loose", Image: "loose:1"}}},
	}
	if _, err := w.Client.CoreV1().Pods(namespace).Create(t.Context(), loose, metav1.CreateOptions{}); err == nil {
		t.Error("a Pod without a security context: got no error")
	}
}

func daemonDoesItsJob(t *testing.T, w *world, _ string) {
	pods, k := w.pods(t), w.Kubelet
	fakes := map[string]string{"IONOS_API_URL": w.URL}
	first := k.Start(t, &pods[0], fakes)
	stage.Until(t, "the backends in the slice", func() bool { return slices.Equal(w.Published(t, namespace), w.Addresses) })
	// Two Pods on this one machine cannot have the same ports.
	second := k.Start(t, &pods[1], map[string]string{
		"IONOS_API_URL": w.URL, "METRICS_ADDRESS": "0.0.0.0:8091", "ADMIN_ADDRESS": "127.0.0.1:8090",
	})
	for _, port := range []string{"8081", "8091"} {
		for _, path := range []string{"/livez", "/readyz", "/metrics"} {
			stage.Until(t, path+" of port "+port, func() bool { return kubelet.Probe("http://127.0.0.1:" + port + path) })
		}
	}
	first.Stop(t)
	second.Stop(t)
	used := w.nothingDenied(t)
	for _, want := range []string{"create endpointslices", "watch endpointslices", "watch services", "create leases", "update leases"} {
		if !used[want] {
			t.Errorf("got no request %q: is the audit log that of this user?", want)
		}
	}
	for _, p := range []*kubelet.Process{first, second} {
		if strings.Contains(p.Log(), stage.Token) {
			t.Error("the token is in the log")
		}
	}
}

// nothingDenied looks at the audit log of the daemon and of the user in its
// kubeconfig, and returns what the daemon did.
func (w *world) nothingDenied(t *testing.T) map[string]bool {
	t.Helper()
	daemon, remote := "system:serviceaccount:"+namespace+":"+name, "system:serviceaccount:kube-system:"+watcher
	used, asked := map[string]bool{}, map[string]bool{}
	for _, e := range w.CP.Audit() {
		if e.User != daemon && e.User != remote && e.User != "system:anonymous" {
			continue
		}
		if e.Code == 401 || e.Code == 403 {
			t.Errorf("denied: %+v", e)
		}
		request := fmt.Sprintf("%s %s", e.Verb, e.Resource)
		switch e.User {
		case daemon:
			used[request] = true
		case remote:
			asked[request] = true
		}
	}
	t.Logf("used: %v; of the remote cluster: %v", slices.Sorted(maps.Keys(used)), slices.Sorted(maps.Keys(asked)))
	return used
}

// offered are the lines of controller-config.example.yaml that an operator may enable
// for the script.
var offered = regexp.MustCompile(`(?m)^  # ([A-Z_]+: ")`)

// scriptDoesItsJob does what controller-config.example.yaml says of the script.
func scriptDoesItsJob(t *testing.T, w *world, dir string) {
	config := filepath.Join(dir, "controller-config.example.yaml")
	if got := len(offered.FindAllString(read(t, config), -1)); got != 4 {
		t.Fatalf("got %d lines for the script, want 4", got)
	}
	must(t, os.WriteFile(config, []byte(offered.ReplaceAllString(read(t, config), "  $1")), 0o600))
	replace(t, config, `SOURCE_KIND: "ionos"`, `SOURCE_KIND: "command"`)
	w.CP.Kubectl(t, "apply", "--namespace", namespace, "--filename", config)
	stop := w.becomeReady(t)
	w.hack(t, "set-image.sh", "--folder", t.TempDir(), "--timeout", "90", "v0.1.0-toolbox")
	before := w.pods(t)[0].Name
	w.hack(t, "restart-controller.sh", "--timeout", "90")
	stop()
	pod := w.pods(t)[0]
	if image := pod.Spec.Containers[0].Image; !strings.HasSuffix(image, ":v0.1.0-toolbox") || pod.Name == before {
		t.Fatalf("got Pod %s with image %s, want another Pod with the toolbox", pod.Name, image)
	}
	must(t, w.Client.DiscoveryV1().EndpointSlices(namespace).Delete(t.Context(), "web-remote", metav1.DeleteOptions{}))
	k := w.Kubelet
	k.Kubectl = w.CP.KubectlPath()
	p := k.Start(t, &pod, map[string]string{"IONOS_API_URL": w.URL})
	stage.Until(t, "the backends in the slice", func() bool { return slices.Equal(w.Published(t, namespace), w.Addresses) })
	p.Stop(t)
	w.nothingDenied(t)
	if strings.Contains(p.Log(), stage.Token) {
		t.Error("the token is in the log")
	}
}

// sliceStays removes everything as the how-to says.
func sliceStays(t *testing.T, w *world, dir string) {
	remove := exec.CommandContext(t.Context(), "sh", "-e", "-c", block(t, howto, "Remove it"))
	remove.Env = []string{"HOME=" + t.TempDir(), "PATH=" + filepath.Dir(w.CP.KubectlPath()), "KUBECONFIG=" + w.CP.Kubeconfig(t)}
	if out, err := remove.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	left := w.CP.Kubectl(t, "get", "--namespace", namespace, "--kustomize", dir, "--ignore-not-found", "--output", "name")
	if left != "service/web\n" {
		t.Errorf("got left over\n%swant the Service alone", left)
	}
	if got := w.Published(t, namespace); !slices.Equal(got, w.Addresses) {
		t.Errorf("got %v, want %v", got, w.Addresses)
	}
}
