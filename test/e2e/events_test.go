package e2e_test

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/events"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// events returns the Events in the namespace, in their order.
func (w *world) events() []eventsv1.Event {
	w.t.Helper()
	list, err := w.client.EventsV1().Events(w.namespace).List(w.t.Context(), metav1.ListOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	// The API server makes Events on Services as well, ClusterIPNotAllocated for one.
	list.Items = slices.DeleteFunc(list.Items, func(e eventsv1.Event) bool { return e.ReportingController != events.Controller })
	slices.SortFunc(list.Items, func(a, b eventsv1.Event) int { return a.EventTime.Compare(b.EventTime.Time) })
	return list.Items
}

// told returns the notes of the Events of one reason.
func (w *world) told(reason string) []string {
	var notes []string
	for _, e := range w.events() {
		if e.Reason == reason {
			notes = append(notes, e.Note)
		}
	}
	return notes
}

// awaitEvent waits for the nth Event of a reason and returns its note.
func (w *world) awaitEvent(reason string, n int) string {
	w.t.Helper()
	w.until(func() bool { return len(w.told(reason)) >= n }, func() string {
		return fmt.Sprintf("got %d Events %s, want %d; all: %v", len(w.told(reason)), reason, n, w.reasons())
	})
	return w.told(reason)[n-1]
}

// reasons returns the reasons of all Events, in order.
func (w *world) reasons() []string {
	var all []string
	for _, e := range w.events() {
		all = append(all, e.Reason)
	}
	return all
}

// wantTold compares the number of Events of each reason except EndpointsUpdated.
// Events arrive in order, so it waits until the next change of the slices has its
// Event.
func (w *world) wantTold(want ...string) {
	w.t.Helper()
	before := len(w.told("EndpointsUpdated"))
	w.nodes[2].backends[0].kill()
	w.wantPublished(w.all("ready", "ready", "down"))
	w.awaitEvent("EndpointsUpdated", before+1)
	got := slices.DeleteFunc(w.reasons(), func(r string) bool { return r == "EndpointsUpdated" })
	if diff := cmp.Diff(want, got); diff != "" {
		w.t.Errorf("reasons (-want +got):\n%s", diff)
	}
}

func tellsOfEachChange(t *testing.T, w *world) {
	d := w.start()
	w.wantPublished(w.all())
	service, err := w.client.CoreV1().Services(w.namespace).Get(t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	one, two, three := w.nodes[0].IP, w.nodes[1].IP, w.nodes[2].IP
	want := []string{fmt.Sprintf("3 of 3 endpoints ready; added %s (ready), %s (ready), %s (ready)", one, two, three)}
	w.awaitEvent("EndpointsUpdated", 1)
	w.nodes[1].backends[0].kill()
	want = append(want, fmt.Sprintf("2 of 3 endpoints ready; changed %s (down)", two))
	w.awaitEvent("EndpointsUpdated", 2)
	w.nodes[1].backends[0].start(t)
	want = append(want, fmt.Sprintf("3 of 3 endpoints ready; changed %s (ready)", two))
	w.awaitEvent("EndpointsUpdated", 3)
	d.stop()
	w.start() // a start changes nothing, so it makes no Event
	w.nodes[2].backends[0].kill()
	want = append(want, fmt.Sprintf("2 of 3 endpoints ready; changed %s (down)", three))
	w.awaitEvent("EndpointsUpdated", 4)
	if diff := cmp.Diff(want, w.told("EndpointsUpdated")); diff != "" {
		t.Errorf("notes (-want +got):\n%s", diff)
	}
	regarding := corev1.ObjectReference{APIVersion: "v1", Kind: "Service", Namespace: w.namespace, Name: "web", UID: service.UID}
	for _, e := range w.events() {
		if e.Regarding != regarding || e.Type != "Normal" || e.ReportingController != "ionos-endpointslice-controller" || e.ReportingInstance == "" || e.Action == "" {
			t.Errorf("got %+v, want a normal Event of ours on the Service", e)
		}
	}
	described := w.kubectl("describe", "service", "web")
	for _, note := range want {
		if !strings.Contains(described, note) {
			t.Errorf("kubectl describe says\n%s\nwant it to say %q", described, note)
		}
	}
}

// kubectl runs kubectl as the administrator.
func (w *world) kubectl(args ...string) string {
	w.t.Helper()
	args = append(args, "--namespace="+w.namespace, "--kubeconfig="+w.cp.Kubeconfig(w.t))
	cmd := exec.CommandContext(w.t.Context(), w.cp.KubectlPath(), args...)
	cmd.Env = []string{"HOME=" + w.env["HOME"]}
	out, err := cmd.CombinedOutput()
	if err != nil {
		w.t.Fatalf("kubectl %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func tellsThatRemovalsAreHeld(t *testing.T, w *world) {
	d := w.start("EMPTY_RESULT_THRESHOLD=0")
	w.wantPublished(w.all())
	w.writeInventory([]node{})
	if note := w.awaitEvent("RemovalHeld", 1); !strings.HasPrefix(note, "NoNodes: ") {
		t.Errorf("got note %q, want the cause NoNodes", note)
	}
	w.writeInventory(w.nodes[:1]) // another cause of the same Hold
	for line := d.says("decision changed"); line["address"] != w.nodes[0].IP || line["reason"] != "Ready"; {
		line = d.says("decision changed")
	}
	w.writeInventory(w.nodes)
	w.awaitEvent("RemovalReleased", 1)
	w.wantTold("RemovalHeld", "RemovalReleased")
	if got := d.count("mode changed"); got != 2 {
		t.Errorf("got %d lines about the mode, want 2", got)
	}
}

func tellsThatItFailsOpen(t *testing.T, w *world) {
	w.start()
	w.wantPublished(w.all())
	for _, n := range w.nodes {
		n.backends[0].kill()
	}
	if note := w.awaitEvent("FailOpenEngaged", 1); !strings.Contains(note, "HEALTH_CHECK_FAIL_OPEN") {
		t.Errorf("got note %q, want the variable that decided", note)
	}
	for _, n := range w.nodes {
		n.backends[0].start(t)
	}
	w.awaitEvent("FailOpenCleared", 1)
	w.wantPublished(w.all())
	w.wantTold("FailOpenEngaged", "FailOpenCleared")
}

func tellsThatTheSourceFails(t *testing.T, w *world) {
	d := w.start()
	w.wantPublished(w.all())
	w.writeFile("nonsense")
	d.says("source read failed; endpoints stay published, and health checks go on")
	w.writeFile("[{")
	d.says("source read failed; endpoints stay published, and health checks go on") // another error, the same failure
	w.writeInventory(w.nodes)
	w.awaitEvent("SourceRecovered", 1)
	w.wantTold("SourceUnavailable", "SourceRecovered")
	if note := w.told("SourceUnavailable")[0]; !strings.Contains(note, "endpoints stay published") {
		t.Errorf("got note %q, want that nothing changes", note)
	}
}

func tellsWhatIsWrong(t *testing.T, w *world) {
	w.start("TARGET_PORT=", fmt.Sprintf("TARGET_PORTS=http=%d", port))
	w.wantPublished(w.all())
	remedies := map[string]string{}
	trouble := func(reason, remedy string, change func()) {
		t.Helper()
		change()
		remedies[reason] = remedy
		w.awaitEvent(reason, 1)
	}
	trouble("ServiceHasSelector", "remove spec.selector", func() {
		w.editService(func(s *corev1.Service) { s.Spec.Selector = map[string]string{"app": "web"} })
	})
	trouble("PortMismatch", "correct TARGET_PORTS or the Service", func() {
		w.editService(func(s *corev1.Service) { s.Spec.Selector, s.Spec.Ports[0].Name = nil, "other" })
	})
	trouble("ServiceMissing", "create it without a selector", func() {
		if err := w.client.CoreV1().Services(w.namespace).Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	})
	w.createService()
	trouble("SliceOwnedByOther", "set TARGET_ENDPOINTSLICE_NAME to another name", func() { w.foreignSlice("web-remote-7", "somebody") })
	trouble("MirroredSliceFound", "label endpoints web endpointslice.kubernetes.io/skip-mirror=true", func() {
		w.foreignSlice("web-x7f2k", "endpointslicemirroring-controller.k8s.io")
	})
	for reason, remedy := range remedies {
		if got := w.told(reason); len(got) != 1 || !strings.Contains(got[0], remedy) {
			t.Errorf("%s: got %q, want it told once with %q", reason, got, remedy)
		}
	}
	for _, e := range w.events() {
		if e.Type != map[bool]string{true: "Normal", false: "Warning"}[e.Reason == "EndpointsUpdated"] {
			t.Errorf("%s: got type %s", e.Reason, e.Type)
		}
	}
}

// editService changes the Service.
func (w *world) editService(change func(*corev1.Service)) {
	w.t.Helper()
	services := w.client.CoreV1().Services(w.namespace)
	service, err := services.Get(w.t.Context(), "web", metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	change(service)
	if _, err := services.Update(w.t.Context(), service, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

// foreignSlice makes a slice of the Service that another program manages.
func (w *world) foreignSlice(name, manager string) {
	w.t.Helper()
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			discoveryv1.LabelServiceName: "web", discoveryv1.LabelManagedBy: manager,
		}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.9.0.1"}}},
	}
	if _, err := w.client.DiscoveryV1().EndpointSlices(w.namespace).Create(w.t.Context(), slice, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
}

func tellsNothingInADryRun(t *testing.T, w *world) {
	w.foreignSlice("web-x7f2k", "somebody")
	d := w.start("DRY_RUN=true")
	d.says("dry run, slice not written")
	w.writeFile("nonsense")
	d.says("source read failed; endpoints stay published, and health checks go on")
	w.writeInventory(w.nodes)
	d.says("source recovered")
	if code := d.stop(); code != 0 {
		t.Errorf("got exit status %d, want 0", code)
	}
	if got := w.reasons(); len(got) != 0 {
		t.Errorf("got Events %v, want none", got)
	}
}

func goesOnWithoutEvents(t *testing.T, w *world) {
	roles := w.client.RbacV1().Roles(w.namespace)
	role, err := roles.Get(t.Context(), "daemon", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	role.Rules = role.Rules[:2]
	if _, err := roles.Update(t.Context(), role, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.cp.AwaitRights(t, w.user, false, authorizationv1.ResourceAttributes{Namespace: w.namespace, Group: "events.k8s.io", Resource: "events"}, "create")
	const warning = "events are not delivered, everything else works"
	d := w.start()
	w.wantPublished(w.all())
	if line := d.says(warning); !strings.Contains(fmt.Sprint(line["error"]), "create events of events.k8s.io in namespace "+w.namespace) {
		t.Errorf("got the line %v, want the right that is missing", line)
	}
	w.nodes[1].backends[0].kill()
	w.wantPublished(w.all("ready", "down"))
	w.nodes[1].backends[0].start(t)
	w.wantPublished(w.all())
	d.wantStop()
	if got := d.count(warning); got != 1 {
		t.Errorf("got %d warnings, want 1", got)
	}
}

// Contract 232: what keeps clients from the endpoints is told with variables too, whatever
// the store is, and in a run as by check.
func TestContract232TheDaemonOfVariablesTellsWhatKeepsClientsAway(t *testing.T) {
	t.Parallel()
	netns.Require(t)
	cp := controlplane.Start(t, controlplane.Options{})
	for _, store := range []string{"client-go", "kubectl"} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, cp, store)
			local := corev1.ServiceInternalTrafficPolicyLocal
			w.changeService(func(s *corev1.Service) { s.Spec.InternalTrafficPolicy = &local })
			w.start()
			if note := w.awaitEvent("TrafficPolicyLocal", 1); !strings.Contains(note, "spec.internalTrafficPolicy of Service "+w.namespace+"/web is Local") {
				t.Errorf("got %q", note)
			}
			w.checked().wantOnly(t, "fail", "service-clients", "spec.internalTrafficPolicy", "set it to Cluster")
		})
	}
}
