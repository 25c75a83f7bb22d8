package assign_test

import (
	"cmp"
	"fmt"
	"hash/fnv"
	"iter"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// world is what a test changes between two calls of Resolve.
type world struct {
	t      *testing.T
	in     assign.Input
	memory assign.Memory
	// unready are the groups that decided nothing yet. passing are how many endpoints of a
	// group pass, 10 of IPv4 where it is not in it.
	unready map[assign.Group]bool
	passing map[assign.Group]assign.Count
	// same says that a pool has the endpoints of another one; otherwise no two pools have the same.
	same map[string]string
	// refuses says that slices of this name are not stored.
	refuses map[string]bool
	// draining are the slices whose endpoints drain.
	draining map[string]bool
	plan     assign.Plan
}

var begin = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

func newWorld(t *testing.T, pools ...v1alpha1.EndpointPool) *world {
	w := &world{t: t, unready: map[assign.Group]bool{}}
	w.in = assign.Input{Now: begin, Complete: true, Pools: pools, Nodes: map[string]int{}}
	w.draining = map[string]bool{}
	w.passing, w.refuses, w.same = map[assign.Group]assign.Count{}, map[string]bool{}, map[string]string{}
	w.in.Health = func(g assign.Group) (assign.Health, bool) {
		passing, set := w.passing[g]
		if !set {
			passing = assign.Count{IPv4: 10}
		}
		its := w.endpoints(g.Pool, passing)
		return assign.Health{Checked: !w.unready[g], Passing: its, Serving: its}, !w.unready[g]
	}
	w.in.Stored, w.in.Drains = w.stored, w.drains
	for _, p := range pools {
		w.in.Nodes[p.Name] = 10
	}
	return w
}

// pool allows namespaces ports.
func pool(name string, namespaces []string, ports ...string) v1alpha1.EndpointPool {
	p := v1alpha1.EndpointPool{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if len(ports) > 0 {
		p.Spec.Allow = []v1alpha1.PoolAllowance{{Namespaces: namespaces, Ports: ports}}
	}
	p.SetDefaults()
	return p
}

// binding fills namespace/service from pools.
func binding(name string, pools ...string) v1alpha1.EndpointBinding {
	namespace, service, _ := strings.Cut(name, "/")
	b := v1alpha1.EndpointBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: service}}
	for _, pool := range pools {
		b.Spec.Pools = append(b.Spec.Pools, v1alpha1.BindingPool{Name: pool})
	}
	b.SetDefaults()
	return b
}

// service has one port with a target port.
func service(name string, port uint16, annotations ...string) assign.Service {
	s := assign.Service{Key: key(name), Annotations: map[string]string{}}
	s.UID = "uid-" + name
	s.Ports = []publish.ServicePort{{Name: "http", Protocol: publish.TCP, Port: 80, TargetPort: port}}
	for i := 0; i+1 < len(annotations); i += 2 {
		s.Annotations[annotations[i]] = annotations[i+1]
	}
	return s
}

func key(name string) assign.Key {
	namespace, service, _ := strings.Cut(name, "/")
	return assign.Key{Namespace: namespace, Service: service}
}

// tcp is the group of a pool that checks a port by TCP.
func tcp(pool string, port uint16) assign.Group {
	return assign.Group{Pool: pool, Check: assign.Check{Mode: v1alpha1.HealthCheckTCP, Port: port}}
}

// after resolves once more, later. What was planned before is published by then.
func (w *world) after(d time.Duration) *world {
	w.in.Now = w.in.Now.Add(d)
	w.plan, w.memory = assign.Resolve(w.in, w.memory)
	w.wantSorted()
	w.publish()
	return w
}

// wantSorted requires the order of the Services in all of a plan: what is told does not depend on
// the order of the documents.
func (w *world) wantSorted() {
	w.t.Helper()
	for what, sorted := range map[string]bool{
		"targets":  slices.IsSortedFunc(w.plan.Targets, func(a, b assign.Assignment) int { return a.Key.Compare(b.Key) }),
		"refusals": slices.IsSortedFunc(w.plan.Refusals, func(a, b assign.Refusal) int { return a.Key.Compare(b.Key) }),
		"notices":  slices.IsSortedFunc(w.plan.Notices, func(a, b assign.Notice) int { return a.Key.Compare(b.Key) }),
	} {
		if !sorted {
			w.t.Errorf("the %s of the plan are not in the order of the Services: %+v", what, w.plan)
		}
	}
}

