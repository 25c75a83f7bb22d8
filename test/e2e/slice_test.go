package e2e_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

func publishesThreeNodes(t *testing.T, w *world) {
	w.start()
	w.wantPublished(w.all())
	got := w.slices()[0]
	service, err := w.client.CoreV1().Services(w.namespace).Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name:            "web-remote",
			Labels:          map[string]string{discoveryv1.LabelServiceName: "web", discoveryv1.LabelManagedBy: "ionos-endpointslice-controller"},
			OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: "web", UID: service.UID}},
		},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: ptr.To("http"), Protocol: ptr.To(corev1.ProtocolTCP), Port: ptr.To[int32](port)}},
	}
	for _, n := range w.nodes {
		want.Endpoints = append(want.Endpoints, discoveryv1.Endpoint{
			Addresses:  []string{n.IP},
			Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true), Serving: ptr.To(true), Terminating: ptr.To(false)},
		})
	}
	if got.Annotations[corev1.EndpointsLastChangeTriggerTime] == "" {
		t.Error("the annotation with the time of the change is missing")
	}
	got.ObjectMeta = metav1.ObjectMeta{Name: got.Name, Labels: got.Labels, OwnerReferences: got.OwnerReferences}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("slice (-want +got):\n%s", diff)
	}
	if writes := w.writes(); len(writes) != 1 {
		t.Errorf("got %d writes, want 1: %+v", len(writes), writes)
	}
}

func writesNothingWhenNothingChanges(t *testing.T, w *world) {
	w.start("SOURCE_POLL_INTERVAL=5s")
	w.wantPublished(w.all())
	w.awaitEvent("EndpointsUpdated", 1)
	before := w.cp.Audit()
	// The promise is about a minute, so it takes a minute.
	<-time.After(time.Minute)
	requests := 0
	for _, e := range w.cp.Audit()[len(before):] {
		if e.User != w.user {
			continue
		}
		if e.Writes() {
			t.Errorf("got a write: %+v", e)
		}
		if e.Verb != "watch" {
			requests++
		}
	}
	if w.store == "client-go" && requests > 0 {
		t.Errorf("got %d requests, want none but watches", requests)
	}
}

func takesADeadBackendDown(t *testing.T, w *world) {
	d := w.start()
	w.wantPublished(w.all())
	before := w.writes()
	w.nodes[1].backends[0].kill()
	w.wantPublished(w.all("ready", "down"))
	line := d.says("endpoint changed")
	for line["to"] != "down" {
		line = d.says("endpoint changed")
	}
	if line["address"] != w.nodes[1].IP || line["reason"] != "ProbeRefused" {
		t.Errorf("got the line %v, want %s down because of ProbeRefused", line, w.nodes[1].IP)
	}
	w.wantWrites(before, 1)
	w.nodes[1].backends[0].start(t)
	w.wantPublished(w.all())
	w.wantWrites(before, 2)
}

func failsOpen(t *testing.T, w *world) {
	d := w.start()
	w.wantPublished(w.all())
	before := w.writes()
	for _, n := range w.nodes {
		n.backends[0].kill()
	}
	for d.says("mode changed")["to"] != "FailOpen" {
	}
	w.nodes[0].backends[0].start(t)
	for d.says("mode changed")["to"] != "Publish" {
	}
	w.wantPublished(w.all("ready", "down", "down"))
	if got := len(w.writes()) - len(before); got > 6 {
		t.Errorf("got %d writes, want few", got)
	}
}

func drainsWhatLeaves(t *testing.T, w *world) {
	w.start("DRAIN_PERIOD=3s")
	w.wantPublished(w.all())
	nodes := append([]node{}, w.nodes...)
	nodes[0].Leaving = true
	w.writeInventory(nodes)
	w.wantPublished(w.all("draining"))
	w.wantPublished(w.all()[1:])
	for _, e := range w.writes() {
		if strings.HasPrefix(e.Verb, "delete") {
			t.Errorf("got a deletion: %+v", e)
		}
	}
}

