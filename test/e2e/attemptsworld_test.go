package e2e_test

import (
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
)

// policy holds the program's user to the policy of the chart, and whoever writes documents
// into the API server to those about them where it has these too.
func (p *platform) policy(more ...string) {
	p.t.Helper()
	rendered := p.rendered(append(more, "admissionpolicy")...)
	account := fmt.Sprintf("system:serviceaccount:%s:%s-ionos-endpointslice-controller", p.namespace, p.user)
	if !strings.Contains(rendered, account) {
		p.t.Fatalf("the policy does not name %s:\n%s", account, rendered)
	}
	p.kubectl(strings.ReplaceAll(rendered, account, p.user), "apply", "--filename", "-")
	p.awaitPolicy()
}

// rendered are policies of the chart, with the pools of the documents as values.
func (p *platform) rendered(templates ...string) string {
	p.t.Helper()
	values := filepath.Join(p.t.TempDir(), "values.yaml")
	text := fmt.Sprintf("image: {tag: 0.1.0}\ncontroller: {documentsApi: %t}\nbounds: {namespaces: [%s, elsewhere], subnets: [10.0.0.0/16, 10.9.0.0/16], ports: [%d]}\npools:\n",
		p.env["DOCUMENTS_API"] == "true", p.namespace, port)
	for _, pool := range []struct{ name, subnet, namespace string }{
		{"blue", "10.0.0.0/16", p.namespace}, {"green", "10.0.0.0/16", p.namespace}, {"secret", "10.9.0.0/16", "elsewhere"},
	} {
		text += fmt.Sprintf("  %s: {source: {static: {nodes: [{name: a, addresses: [%s]}]}}, subnets: [%s], allow: [{namespaces: [%s], ports: [\"%d\"]}]}\n", pool.name, netip.MustParsePrefix(pool.subnet).Addr().Next(), pool.subnet, pool.namespace, port)
	}
	if err := os.WriteFile(values, []byte(text), 0o600); err != nil {
		p.t.Fatal(err)
	}
	args := []string{"template", p.user, "../../helm/ionos-endpointslice-controller", "--namespace", p.namespace, "--values", values}
	for _, template := range templates {
		args = append(args, "--show-only", "templates/"+template+".yaml")
	}
	command := exec.CommandContext(p.t.Context(), built.Tool(p.t, "helm4"), args...)
	command.Env = []string{"HOME=" + p.t.TempDir()}
	rendered, err := command.Output()
	if failed := new(exec.ExitError); errors.As(err, &failed) {
		p.t.Fatalf("%v: %s", command.Args, failed.Stderr)
	} else if err != nil {
		p.t.Fatal(err)
	}
	return string(rendered)
}

// awaitPolicy waits until the policy is in force, and tries what a stolen credential of
// the program could.
func (p *platform) awaitPolicy() {
	p.t.Helper()
	client, err := kubernetes.NewForConfig(p.cp.UserConfig(p.user))
	if err != nil {
		p.t.Fatal(err)
	}
	const manager = "ionos-endpointslice-controller"
	inside, outside := netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.9.0.1")
	for _, s := range []*discoveryv1.EndpointSlice{
		sliceAt("web.blue.9", "web", manager, "blue", outside, port), sliceAt("web.blue.9", "web", manager, "blue", inside, otherPort),
		sliceAt("api.blue", "web", manager, "blue", inside, port), sliceAt("web.blue.9", "web", "me", "blue", inside, port),
	} {
		p.until(func() bool {
			_, err = client.DiscoveryV1().EndpointSlices(p.namespace).Create(p.t.Context(), s, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			return err != nil && strings.Contains(err.Error(), "ValidatingAdmissionPolicy")
		}, func() string { return fmt.Sprintf("slice %s of %v is not refused: %v", s.Name, s.Labels, err) })
	}
}

// try makes the Service of an attempt, and its slice.
func (p *platform) try(name string, a attempt, outside netip.Addr) {
	p.t.Helper()
	service := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: a.annotations}, Spec: corev1.ServiceSpec{
		Ports: []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(port)}},
	}}
	if a.spec != nil {
		a.spec(service)
	}
	if _, err := p.client.CoreV1().Services(p.namespace).Create(p.t.Context(), service, metav1.CreateOptions{}); err != nil {
		p.t.Fatalf("%s: %v", name, err)
	}
	if a.slice == nil {
		return
	}
	slice := sliceAt(name+"-own", name, "team", "", outside, port)
	a.slice(slice)
	if _, err := p.client.DiscoveryV1().EndpointSlices(p.namespace).Create(p.t.Context(), slice, metav1.CreateOptions{}); err != nil {
		p.t.Fatalf("%s: %v", name, err)
	}
}

// sliceAt is a slice with one endpoint, of any manager.
func sliceAt(name, service, manager, pool string, address netip.Addr, port int32) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			discoveryv1.LabelServiceName: service, discoveryv1.LabelManagedBy: manager,
		}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: new("http"), Port: &port, Protocol: new(corev1.ProtocolTCP)}},
		Endpoints: []discoveryv1.Endpoint{{Addresses: []string{address.String()}, Conditions: discoveryv1.EndpointConditions{
			Ready: new(true), Serving: new(true), Terminating: new(false),
		}}},
	}
	if pool != "" {
		s.Labels["endpoints.ablmnzde.github.io/pool"] = pool
	}
	return s
}

