package publish_test

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// compareAddrs lets cmp look at addresses, which have no exported field.
func compareAddrs() cmp.Option { return cmp.Comparer(func(a, b netip.Addr) bool { return a == b }) }

func TestContract17TheOrderOfTheInputChangesNothing(t *testing.T) {
	w := newWorld(4)
	w.target.PortFromService = false
	w.target.Ports = []publish.Port{{Name: "a", Protocol: publish.TCP, Number: 1}, {Name: "b", Protocol: publish.TCP, Number: 2}}
	w.state.Service.Ports = []publish.ServicePort{{Name: "a", Protocol: publish.TCP, Port: 1}, {Name: "b", Protocol: publish.TCP, Port: 2}}
	w.publish(append(numbered(1, 19), ready(v6(1), v6(2))...))
	w.state.Refused = []publish.Refusal{{Name: "web-remote-6"}, {Name: "web-remote-7"}}
	// An address in two slices: the order could decide which slice keeps it.
	w.state.Slices[4].Endpoints = sorted(append(w.state.Slices[4].Endpoints, w.state.Slices[0].Endpoints[0]))
	members := append(numbered(1, 30), ready(v6(2), v6(3))...)
	desired, _ := publish.Desired(members, w.state, w.target)
	writes := publish.Diff(w.state.Slices, desired)
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		members = slices.Clone(members) // desired shares it
		shuffle(random, members)
		shuffle(random, w.state.Slices)
		shuffle(random, w.state.Refused)
		shuffle(random, w.target.Ports)
		shuffle(random, w.state.Service.Ports)
		again, _ := publish.Desired(members, w.state, w.target)
		if diff := cmp.Diff(desired, again, compareAddrs()); diff != "" {
			t.Fatalf("desired slices (-one order +another):\n%s", diff)
		}
		if diff := cmp.Diff(writes, publish.Diff(w.state.Slices, again), compareAddrs()); diff != "" {
			t.Fatalf("writes (-one order +another):\n%s", diff)
		}
	}
}

func shuffle[T any](random *rand.Rand, list []T) {
	random.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
}

func TestContract17AMemberListedTwiceIsPublishedOnceInTheStateThatServesMore(t *testing.T) {
	down, ready := numbered(1, 1)[0], numbered(1, 1)[0]
	down.State = inventory.StateDown
	for _, members := range [][]inventory.Member{{down, ready}, {ready, down}} {
		w := newWorld(100)
		w.publish(members)
		if diff := cmp.Diff([]inventory.Member{ready}, w.published(), compareAddrs()); diff != "" {
			t.Errorf("published (-want +got):\n%s", diff)
		}
	}
}

func TestContract18TheDiffOfAStateAgainstItselfIsEmpty(t *testing.T) {
	w := newWorld(10)
	w.publish(append(numbered(1, 25), ready(v6(1))...))
	w.publish(numbered(1, 5)) // leaves surplus slices that are empty
	w.state.Slices[0].Drift = "a label is missing"
	if writes := publish.Diff(w.state.Slices, w.state.Slices); len(writes) != 0 {
		t.Errorf("got writes %v, want none", writes)
	}
}

func TestContract18And22ASecondPassWritesNothing(t *testing.T) {
	w := newWorld(10)
	w.publish(append(numbered(1, 25), ready(v6(1))...))
	if writes := w.plan(append(numbered(1, 25), ready(v6(1))...)); len(writes) != 0 {
		t.Errorf("got writes %v, want none", writes)
	}
}

func TestContract18AChangeToOneMemberTouchesOneSliceAndTheRestStay(t *testing.T) {
	flip := func(members []inventory.Member) []inventory.Member {
		members[17].State = inventory.StateDown
		return members
	}
	zone := func(members []inventory.Member) []inventory.Member { members[17].Zone = "z"; return members }
	replace := func(members []inventory.Member) []inventory.Member { members[17] = ready(v4(100))[0]; return members }
	remove := func(members []inventory.Member) []inventory.Member { return without(members, 17) }
	add := func(members []inventory.Member) []inventory.Member { return append(members, ready(v4(100))...) }
	tests := []struct {
		name   string
		change func([]inventory.Member) []inventory.Member
		want   publish.Write
	}{
		{"flipped", flip, publish.Write{Changed: []netip.Addr{v4(18)}}},
		{"moved to another zone", zone, publish.Write{Changed: []netip.Addr{v4(18)}}},
		{"replaced", replace, publish.Write{Added: []netip.Addr{v4(100)}, Removed: []netip.Addr{v4(18)}}},
		{"removed", remove, publish.Write{Removed: []netip.Addr{v4(18)}}},
		{"added", add, publish.Write{Added: []netip.Addr{v4(100)}}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(10)
			w.publish(numbered(1, 28)) // 10, 10 and 8
			members := test.change(numbered(1, 28))
			writes := w.publish(members)
			if len(writes) != 1 {
				t.Fatalf("got %d writes %v, want 1", len(writes), writes)
			}
			got := publish.Write{Added: writes[0].Added, Removed: writes[0].Removed, Changed: writes[0].Changed}
			if diff := cmp.Diff(test.want, got, compareAddrs()); diff != "" {
				t.Errorf("write (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(sorted(members), w.published(), compareAddrs()); diff != "" {
				t.Errorf("published (-want +got):\n%s", diff)
			}
		})
	}
}

