//go:build lab

package conformance_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
)

const (
	namespace = "default"
	// headless is appended to the name of the Service without a ClusterIP: for such a
	// Service DNS lists the endpoints.
	headless = "-headless"
)

// target is a scenario in the world: two Services, each with a daemon, over the same
// nodes.
type target struct {
	scenario
	world   *world
	members []*member
	file    string
	// clusterIP of each family.
	clusterIP map[string]string
	logs      map[string]string
	// settled are the generations of the slices when their states were reached, nil where that is
	// not known.
	settled map[string]int64
}

// generations count the writes of each slice of the two Services.
func (x *target) generations(t *testing.T) map[string]int64 {
	t.Helper()
	found := make(map[string]int64)
	for _, service := range []string{x.name, x.name + headless} {
		for _, slice := range x.slices(t, service) {
			found[slice.Name] = slice.Generation
		}
	}
	return found
}

// slices are those of a Service.
func (x *target) slices(t *testing.T, service string) []discoveryv1.EndpointSlice {
	t.Helper()
	list, err := x.world.client.DiscoveryV1().EndpointSlices(namespace).List(t.Context(), metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + service})
	if err != nil {
		t.Fatal(err)
	}
	return list.Items
}

// newTarget makes the Services and starts the daemons. All endpoints are ready.
func (w *world) newTarget(t *testing.T, s scenario) *target {
	t.Helper()
	x := &target{scenario: s, world: w, file: filepath.Join(t.TempDir(), "inventory.json"), clusterIP: map[string]string{}, logs: map[string]string{}}
	for i := range s.members {
		x.members = append(x.members, w.newMember(t, s.memberName(i), s.bothFamilies))
	}
	x.writeInventory(t, func(int) state { return ready })
	for _, name := range []string{s.name, s.name + headless} {
		x.createService(t, name)
		x.startDaemon(t, name)
	}
	x.createIngress(t)
	return x
}

func (x *target) createService(t *testing.T, name string) {
	t.Helper()
	spec := corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}}
	if x.bothFamilies {
		policy := corev1.IPFamilyPolicyRequireDualStack
		spec.IPFamilyPolicy = &policy
	}
	if strings.HasSuffix(name, headless) {
		spec.ClusterIP = corev1.ClusterIPNone
	}
	service, err := x.world.client.CoreV1().Services(namespace).Create(t.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: spec}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for i, family := range service.Spec.IPFamilies {
		if spec.ClusterIP != corev1.ClusterIPNone {
			x.clusterIP[map[corev1.IPFamily]string{corev1.IPv4Protocol: "ip4", corev1.IPv6Protocol: "ip6"}[family]] = service.Spec.ClusterIPs[i]
		}
	}
}

