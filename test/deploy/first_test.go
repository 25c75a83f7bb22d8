package deploy_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/stage"
)

// TestTheFirstDeployAsPrinted follows the pages in a fresh checkout, from before
// anything is applied, where the slice of the original is in the cluster. Each
// block runs as it is printed.
func TestTheFirstDeployAsPrinted(t *testing.T) {
	w := newWorld(t)
	s := newTerminal(t, w)
	original := w.leftByTheOriginal(t)
	for _, step := range []struct {
		name string
		test func(*testing.T)
	}{
		{"the eligible nodes are printed", func(t *testing.T) { printsTheNodes(t, s) }},
		{"the manifests are filled in", func(t *testing.T) {
			s.fillsTheCopiesIn(t)
			imageOfTheManifest(t, s, "registry.example.com/edge/"+name+":dev")
		}},
		{"they are applied", func(t *testing.T) { w.isApplied(t, s) }},
		{"the logs are followed", func(t *testing.T) { w.logsAreFollowed(t, s) }},
		{"the slice of the original is taken over", func(t *testing.T) { w.takesOver(t) }},
		{"another version stays", func(t *testing.T) { w.staysAnotherVersion(t, s) }},
		{"the original can go on", func(t *testing.T) { w.CP.Kubectl(t, "apply", "--namespace", namespace, "--filename", original) }},
	} {
		if !t.Run(step.name, step.test) {
			return
		}
	}
	if got := w.Published(t, namespace); !slices.Equal(got, w.Addresses) {
		t.Errorf("in the end: got %v published, want %v", got, w.Addresses)
	}
}

// leftByTheOriginal makes the Service with the slice that the original has applied,
// and returns the file.
func (w *world) leftByTheOriginal(t *testing.T) string {
	t.Helper()
	w.CP.Kubectl(t, "apply", "--namespace", namespace, "--filename", filepath.Join(folder, "service.example.yaml"))
	var slice strings.Builder
	slice.WriteString(`apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata:
  name: web-remote
  labels:
    kubernetes.io/service-name: web
    endpointslice.kubernetes.io/managed-by: ` + name + `
addressType: IPv4
ports:
  - name: http
    protocol: TCP
    port: 8080
endpoints:
`)
	for _, address := range w.Addresses {
		slice.WriteString("  - addresses: [" + address + "]\n    conditions: {ready: true}\n")
	}
	path := filepath.Join(t.TempDir(), "slice.yaml")
	must(t, os.WriteFile(path, []byte(slice.String()), 0o600))
	w.CP.Kubectl(t, "apply", "--namespace", namespace, "--filename", path)
	return path
}

// printsTheNodes looks for the array in what the two scripts print.
func printsTheNodes(t *testing.T, s *terminal) {
	out, _ := s.run(t, block(t, maintain, "Before the first installation"))
	_, array, found := strings.Cut(out, "\n[\n")
	nodes, err := inventory.Decode([]byte("[" + array))
	if !found || err != nil || len(nodes) != 4 {
		t.Errorf("got %v, %v, want an array of the four nodes at the end of\n%s", nodes, err, out)
	}
}

// imageOfTheManifest fails the test if the manifest has another image.
func imageOfTheManifest(t *testing.T, s *terminal, want string) {
	t.Helper()
	if text := read(t, filepath.Join(s.dir, "deploy/controller-deployment.yaml")); !strings.Contains(text, ` image: "`+want+`"`+"\n") || strings.Contains(text, placeholder) {
		t.Errorf("controller-deployment.yaml: want image %s, got\n%s", want, text)
	}
}

// image is that of the Deployment in the cluster.
func (w *world) image(t *testing.T) string {
	t.Helper()
	d, err := w.Client.AppsV1().Deployments(namespace).Get(t.Context(), name, metav1.GetOptions{})
	must(t, err)
	return d.Spec.Template.Spec.Containers[0].Image
}

func (w *world) isApplied(t *testing.T, s *terminal) {
	for name, own := range w.ownValues(t) {
		fillIn(t, filepath.Join(s.dir, "deploy", name+".yaml"), own)
	}
	defer w.becomeReady(t)()
	s.run(t, block(t, howto, "Apply them"))
	if got, want := w.image(t), "registry.example.com/edge/"+name+":dev"; got != want {
		t.Errorf("got image %s, want %s", got, want)
	}
}

// staysAnotherVersion: what set-image.sh has set is not taken back by what is
// applied after it.
func (w *world) staysAnotherVersion(t *testing.T, s *terminal) {
	defer w.becomeReady(t)()
	const want = "registry.example.com/edge/" + name + ":dev2"
	_, said := s.run(t, block(t, howto, "Change something"))
	for _, place := range []string{"controller-deployment.yaml: ", "Deployment " + namespace + "/" + name + ", container controller: "} {
		if !strings.Contains(said, place+"registry.example.com/edge/"+name+":dev -> "+want+"\n") {
			t.Errorf("got no word of %q in\n%s", place, said)
		}
	}
	imageOfTheManifest(t, s, want)
	s.run(t, block(t, upgrade, "Without Helm"))
	if got := w.image(t); got != want {
		t.Errorf("got image %s after the manifests were applied again, want %s", got, want)
	}
}

// takesOver runs the daemon of a Pod. No endpoint leaves the slice, and the daemon
// writes the slice once.
func (w *world) takesOver(t *testing.T) {
	events, err := w.Client.DiscoveryV1().EndpointSlices(namespace).Watch(t.Context(), metav1.ListOptions{LabelSelector: "kubernetes.io/service-name=web"})
	must(t, err)
	defer events.Stop()
	pod := w.pods(t)[0]
	p := w.Kubelet.Start(t, &pod, map[string]string{"IONOS_API_URL": w.URL})
	defer p.Stop(t)
	seen := 0
	stage.Until(t, "the slice to be owned by the Service", func() bool {
		var slice *discoveryv1.EndpointSlice
		select {
		case event := <-events.ResultChan():
			slice, _ = event.Object.(*discoveryv1.EndpointSlice)
		default:
		}
		if slice == nil {
			return false
		}
		seen++
		if len(slice.Endpoints) != len(w.Addresses) {
			t.Errorf("got the endpoints %v, want all of %v", slice.Endpoints, w.Addresses)
		}
		return len(slice.OwnerReferences) == 1 && slice.Endpoints[0].Conditions.Terminating != nil
	})
	// The first event is the slice as it was.
	if seen != 2 {
		t.Errorf("got %d versions of the slice, want the original's and ours", seen)
	}
}
