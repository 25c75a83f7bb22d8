package publish_test

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// web is a target whose slices hold up to max endpoints.
func web(max int) publish.Target {
	return publish.Target{
		Namespace: "default", Service: "web", SliceName: "web-remote", ManagedBy: "test",
		Ports:           []publish.Port{{Protocol: publish.TCP, Number: 8080}},
		PortFromService: true,
		MaxEndpoints:    max,
	}
}

// service is a Service that web can fill.
func service() publish.Service {
	return publish.Service{UID: "uid-1", Ports: []publish.ServicePort{{Name: "http", Protocol: publish.TCP, Port: 80, TargetPort: 8080}}}
}

// v4 and v6 are the n-th address of a family.
func v4(n int) netip.Addr {
	var b [4]byte
	binary.BigEndian.PutUint32(b[:], 10<<24+uint32(n))
	return netip.AddrFrom4(b)
}

func v6(n int) netip.Addr {
	b := [16]byte{0: 0xfd}
	binary.BigEndian.PutUint32(b[12:], uint32(n))
	return netip.AddrFrom16(b)
}

// ready returns ready endpoints.
func ready(addrs ...netip.Addr) []inventory.Member {
	members := make([]inventory.Member, len(addrs))
	for i, addr := range addrs {
		members[i] = inventory.Member{Address: addr, State: inventory.StateReady}
	}
	return members
}

// numbered returns the ready IPv4 endpoints from first to last.
func numbered(first, last int) []inventory.Member {
	var members []inventory.Member
	for n := first; n <= last; n++ {
		members = append(members, ready(v4(n))...)
	}
	return members
}

// world is a store that keeps what it is sent, and what was sent.
type world struct {
	state   publish.State
	target  publish.Target
	version int
	// writes and endpoints count the writes and the endpoints in them.
	writes, endpoints int
}

// newWorld returns a world without slices.
func newWorld(max int) *world {
	return &world{state: publish.State{Service: service()}, target: web(max)}
}

// hold adds a slice with these endpoints for each group.
func (w *world) hold(groups ...[]inventory.Member) {
	for _, endpoints := range groups {
		w.version++
		w.state.Slices = append(w.state.Slices, publish.Slice{
			Name:      w.target.NameOf(publish.IPv4, len(w.state.Slices)+1),
			Endpoints: endpoints,
			Owner:     w.state.Service.UID,
			Ports:     []publish.Port{{Name: "http", Protocol: publish.TCP, Number: 8080}},
			Version:   strconv.Itoa(w.version),
		})
	}
}

// plan returns the writes that publish the endpoints.
func (w *world) plan(members []inventory.Member) []publish.Write {
	desired, _ := publish.Desired(members, w.state, w.target)
	return publish.Diff(w.state.Slices, desired)
}

// publish publishes the endpoints and returns the writes that did.
func (w *world) publish(members []inventory.Member) []publish.Write {
	writes := w.plan(members)
	for _, write := range writes {
		w.apply(write)
	}
	return writes
}

// apply does one write as a store does, the fence included.
func (w *world) apply(write publish.Write) {
	i := slices.IndexFunc(w.state.Slices, func(s publish.Slice) bool { return s.Name == write.Slice.Name })
	if (write.Operation == publish.Create) != (i < 0) {
		panic(fmt.Sprintf("%s of slice %s, which is at place %d", write.Operation, write.Slice.Name, i))
	}
	w.version++
	written := write.Slice
	written.Version = strconv.Itoa(w.version)
	w.state.Slices = slices.Clone(w.state.Slices)
	if i < 0 {
		w.state.Slices = append(w.state.Slices, written)
	} else {
		if have := w.state.Slices[i].Version; have != write.Slice.Version {
			panic(fmt.Sprintf("slice %s is at version %s, the write was computed from %q", write.Slice.Name, have, write.Slice.Version))
		}
		w.state.Slices[i] = written
	}
	slices.SortFunc(w.state.Slices, publish.CompareSlices)
	w.writes++
	w.endpoints += len(written.Endpoints)
}

// published returns what the slices hold, sorted.
func (w *world) published() []inventory.Member {
	var members []inventory.Member
	for _, s := range w.state.Slices {
		members = append(members, s.Endpoints...)
	}
	slices.SortFunc(members, inventory.CompareMembers)
	return members
}

// holding counts the slices of a family that hold endpoints.
func (w *world) holding(family publish.Family) int {
	n := 0
	for _, s := range w.state.Slices {
		if s.Family == family && len(s.Endpoints) > 0 {
			n++
		}
	}
	return n
}

// replaced returns the endpoints with one of them, chosen at random, replaced by
// another.
func replaced(members []inventory.Member, by inventory.Member, random *rand.Rand) []inventory.Member {
	return append(without(members, random.IntN(len(members))), by)
}

// without returns the endpoints except the i-th.
func without(members []inventory.Member, i int) []inventory.Member {
	return slices.Delete(slices.Clone(members), i, i+1)
}

// sorted returns the endpoints by address.
func sorted(members []inventory.Member) []inventory.Member {
	return slices.SortedFunc(slices.Values(members), inventory.CompareMembers)
}

// slicesFor is how many slices n endpoints need at least.
func slicesFor(n, max int) int { return (n + max - 1) / max }
