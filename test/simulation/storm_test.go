//go:build simulation

package simulation_test

import (
	"math/rand/v2"
	"net/netip"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// strike lets one thing happen. The caller has the lock.
func (w *world) strike(r *rand.Rand) {
	switch n := r.IntN(100); {
	case n < 22:
		w.strikeNodes(r)
	case n < 52:
		w.strikeBackend(r)
	case n < 64:
		w.source = w.begin(r, "source", time.Duration(w.set.policy.Threshold+4)*w.set.poll, readsFail, readsHang, readsWait, readsSlow, readsEmpty, readsPartial, readsForeign, readsUnready, readsTwins, readsLeaving, readsFlood)
		w.limitFlood()
	case n < 67:
		w.stick(r.IntN, time.Now().Add(time.Second+time.Duration(r.Int64N(int64(3*time.Minute)))), pick(r, sliceDenied, sliceDenied, sliceHangs, sliceLoses))
	case n < 71:
		w.storing = w.begin(r, "store", time.Minute, writesFail, writesAway, writesHang, writesLost, writesLost, writesSlow, writesConflict, createsRefused, addsRefused, storesLess)
	case n < 73:
		w.storing = w.begin(r, "pace", 2*time.Minute, writesSecond)
	case n < 77:
		w.loading = w.begin(r, "store", time.Minute, loadsFail, loadsSlow, loadsStale)
		w.roughen("loads", w.loading.until)
	case n < 80:
		w.probing = w.begin(r, "probes", 30*time.Second, cutOff, cutOff, noFiles)
		w.noteCut()
	case n < 84:
		w.strikeService(r)
	case n < 92:
		w.strikeSlice(r)
	default:
		w.strikeDaemon(r)
	}
}

// begin begins a fault of one of these kinds.
func (w *world) begin(r *rand.Rand, part string, longest time.Duration, kinds ...string) fault {
	f := fault{kind: pick(r, kinds...), until: time.Now().Add(time.Second + time.Duration(r.Int64N(int64(longest))))}
	w.roughen(part, f.until)
	w.note("%s for %s", f.kind, time.Until(f.until))
	w.counts[f.kind]++
	return f
}

// limitFlood makes a flood short: it has ten reads a second. Without change signals
// there is none.
func (w *world) limitFlood() {
	if w.source.kind == readsFlood {
		w.source.until = earliest(w.source.until, time.Now().Add(time.Minute))
		w.signal()
	}
}

func earliest(a, b time.Time) time.Time {
	if a.Before(b) {
		return a
	}
	return b
}

// strikeNodes changes the remote cluster.
func (w *world) strikeNodes(r *rand.Rand) {
	var n *node
	if len(w.nodes) > 0 {
		n = w.nodes[r.IntN(len(w.nodes))]
	}
	switch k := r.IntN(10); {
	case n == nil, k < 3 && len(w.nodes) < max(12, w.set.nodes+2):
		w.join(w.free(r)...)
		return
	case k < 5:
		n.Leaving = !n.Leaving
		w.note("%s leaving %t", n.Name, n.Leaving)
	case k < 6:
		n.Ready = !n.Ready
		w.note("%s ready %t", n.Name, n.Ready)
	case k < 8:
		w.remove(n, r)
	case k < 9: // replaced at once: the address goes to another machine
		w.remove(n, r)
		w.join(n.Addresses...)
	default: // the whole pool is replaced
		for _, old := range append([]*node(nil), w.nodes...) {
			w.remove(old, r)
			w.join(w.free(r)...)
		}
	}
	n.changed = time.Now()
	w.signal()
}

// remove takes a node away; what listened there may go on for a while.
func (w *world) remove(n *node, r *rand.Rand) {
	for i, have := range w.nodes {
		if have == n {
			w.nodes = append(w.nodes[:i:i], w.nodes[i+1:]...)
			break
		}
	}
	w.note("%s is gone", n.Name)
	for _, a := range n.Addresses {
		w.behave(a, pick(r, passes, refuses, silent))
	}
}

// strikeBackend makes one backend, or all of them, behave otherwise.
func (w *world) strikeBackend(r *rand.Rand) {
	if len(w.nodes) == 0 {
		return
	}
	some := w.nodes[r.IntN(len(w.nodes)):][:1]
	if r.IntN(15) == 0 {
		some = w.nodes
	}
	is := pick(r, passes, passes, passes, passes, slow, refuses, refuses, refuses, silent, silent, flaps, troubles)
	for _, n := range some {
		for _, a := range n.Addresses {
			w.behave(a, is)
		}
	}
}

// strikeService makes the Service wrong for a while.
func (w *world) strikeService(r *rand.Rand) {
	wrong := w.service
	switch r.IntN(5) {
	case 0:
		wrong = publish.Service{}
	case 1:
		wrong.Deleting = true
	case 2:
		wrong.HasSelector = true
	case 3:
		wrong.Ports = []publish.ServicePort{{Name: "other", Protocol: publish.TCP, Port: 81}}
	case 4: // deleted and made again
		w.service.UID += "1"
		wrong = w.service
	}
	w.setService(wrong)
	w.rough["service until"] = time.Now().Add(time.Duration(r.Int64N(int64(time.Minute))))
	w.roughen("service", w.rough["service until"])
}

func (w *world) setService(service publish.Service) {
	w.note("Service %+v", service)
	w.serve(service)
	w.rough["service since"] = time.Now()
	w.tell()
}

// current is the Service as it is now.
func (w *world) current() publish.Service {
	return w.now().Service
}

func (w *world) serviceGone() bool { return w.current().UID == "" }

func (w *world) serviceWrong() bool {
	s := w.current()
	return s.UID == "" || s.Deleting || s.HasSelector || len(s.Ports) != 1 || s.Ports[0].Name != "http"
}

// strikeSlice changes the slices as another client would.
func (w *world) strikeSlice(r *rand.Rand) {
	all := w.store.Slices()
	if len(all) == 0 || r.IntN(6) == 0 {
		w.put(w.beside())
		w.tell()
		return
	}
	s := all[r.IntN(len(all))]
	if s.Name == besideName {
		return
	}
	w.note("a foreign hand in %s", s.Name)
	w.foreign(s.Name)
	switch k := r.IntN(6); {
	case k == 0:
		w.drop(s.Name)
	case k == 1 && len(s.Endpoints) > 0:
		s.Endpoints = s.Endpoints[1:]
		w.put(s)
	case k == 2 && len(s.Endpoints) > 0:
		down, up := false, true
		s.Endpoints[0].Conditions = discoveryv1.EndpointConditions{Ready: &down, Serving: &up, Terminating: &up}
		w.put(s)
	case k == 3:
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{w.unused(s.AddressType)}})
		w.put(s)
	case k == 4:
		s.Labels[discoveryv1.LabelManagedBy] = pick(r, "somebody-else", w.target.ManagedBy)
		w.put(s)
	default:
		w.touch(s.Name)
	}
	w.tell()
}