// createIngress sends a host name of the scenario to its Service.
func (x *target) createIngress(t *testing.T) {
	t.Helper()
	prefix := networkingv1.PathTypePrefix
	ingress := &networkingv1.Ingress{ObjectMeta: metav1.ObjectMeta{Name: x.name}, Spec: networkingv1.IngressSpec{
		Rules: []networkingv1.IngressRule{{Host: x.host(), IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
			Paths: []networkingv1.HTTPIngressPath{{Path: "/", PathType: &prefix, Backend: networkingv1.IngressBackend{
				Service: &networkingv1.IngressServiceBackend{Name: x.name, Port: networkingv1.ServiceBackendPort{Name: "http"}},
			}}},
		}}}},
	}}
	if _, err := x.world.client.NetworkingV1().Ingresses(namespace).Create(t.Context(), ingress, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func (x *target) host() string { return x.name + ".example.com" }

// startDaemon runs the program for a Service. What is set here makes the states
// come soon and stay; the rest is default.
func (x *target) startDaemon(t *testing.T, service string) {
	t.Helper()
	env := []string{
		"SOURCE_KIND=file", "INVENTORY_FILE_PATH=" + x.file, "SOURCE_POLL_INTERVAL=500ms", "EMPTY_RESULT_THRESHOLD=2",
		"SECURED_SUBNET_CIDR=10.77.1.0/24,fd77::/64", "TARGET_NAMESPACE=" + namespace, "TARGET_SERVICE_NAME=" + service, fmt.Sprintf("TARGET_PORT=%d", port),
		"HEALTH_CHECK_MODE=http", "HEALTH_CHECK_PATH=/healthz",
		"STORE_KIND=client-go", "KUBECONFIG=" + x.world.cp.Kubeconfig(t),
		"ADMIN_ADDRESS=127.0.0.1:0", "METRICS_ADDRESS=127.0.0.1:0", "LOG_FORMAT=json",
	}
	if !x.has(removed) {
		env = append(env, "DRAIN_PERIOD=1h")
	}
	x.logs[service] = run(t, service, append(env, x.env...), built.Program(t))
}

// begin waits until all endpoints are ready and each consumer has seen it, and then
// brings them into their states. A consumer that knows the Service not yet looks like
// one that has seen its last endpoint go.
func (x *target) begin(t *testing.T, askers map[string]asker) {
	t.Helper()
	x.wantPublished(t, func(int) state { return ready })
	all := make([]int, len(x.members))
	for i := range all {
		all[i] = i
	}
	for consumer, a := range askers {
		for _, family := range x.families(consumer) {
			x.awaitAnswers(t, consumer, a, all, family)
		}
	}
	for i, s := range x.scenario.members {
		x.members[i].sick.Store(s == down || x.allFail)
	}
	x.writeInventory(t, func(i int) state { return x.scenario.members[i] })
}

// awaitSlices waits until the slices have those states.
func (x *target) awaitSlices(t *testing.T) {
	t.Helper()
	x.wantPublished(t, func(i int) state { return x.states()[i] })
	mode := "FailOpen"
	switch {
	case x.allFail && x.scenario.members[0] == ready:
	case x.outcome != nil && len(x.in(ready)) == len(x.members):
		mode = "Hold"
	default:
		return
	}
	// Ready before and ready after: only the daemon can say what it knows.
	for _, log := range x.logs {
		until(t, func() string { return "the daemon does not say that its mode is " + mode + ":\n" + tail(log) }, func() bool {
			text, err := os.ReadFile(log)
			return err == nil && strings.Contains(string(text), `"to":"`+mode+`"`)
		})
	}
}

// writeInventory replaces the inventory in one step.
func (x *target) writeInventory(t *testing.T, of func(int) state) {
	t.Helper()
	nodes := []any{}
	for i, m := range x.members {
		if s := of(i); s != removed {
			nodes = append(nodes, m.inventory(s == draining))
		}
	}
	text, err := json.Marshal(nodes)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(x.file+".next", text, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(x.file+".next", x.file); err != nil {
		t.Fatal(err)
	}
}

// wantPublished waits until the slices of both Services list exactly that.
func (x *target) wantPublished(t *testing.T, of func(int) state) {
	t.Helper()
	want := map[string]state{}
	for i, m := range x.members {
		for _, a := range m.addresses {
			if s := of(i); s != removed {
				want[a.String()] = s
			}
		}
	}
	for _, service := range []string{x.name, x.name + headless} {
		var got map[string]state
		until(t, func() string {
			return fmt.Sprintf("%s publishes %v, want %v\n%s", service, got, want, tail(x.logs[service]))
		}, func() bool {
			got = x.published(t, service)
			return maps.Equal(got, want)
		})
	}
}

// published is what the slices of a Service say of each address. An address
// that is listed twice has a state that nothing asks for.
func (x *target) published(t *testing.T, service string) map[string]state {
	t.Helper()
	got := map[string]state{}
	for _, slice := range x.slices(t, service) {
		for _, e := range slice.Endpoints {
			if _, twice := got[e.Addresses[0]]; twice {
				got[e.Addresses[0]] = "listed twice"
				continue
			}
			got[e.Addresses[0]] = stateOf(e.Conditions)
		}
	}
	return got
}

func stateOf(c discoveryv1.EndpointConditions) state {
	states := map[[3]bool]state{{true, true, false}: ready, {false, true, true}: draining, {false, false, false}: down}
	return states[[3]bool{*c.Ready, *c.Serving, *c.Terminating}]
}
