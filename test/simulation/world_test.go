//go:build simulation

package simulation_test

import (
	"bytes"
	"fmt"
	"hash"
	"hash/fnv"
	"math/rand/v2"
	"net/netip"
	"strings"
	"sync"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controllertest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store"
)

// behaviour is how a backend answers health checks.
type behaviour string

const (
	passes   behaviour = "passes"
	slow     behaviour = "passes slowly"
	refuses  behaviour = "refuses"
	silent   behaviour = "is silent"
	flaps    behaviour = "flaps"
	troubles behaviour = "cannot be asked"
)

// backend is what listens at an address, of any node.
type backend struct {
	is    behaviour
	since time.Time
	// asked counts the checks: the n-th has the same answer in a replay.
	asked int
	odd   *rand.Rand
	// refused says that it has refused once: what took it down may not be silence.
	refused bool
}

// node is a machine of the remote cluster, as it really is.
type node struct {
	inventory.Node
	// changed is when it last joined, left, or became what it is.
	changed time.Time
}

// fault is something that is wrong until a time.
type fault struct {
	kind  string
	until time.Time
}

// world is all that is outside of the daemon. Its lock guards everything in it,
// the processes included.
type world struct {
	seed uint64
	set  settings

	mu       sync.Mutex
	start    time.Time
	nodes    []*node
	backends map[netip.Addr]*backend
	made     int // nodes made so far
	store    *store.Memory
	target   publish.Target
	service  publish.Service
	daemon   *process // nil while none runs
	// second is another one beside it, which no election keeps away.
	second *process
	// pair are a leader and one that stands by, nil without.
	pair *pair
	// replicas are the Pods where there is an election, and leases its server.
	replicas []*replica
	leases   leases
	// stuck are the slices that cannot be written, flooded counts the newcomers.
	stuck map[string]fault
	// acts are what is still to happen in a scene; unrest counts restarts.
	acts     []act
	unrest   int
	calmAt   time.Time
	flooded  int
	enlisted int
	stolenAt time.Time
	started  int
	// source, storing, loading and probing are the faults in force. With probing the
	// prober knows nothing of any endpoint.
	source, storing, loading, probing fault
	// rough is until when each part of the world was not as it should be.
	rough map[string]time.Time
	// cached is what a stale Load shows; fresh are slices that it cannot.
	cached map[string]publish.Slice
	fresh  map[string]bool
	// edited are the slices that another client wrote last, and when.
	edited map[string]time.Time
	calls  map[string]int
	odd    *rand.Rand     // see part
	shown  *publish.State // see now
	// published is the truth that shown tells, objects the slices as stored.
	published map[netip.Addr]inventory.State
	objects   []*discoveryv1.EndpointSlice
	handAt    time.Time // when another client last changed what slices publish
	trace     []string
	held      heldConns
	digest    hash.Hash64 // of all that was ever noted
	steps     int
	passed    time.Duration
	broken    string // the first promise that was broken
	writes    int
	counts    map[string]int
	cutAt     time.Time
	// atFirst is how many bytes were alive before the world began, grown how many
	// more are at its end.
	atFirst, grown int64
	// sentences judges the process judged.
	sentences controllertest.Oracle
	judged    *process
	// standing are the endpoints that were fine when the prober was cut off.
	standing map[netip.Addr]bool
}

// dice returns random numbers that depend only on the seed and on what they are for.
func (w *world) dice(what string, n int) *rand.Rand {
	h := fnv.New64a()
	_, _ = fmt.Fprint(h, what, " ", n)
	return rand.New(rand.NewPCG(w.seed, h.Sum64()))
}

// next returns the dice of the next call of that kind.
func (w *world) next(what string) *rand.Rand {
	w.calls[what]++
	return w.dice(what, w.calls[what])
}

// in reports whether a fault is in force and of one of these kinds; without
// kinds, of any.
func (f fault) in(kinds ...string) bool {
	if !time.Now().Before(f.until) {
		return false
	}
	for _, k := range kinds {
		if k == f.kind {
			return true
		}
	}
	return len(kinds) == 0
}

// roughen notes that a part of the world is not as it should be until then.
func (w *world) roughen(part string, until time.Time) {
	if until.After(w.rough[part]) {
		w.rough[part] = until
	}
}