// endpoints are so many of a pool.
func (w *world) endpoints(pool string, n assign.Count) iter.Seq[netip.Addr] {
	h := fnv.New64a()
	h.Write([]byte(cmp.Or(w.same[pool], pool)))
	of := h.Sum(nil)
	return func(yield func(netip.Addr) bool) {
		for i := range n.IPv4 + n.IPv6 {
			addr := netip.AddrFrom4([4]byte{10, of[0], of[1], byte(i)})
			if i >= n.IPv4 {
				addr = netip.AddrFrom16([16]byte{0: 0xfd, 1: of[0], 2: of[1], 15: byte(i)})
			}
			if !yield(addr) {
				return
			}
		}
	}
}

// stored are those that the slices of a name have as ready.
func (w *world) stored(key assign.Key, slice string) (iter.Seq[netip.Addr], bool) {
	for _, p := range w.in.Published {
		if p.Key == key && p.Slice == slice && !w.draining[p.Namespace+"/"+p.Slice] {
			return w.endpoints(p.Pool, assign.Count{IPv4: p.Endpoints - p.IPv6, IPv6: p.IPv6}), true
		}
	}
	return nil, true
}

// drains reports whether slices of a name have endpoints that drain.
func (w *world) drains(key assign.Key, slice string) bool {
	return w.draining[key.Namespace+"/"+slice] && slices.ContainsFunc(w.in.Published, func(p assign.PublishedSlice) bool { return p.Key == key && p.Slice == slice && p.Endpoints > 0 })
}

// publish writes the plan as a runtime would.
func (w *world) publish() {
	for _, t := range w.plan.Targets {
		for _, u := range t.Uses {
			name := u.SliceName(t.Key)
			if t.DryRun || w.refuses[name] || w.refuses[t.Namespace+"/"+name] {
				continue
			}
			w.in.Published = slices.DeleteFunc(w.in.Published, func(p assign.PublishedSlice) bool { return p.Key == t.Key && p.Slice == name })
			passing := assign.Count{IPv4: 10}
			if set, is := w.passing[u.Group]; is {
				passing = set
			}
			p := assign.PublishedSlice{Key: t.Key, Pool: u.Pool, Slice: name, Ports: u.Ports, Endpoints: passing.IPv4 + passing.IPv6, IPv6: passing.IPv6}
			w.draining[t.Namespace+"/"+name] = u.State == assign.Draining
			if u.State == assign.Emptied {
				p.Endpoints = 0
			}
			w.in.Published = append(w.in.Published, p)
		}
	}
}

// restart forgets what is not in the slices.
func (w *world) restart() *world {
	w.memory = assign.Memory{}
	return w
}

// want compares the plan with lines like "shop/web blue:30080 active".
func (w *world) want(lines ...string) *world {
	w.t.Helper()
	var got []string
	for _, t := range w.plan.Targets {
		for _, u := range t.Uses {
			line := fmt.Sprintf("%s %s:%d %s", t.Key, u.Pool, u.Ports[0].Number, u.State)
			if u.Next != nil {
				line += fmt.Sprintf(" then %s:%d", u.Next.Pool, u.Next.Ports[0].Number)
			}
			got = append(got, line)
		}
	}
	if !slices.Equal(got, lines) {
		w.t.Errorf("after %v: got %q, want %q", w.in.Now.Sub(begin), got, lines)
	}
	return w
}

// refused compares the refusals with lines like "shop/web blue PortNotAllowed".
func (w *world) refused(lines ...string) {
	w.t.Helper()
	var got []string
	for _, r := range w.plan.Refusals {
		got = append(got, fmt.Sprintf("%s %s %s", r.Key, r.Pool, r.Reason))
		if r.Message == "" {
			w.t.Errorf("%v: got no message", r)
		}
	}
	if !slices.Equal(got, lines) {
		w.t.Errorf("got refusals %q, want %q", got, lines)
	}
}