// foreign notes that another client changes a slice.
func (w *world) foreign(name string) {
	w.edited[name] = time.Now()
	w.roughen("slices", time.Now().Add(15*time.Second))
}

// unused is an address that no node ever has.
func (w *world) unused(kind discoveryv1.AddressType) string {
	if kind == discoveryv1.AddressTypeIPv6 {
		return "fd00:1::ff"
	}
	return "10.0.0.250"
}

const besideName = "web-of-others"

// beside is a slice of the Service without one of our names.
func (w *world) beside() *discoveryv1.EndpointSlice {
	return &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Namespace: w.target.Namespace, Name: besideName, Labels: map[string]string{
			discoveryv1.LabelServiceName: w.target.Service, discoveryv1.LabelManagedBy: w.target.ManagedBy,
		}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"10.0.0.251"}}},
	}
}

// strikeDaemon stops the process; another starts now, or later.
func (w *world) strikeDaemon(r *rand.Rand) {
	w.unrest++
	if w.set.election {
		w.strikeReplica(r)
		return
	}
	which := pick(r, &w.daemon, &w.second)
	if *which == nil {
		which = &w.daemon
	}
	w.halt(which, r.IntN(2) == 0)
	w.rough["daemon until"] = time.Now().Add(pick(r, 0, time.Millisecond, time.Second, 20*time.Second))
	w.roughen("daemon", w.rough["daemon until"])
}

// noteCut remembers which endpoints were fine when the prober was cut off.
func (w *world) noteCut() {
	w.standing = map[netip.Addr]bool{}
	if !w.probing.in(cutOff) || w.daemon == nil {
		return
	}
	w.cutAt = time.Now()
	for a := range w.truth() {
		w.standing[a] = w.passedFor(a, 30*time.Second) && w.smooth(30*time.Second, "probes before", "daemon")
	}
	w.rough["probes before"] = w.probing.until
}

// cutOffFor reports whether the prober has been cut off for that long.
func (w *world) cutOffFor(d time.Duration) bool {
	return w.probing.in(cutOff) && time.Since(w.cutAt) >= d
}