func publishesBothFamilies(t *testing.T, w *world) {
	service, err := w.client.CoreV1().Services(w.namespace).Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	service.Spec.Ports = append(service.Spec.Ports, corev1.ServicePort{Name: "metrics", Port: 90})
	if _, err := w.client.CoreV1().Services(w.namespace).Update(t.Context(), service, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	six := netns.Addresses6(t, 1)[0]
	b := &backend{addr: six}
	b.start(t)
	t.Cleanup(b.kill)
	nodes := append([]node{}, w.nodes...)
	nodes[0].IP, nodes[0].IPs = "", []string{w.nodes[0].IP, six.String()}
	w.writeInventory(nodes)
	w.start("TARGET_PORT=", "TARGET_PORTS=metrics=9090,http=8080", "HEALTH_CHECK_PORT=8080")
	w.wantPublished(append(w.all(), six.String()+" ready"))
	all := w.slices()
	if len(all) != 2 || all[1].Name != "web-remote-ipv6" || all[1].AddressType != discoveryv1.AddressTypeIPv6 {
		t.Fatalf("got slices %+v, want web-remote and web-remote-ipv6", all)
	}
	for _, s := range all {
		if len(s.Ports) != 2 || *s.Ports[0].Name != "http" || *s.Ports[1].Name != "metrics" {
			t.Errorf("slice %s: got ports %+v, want http and metrics", s.Name, s.Ports)
		}
	}
}

func repairsForeignEdits(t *testing.T, w *world) {
	client := w.client.DiscoveryV1().EndpointSlices(w.namespace)
	foreign := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{
			Name:   "web-remote-2",
			Labels: map[string]string{discoveryv1.LabelServiceName: "web", discoveryv1.LabelManagedBy: "somebody"},
		},
		AddressType: discoveryv1.AddressTypeIPv4, Endpoints: []discoveryv1.Endpoint{},
	}
	if _, err := client.Create(t.Context(), foreign, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	d := w.start("MAX_ENDPOINTS_PER_SLICE=2")
	w.wantPublished(w.all())
	d.says("slice has another owner and is left alone")
	slice, err := client.Get(t.Context(), "web-remote", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	slice.Endpoints = slice.Endpoints[:1]
	slice.Endpoints[0].Conditions.Ready = ptr.To(false)
	slice.Labels["team"], slice.Annotations["note"] = "ours", "kept"
	if _, err := client.Update(t.Context(), slice, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.wantPublished(w.all())
	slice, err = client.Get(t.Context(), "web-remote", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if slice.Labels["team"] != "ours" || slice.Annotations["note"] != "kept" {
		t.Errorf("foreign metadata is gone: %v %v", slice.Labels, slice.Annotations)
	}
	for _, e := range w.writes() {
		if e.Name == "web-remote-2" {
			t.Errorf("somebody else's slice was touched: %+v", e)
		}
	}
}

func stopsInOrder(t *testing.T, w *world) {
	d := w.start()
	w.wantPublished(w.all())
	d.wantStop()
	w.wantPublished(w.all())
}

func survivesBeingStopped(t *testing.T, w *world) {
	d := w.start()
	w.wantPublished(w.all())
	before := w.writes()
	for range 3 {
		if err := d.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
			t.Fatal(err)
		}
		<-time.After(5 * time.Second) // longer than FALL time-outs
		if err := d.cmd.Process.Signal(syscall.SIGCONT); err != nil {
			t.Fatal(err)
		}
		// A killed backend shows that the daemon is at work again.
		w.nodes[2].backends[0].kill()
		w.wantPublished(w.all("ready", "ready", "down"))
		w.nodes[2].backends[0].start(t)
		w.wantPublished(w.all())
	}
	w.wantWrites(before, 6)
}

func keepsItsDescriptors(t *testing.T, w *world) {
	d := w.start("HEALTH_CHECK_INTERVAL=100ms", "HEALTH_CHECK_TIMEOUT=100ms", "SOURCE_POLL_INTERVAL=100ms")
	w.wantPublished(w.all())
	open := func() int {
		entries, err := os.ReadDir(filepath.Join("/proc", strconv.Itoa(d.cmd.Process.Pid), "fd"))
		if err != nil {
			t.Fatal(err)
		}
		return len(entries)
	}
	most := open() + 3*len(w.nodes) + 8
	w.nodes[0].backends[0].kill()
	w.wantPublished(w.all("down"))
	for range 50 {
		<-time.After(100 * time.Millisecond)
		if got := open(); got > most {
			t.Fatalf("got %d open descriptors, want at most %d", got, most)
		}
	}
}

func fillsAServiceThatIsCreatedAnew(t *testing.T, w *world) {
	d := w.start()
	w.wantPublished(w.all())
	if err := w.client.CoreV1().Services(w.namespace).Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	line := d.says("service cannot be filled")
	if line["problem"] != "ServiceMissing" || !strings.Contains(fmt.Sprint(line["message"]), "web") {
		t.Errorf("got the line %v, want ServiceMissing with the Service's name", line)
	}
	// The garbage collector would do this; there is none here.
	if err := w.client.DiscoveryV1().EndpointSlices(w.namespace).Delete(t.Context(), "web-remote", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	service := w.createService()
	w.wantPublished(w.all())
	if got := w.slices()[0].OwnerReferences; len(got) != 1 || got[0].UID != service.UID {
		t.Errorf("got owners %v, want the new Service %s", got, service.UID)
	}
}
