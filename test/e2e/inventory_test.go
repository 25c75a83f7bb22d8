package e2e_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// survivesABrokenInventory: with any content of the file, no working endpoint goes,
// and one line says why.
func survivesABrokenInventory(t *testing.T, w *world) {
	for _, addr := range netns.Addresses(t, 7) {
		w.nodes = append(w.nodes, w.newNode(addr))
	}
	// A lower address may have become free since the first nodes got theirs.
	slices.SortFunc(w.nodes, func(a, b node) int { return a.backends[0].addr.Compare(b.backends[0].addr) })
	w.writeInventory(w.nodes)
	good, err := json.Marshal(w.nodes)
	if err != nil {
		t.Fatal(err)
	}
	d := w.start("EMPTY_RESULT_THRESHOLD=0")
	w.wantPublished(w.all())
	before := w.writes()
	twice := append(slices.Clone(w.nodes), w.nodes[0])
	twice[len(twice)-1].Name = "worker-twin"
	contrary := slices.Clone(w.nodes)
	contrary[1].IP = contrary[0].IP
	const failed, mode, refuses = "source read failed; endpoints stay published, and health checks go on", "mode changed", "some nodes are not eligible"
	for _, fault := range []struct {
		name, text string
		// line is the log line that says why, with what in it.
		line, key, says string
		// ends is the line that says that it is over.
		ends string
	}{
		{"truncated", string(good[:len(good)/2]), failed, "error", "inventory", "source recovered"},
		{"empty file", "", failed, "error", "empty", "source recovered"},
		{"unknown key", strings.Replace(string(good), `"ready"`, `"raedy"`, 1), failed, "error", "raedy", "source recovered"},
		{"missing file", "-", failed, "error", "no such file", "source recovered"},
		{"empty list", "[]", mode, "reason", "NoNodes", mode},
		{"a tenth of the nodes", marshal(t, w.nodes[:1]), mode, "reason", "TooManyRemovals", mode},
		{"an address twice", marshal(t, twice), refuses, "message", "also the address of", "all nodes of the inventory are eligible"},
		{"an address twice, another missing", marshal(t, contrary), mode, "reason", "ContradictoryRead", mode},
	} {
		t.Run(fault.name, func(*testing.T) {
			if fault.text == "-" {
				if err := os.Remove(w.inventory); err != nil {
					t.Fatal(err)
				}
			} else {
				w.writeFile(fault.text)
			}
			lines := d.count(fault.line)
			if got, _ := d.says(fault.line)[fault.key].(string); !strings.Contains(got, fault.says) {
				t.Errorf("%s: got the reason %q, want one with %q", fault.name, got, fault.says)
			}
			// Three more reads, and nothing happens.
			<-time.After(1500 * time.Millisecond)
			if got := d.count(fault.line); got > lines+1 {
				t.Errorf("%s: got %d lines, want 1", fault.name, got-lines)
			}
			if got := w.published(); !slices.Equal(got, w.all()) {
				t.Errorf("%s: got %v, want every member where it is", fault.name, got)
			}
			w.writeInventory(w.nodes)
			d.says(fault.ends)
		})
	}
	w.wantWrites(before, 0)
	w.wantPublished(w.all())
}

// marshal spells nodes as an inventory.
func marshal(t *testing.T, nodes []node) string {
	t.Helper()
	text, err := json.Marshal(nodes)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func restartsWithoutAWrite(t *testing.T, w *world) {
	d := w.start()
	w.wantPublished(w.all())
	w.nodes[0].backends[0].kill()
	w.wantPublished(w.all("down"))
	before := w.writes()
	d.kill()
	d = w.start()
	d.says("started from the slices")
	// A backend that dies after the restart shows that everything was decided.
	w.nodes[1].backends[0].kill()
	w.wantPublished(w.all("down", "down"))
	w.wantWrites(before, 1)
}

// takesOverStoredSlices: the slice is as versions before ADR 58 wrote it. It is taken over as it
// is, by an update of the program.
func takesOverStoredSlices(t *testing.T, w *world) {
	service, err := w.client.CoreV1().Services(w.namespace).Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name: "web-remote", Annotations: map[string]string{corev1.EndpointsLastChangeTriggerTime: "2026-11-26T06:50:36.976443418Z"},
			Labels:          map[string]string{discoveryv1.LabelServiceName: "web", discoveryv1.LabelManagedBy: "ionos-endpointslice-controller"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: "web", UID: service.UID}},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: new("http"), Port: new(int32(port)), Protocol: new(corev1.ProtocolTCP)}},
	}
	for i, n := range w.nodes {
		up := i > 0
		slice.Endpoints = append(slice.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{n.IP}, Conditions: discoveryv1.EndpointConditions{Ready: &up, Serving: &up, Terminating: new(false)},
		})
	}
	if _, err := w.client.DiscoveryV1().EndpointSlices(w.namespace).Create(t.Context(), slice, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.nodes[0].backends[0].kill()
	w.start().says("started from the slices")
	w.nodes[1].backends[0].kill()
	w.wantPublished(w.all("down", "down"))
	w.wantWrites(nil, 1)
}

// restartsIntoABrokenWorld: with the source gone and every backend unreachable, a
// restart changes nothing.
func restartsIntoABrokenWorld(t *testing.T, w *world) {
	d := w.start()
	w.wantPublished(w.all())
	w.nodes[0].backends[0].kill()
	w.wantPublished(w.all("down"))
	before := w.writes()
	d.kill()
	for i, n := range w.nodes {
		n.backends[0].kill()
		if i == 1 {
			netns.RemoveAddress(t, n.backends[0].addr) // silent; the others refuse
		}
	}
	w.writeFile("{")
	d = w.start()
	d.says("source read failed; endpoints stay published, and health checks go on")
	d.says("mode changed")
	<-time.After(10 * time.Second) // several times FALL
	w.wantWrites(before, 0)
	w.wantPublished(w.all("down"))
}