// smooth reports whether these parts have been as they should be for that long.
func (w *world) smooth(d time.Duration, parts ...string) bool {
	for _, p := range parts {
		if time.Since(w.rough[p]) < d {
			return false
		}
	}
	return true
}

// note adds a line to the trace, of which only the end is kept.
func (w *world) note(format string, values ...any) {
	most := max(400, *lines)
	if len(w.trace) >= most {
		w.trace = append(w.trace[:0], w.trace[most/2:]...)
	}
	line := fmt.Sprintf("%12s  ", time.Since(w.start)) + fmt.Sprintf(format, values...)
	w.trace = append(w.trace, line)
	_, _ = w.digest.Write([]byte(line))
}

// story is the end of the trace.
func (w *world) story(lines int) string {
	return strings.Join(w.trace[max(0, len(w.trace)-lines):], "\n")
}

// breach notes that a promise was broken, the first one only.
func (w *world) breach(contract int, format string, values ...any) {
	text := fmt.Sprintf("contract %d: ", contract) + fmt.Sprintf(format, values...)
	w.note("BROKEN %s", text)
	if w.broken == "" {
		w.broken = text
	}
}

// failed returns the first broken promise.
func (w *world) failed() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.broken
}

// behave changes how a backend answers.
func (w *world) behave(a netip.Addr, b behaviour) {
	have, ok := w.backends[a]
	if !ok {
		have = w.listen(a, "")
	}
	if have.is != b {
		was := have.is
		have.is, have.since = b, time.Now()
		have.refused = have.refused || b == refuses
		w.note("%s %s", a, b)
		for _, p := range []*process{w.daemon, w.second} {
			if p != nil {
				delete(p.alarmed, a)
			}
		}
		if b == refuses && !w.blind(a) {
			w.crash(a, was)
		}
	}
}

// listen puts a backend at an address that never had one.
func (w *world) listen(a netip.Addr, is behaviour) *backend {
	b := &backend{is: is, odd: w.dice("odd "+a.String(), 0)}
	w.backends[a] = b
	return b
}

// holder returns the node that really has the address.
func (w *world) holder(a netip.Addr) *node {
	for _, n := range w.nodes {
		for _, own := range n.Addresses {
			if own == a {
				return n
			}
		}
	}
	return nil
}

// stays reports whether the address belongs to a node that is there and stays.
func (w *world) stays(a netip.Addr) bool {
	n := w.holder(a)
	return n != nil && fit(n.Node) && !n.Leaving
}

// fit reports whether a node may serve, leaving or not.
func fit(n inventory.Node) bool { return n.Ready && n.Worker && !n.Excluded }

// allowed is contract 6, spelt for the subnets of the simulation.
func allowed(a netip.Addr) bool {
	if a.Zone() != "" || a.Is4In6() {
		return false
	}
	b := a.As16()
	if a.Is4() {
		return b[12] == 10 && b[13] == 0 && b[14] == 0
	}
	return bytes.HasPrefix(b[:], []byte{0xfd, 0, 0, 1, 0, 0, 0, 0})
}

// join adds a node with these addresses. Its backends pass.
func (w *world) join(addrs ...netip.Addr) {
	w.made++
	name := fmt.Sprintf("node-%d", w.made)
	n := &node{changed: time.Now(), Node: inventory.Node{
		ID: "id-" + name, Name: name, Zone: fmt.Sprintf("zone-%d", w.made%2), Addresses: addrs, Ready: true, Worker: true,
	}}
	w.nodes = append(w.nodes, n)
	for _, a := range addrs {
		w.behave(a, passes)
	}
	w.note("%s joins with %v", name, addrs)
	w.signal()
}

// free returns the addresses of a new node. Now and then they belonged to a node that
// left.
func (w *world) free(r *rand.Rand) []netip.Addr {
	for {
		octet := 1 + r.IntN(30)
		addrs := []netip.Addr{netip.AddrFrom4([4]byte{10, 0, 0, byte(octet)})}
		if w.set.dual {
			addrs = append(addrs, netip.MustParseAddr(fmt.Sprintf("fd00:1::%d", octet)))
		}
		if w.holder(addrs[0]) == nil {
			return addrs
		}
	}
}