func TestContract19FamiliesHaveSlicesOfTheirOwnAndZonesAreKept(t *testing.T) {
	w := newWorld(2)
	members := append(ready(v6(2), v6(1), v6(3)), numbered(1, 3)...)
	members[0].Zone = "zone-1"
	w.publish(members)
	type slice struct {
		Name      string
		Family    publish.Family
		Endpoints []inventory.Member
	}
	want := []slice{
		{"web-remote", publish.IPv4, numbered(1, 2)},
		{"web-remote-2", publish.IPv4, numbered(3, 3)},
		{"web-remote-ipv6", publish.IPv6, []inventory.Member{members[1], members[0]}},
		{"web-remote-ipv6-2", publish.IPv6, ready(v6(3))},
	}
	var got []slice
	for _, s := range w.state.Slices {
		got = append(got, slice{s.Name, s.Family, s.Endpoints})
	}
	if diff := cmp.Diff(want, got, compareAddrs()); diff != "" {
		t.Errorf("slices (-want +got):\n%s", diff)
	}
}

func TestContract20TheOwnerIsTheServiceAsItIsNow(t *testing.T) {
	w := newWorld(2)
	w.publish(numbered(1, 3))
	w.state.Service.UID = "uid-2"
	writes := w.publish(numbered(1, 3))
	if len(writes) != 2 {
		t.Errorf("got writes %v, want both slices", writes)
	}
	for _, write := range writes {
		if write.Slice.Owner != "uid-2" || len(write.Added)+len(write.Removed)+len(write.Changed) != 0 {
			t.Errorf("got %+v, want the new owner and the same endpoints", write)
		}
	}
}

func TestContract23DriftForcesAWriteOfThatSliceAlone(t *testing.T) {
	w := newWorld(2)
	w.publish(numbered(1, 6))
	w.state.Slices[1].Drift = "the conditions of 10.0.0.3 are not ours"
	writes := w.publish(numbered(1, 6))
	if len(writes) != 1 || writes[0].Slice.Name != "web-remote-2" || writes[0].Slice.Drift != "" {
		t.Errorf("got writes %+v, want one of web-remote-2 without drift", writes)
	}
}

func TestContract23ForeignEndpointsAreRemovedAndLostSlicesMadeAnew(t *testing.T) {
	w := newWorld(2)
	w.publish(numbered(1, 6))
	w.state.Slices[0].Endpoints = append(w.state.Slices[0].Endpoints, ready(v4(666), v6(1))...)
	w.state.Slices = append(w.state.Slices[:1], w.state.Slices[2])
	w.publish(numbered(1, 6))
	if diff := cmp.Diff(numbered(1, 6), w.published(), compareAddrs()); diff != "" {
		t.Errorf("published (-want +got):\n%s", diff)
	}
	if got := w.state.Slices[1].Name; len(w.state.Slices) != 3 || got != "web-remote-2" {
		t.Errorf("got %d slices, the second of which is %s; want the lost one back", len(w.state.Slices), got)
	}
}

func TestContract24SurplusSlicesAreEmptiedAndUsedAgain(t *testing.T) {
	w := newWorld(2)
	w.publish(numbered(1, 6))
	w.publish(nil)
	if len(w.state.Slices) != 3 || w.holding(publish.IPv4) != 0 {
		t.Errorf("got %v, want three empty slices", w.state.Slices)
	}
	w.publish(numbered(11, 14))
	if len(w.state.Slices) != 3 || w.holding(publish.IPv4) != 2 {
		t.Errorf("got %v, want two of the three in use", w.state.Slices)
	}
}