// wantTried waits for what an attempt comes to: what is published, and what the owner of
// the Service is told.
func (p *platform) wantTried(name string, a attempt) {
	p.t.Helper()
	if a.filled {
		p.wantStates(name, "blue", p.nodes)
	}
	told := func() bool {
		return slices.ContainsFunc(p.notes(name), func(e eventsv1.Event) bool { return e.Reason == a.reason && strings.Contains(e.Note, a.note) })
	}
	p.until(func() bool { return a.reason == "" || told() }, func() string {
		return fmt.Sprintf("%s: got Events %v, want %s with %q", name, p.notes(name), a.reason, a.note)
	})
	if got := p.slicesOf(p.namespace, name); !a.filled && len(got) > 0 {
		p.t.Errorf("%s: got slices %v, want none", name, got)
	}
	if got := p.notes(name); a.reason == "" && slices.ContainsFunc(got, func(e eventsv1.Event) bool { return e.Type == corev1.EventTypeWarning }) {
		p.t.Errorf("%s: got Events %v, want no warning", name, got)
	}
	for _, s := range p.slicesOf(p.namespace, name) {
		if want := "kubernetes.io/h2c"; name == "appprotocol" && (s.Ports[0].AppProtocol == nil || *s.Ports[0].AppProtocol != want) {
			p.t.Errorf("got ports %+v, want appProtocol %s", s.Ports, want)
		}
	}
}

// notes are the Events on one Service.
func (p *platform) notes(service string) []eventsv1.Event {
	p.t.Helper()
	return slices.DeleteFunc(p.events(), func(e eventsv1.Event) bool { return e.Regarding.Name != service })
}

// slicesOf returns the slices of ours of one Service.
func (p *platform) slicesOf(namespace, service string) []discoveryv1.EndpointSlice {
	p.t.Helper()
	list, err := p.client.DiscoveryV1().EndpointSlices(namespace).List(p.t.Context(), metav1.ListOptions{LabelSelector: "endpointslice.kubernetes.io/managed-by in (ionos-endpointslice-controller," + reference + "),kubernetes.io/service-name=" + service})
	if err != nil {
		p.t.Fatal(err)
	}
	return list.Items
}

// wantStates waits until the slices of one Service and pool publish exactly the nodes, in
// those states; ready where none is given.
func (p *platform) wantStates(service, pool string, nodes []node, states ...string) {
	p.t.Helper()
	want, own := []string{}, map[string]bool{}
	for i, n := range nodes {
		own[n.IP] = true
		s := "ready"
		if i < len(states) {
			s = states[i]
		}
		want = append(want, n.IP+" "+s)
	}
	slices.Sort(want)
	got := func() []string {
		got := []string{}
		for _, s := range p.slicesOf(p.namespace, service) {
			for _, e := range s.Endpoints {
				if s.Labels["endpoints.ablmnzde.github.io/pool"] == pool && (own[e.Addresses[0]] || !p.seesAll || len(nodes) == 0) {
					got = append(got, strings.Join(e.Addresses, "+")+" "+state(e.Conditions))
				}
			}
		}
		slices.Sort(got)
		return got
	}
	p.until(func() bool { return slices.Equal(got(), want) }, func() string {
		return fmt.Sprintf("%s of pool %s: got %v, want %v", service, pool, got(), want)
	})
}

// forge writes, while the program is away, slices as the program writes them, with an
// address of no pool. They are the memory of the program, and no word of theirs counts
// against a pool.
func (p *platform) forge(d *daemon, outside netip.Addr) {
	p.t.Helper()
	if code := d.stop(); code != 0 {
		p.t.Fatalf("got exit status %d, want 0", code)
	}
	api := p.client.DiscoveryV1().EndpointSlices(p.namespace)
	own, err := api.Get(p.t.Context(), "shop.green", metav1.GetOptions{})
	if err != nil {
		p.t.Fatal(err)
	}
	forged := sliceAt("", "", "", "", outside, port)
	own.Endpoints = append(own.Endpoints, forged.Endpoints...)
	if _, err := api.Update(p.t.Context(), own, metav1.UpdateOptions{}); err != nil {
		p.t.Fatal(err)
	}
	p.start()
	p.wantStates("shop", "green", p.green)
	p.wantStates("both", "green", p.green)
}

// neighbour makes a namespace that no document names, with a Service, and returns its
// name.
func (w *world) neighbour(service string, annotations map[string]string) string {
	w.t.Helper()
	name := w.namespace + "-neighbour"
	if _, err := w.client.CoreV1().Namespaces().Create(w.t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	object := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: service, Annotations: annotations}, Spec: corev1.ServiceSpec{
		Ports: []corev1.ServicePort{{Name: "http", Port: 80, TargetPort: intstr.FromInt32(port)}},
	}}
	if _, err := w.client.CoreV1().Services(name).Create(w.t.Context(), object, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	return name
}
