package publish_test

import (
	"maps"
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// machine is the world in which anything may happen between two passes, and
// crashes and refused writes within one.
type machine struct {
	*world
	members map[netip.Addr]inventory.Member
}

func TestContract18And23And25HoldWhateverHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &machine{world: newWorld(rapid.IntRange(1, 6).Draw(t, "max")), members: map[netip.Addr]inventory.Member{}}
		t.Repeat(map[string]func(*rapid.T){
			"join":      m.join,
			"leave":     m.leave,
			"flip":      m.flip,
			"max":       func(t *rapid.T) { m.target.MaxEndpoints = rapid.IntRange(1, 6).Draw(t, "max") },
			"service":   m.trouble,
			"refuse":    m.refuse,
			"release":   func(*rapid.T) { m.state.Refused = nil },
			"lose":      m.lose,
			"drift":     m.drift,
			"duplicate": m.duplicate,
			"crash":     m.crash,
			"pass":      m.pass,
		})
	})
}

func (m *machine) join(t *rapid.T) {
	for _, n := range rapid.SliceOfN(rapid.IntRange(1, 40), 1, 12).Draw(t, "joins") {
		addr := v4(n)
		if n > 30 {
			addr = v6(n)
		}
		m.members[addr] = ready(addr)[0]
	}
}

func (m *machine) leave(t *rapid.T) {
	for _, addr := range m.some(t) {
		delete(m.members, addr)
	}
}

func (m *machine) flip(t *rapid.T) {
	for _, addr := range m.some(t) {
		member := m.members[addr]
		member.State = rapid.SampledFrom([]inventory.State{inventory.StateReady, inventory.StateDraining, inventory.StateDown}).Draw(t, "state")
		member.Zone = rapid.SampledFrom([]string{"", "z"}).Draw(t, "zone")
		m.members[addr] = member
	}
}

// some draws some of the endpoints, from one to all of them.
func (m *machine) some(t *rapid.T) []netip.Addr {
	addrs := slices.SortedFunc(maps.Keys(m.members), netip.Addr.Compare)
	if len(addrs) == 0 {
		t.Skip("there is no member")
	}
	return rapid.SliceOfNDistinct(rapid.SampledFrom(addrs), 1, len(addrs), rapid.ID[netip.Addr]).Draw(t, "some")
}

// trouble draws a Service that cannot be filled, or repairs it.
func (m *machine) trouble(t *rapid.T) {
	kinds := troubles()
	name := rapid.SampledFrom(append(slices.Sorted(maps.Keys(kinds)), "none", "none", "none")).Draw(t, "trouble")
	m.state.Service = service()
	if name != "none" {
		m.state.Service = kinds[name].service
	}
	m.state.Service.PublishNotReady = rapid.Bool().Draw(t, "publishNotReady")
	if ports := slices.Clone(m.state.Service.Ports); len(ports) > 0 {
		ports[0].AppProtocol = rapid.SampledFrom([]string{"", "http"}).Draw(t, "appProtocol")
		m.state.Service.Ports = ports
	}
}

// refuse makes a name unavailable, as if another program owned it. A slice of that
// name goes.
func (m *machine) refuse(t *rapid.T) {
	family := rapid.SampledFrom([]publish.Family{publish.IPv4, publish.IPv6}).Draw(t, "family")
	name := m.target.NameOf(family, rapid.IntRange(1, 5).Draw(t, "number"))
	m.state.Refused = append(m.state.Refused, publish.Refusal{Name: name})
	m.state.Slices = slices.DeleteFunc(slices.Clone(m.state.Slices), func(s publish.Slice) bool { return s.Name == name })
}

// slice draws one of the slices; changing it changes the state.
func (m *machine) slice(t *rapid.T) int {
	if len(m.state.Slices) == 0 {
		t.Skip("there is no slice")
	}
	m.state.Slices = slices.Clone(m.state.Slices)
	return rapid.IntRange(0, len(m.state.Slices)-1).Draw(t, "slice")
}

func (m *machine) lose(t *rapid.T) {
	i := m.slice(t)
	m.state.Slices = slices.Delete(m.state.Slices, i, i+1)
}

func (m *machine) drift(t *rapid.T) { m.state.Slices[m.slice(t)].Drift = "drift" }

// duplicate copies an address into a slice, as another client or a crash does.
func (m *machine) duplicate(t *rapid.T) {
	s := &m.state.Slices[m.slice(t)]
	addr := v4(rapid.IntRange(1, 40).Draw(t, "address"))
	if s.Family == publish.IPv4 && !slices.ContainsFunc(s.Endpoints, func(e inventory.Member) bool { return e.Address == addr }) {
		s.Endpoints = sorted(append(slices.Clone(s.Endpoints), ready(addr)...))
	}
}

// crash does a pass of which some writes fail, and then stops at any place.
func (m *machine) crash(t *rapid.T) {
	writes := m.planned(t)
	failed := map[string]bool{}
	for _, write := range writes[:rapid.IntRange(0, len(writes)).Draw(t, "writes")] {
		waits := slices.ContainsFunc(write.After, func(name string) bool { return failed[name] })
		if waits || rapid.IntRange(0, 3).Draw(t, "fails") == 0 {
			failed[write.Slice.Name] = true
			continue
		}
		m.applyChecked(t, write)
	}
}

// pass does a whole pass and checks what it leads to.
func (m *machine) pass(t *rapid.T) {
	before := m.addresses()
	for _, write := range m.planned(t) {
		m.applyChecked(t, write)
	}
	if again := m.planned(t); len(again) != 0 {
		t.Fatalf("a second pass writes %+v, want nothing", again)
	}
	_, problem := publish.Desired(m.wanted(), m.state, m.target)
	m.checkSlices(t, problem)
	switch problem.Kind {
	case publish.ServiceMissing:
		if after := m.addresses(); !maps.Equal(before, after) {
			t.Fatalf("there is no Service and the slices changed from %v to %v", before, after)
		}
	case "":
		if got, want := m.published(), m.wanted(); !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	case publish.ServiceDeleting, publish.ServiceHasSelector, publish.ServiceExternalName, publish.PortMismatch:
		m.checkBlocked(t)
	}
}

// checkBlocked checks what holds while no slice may be made: what is published is
// right, and what is not found no room.
func (m *machine) checkBlocked(t *rapid.T) {
	published := m.published()
	for _, member := range published {
		if m.members[member.Address] != member {
			t.Fatalf("%v is published, want %v", member, m.members[member.Address])
		}
	}
	for addr := range m.members {
		if slices.ContainsFunc(published, func(p inventory.Member) bool { return p.Address == addr }) {
			continue
		}
		for _, s := range m.state.Slices {
			if s.Family == publish.FamilyOf(addr) && len(s.Endpoints) < m.target.MaxEndpoints {
				t.Fatalf("%s is not published although %s has room", addr, s.Name)
			}
		}
	}
}

// checkSlices checks what holds of the slices after every pass.
func (m *machine) checkSlices(t *rapid.T, problem publish.Problem) {
	if problem.Kind == publish.ServiceMissing {
		return
	}
	count := map[publish.Family]int{}
	for addr := range m.members {
		count[publish.FamilyOf(addr)]++
	}
	for _, family := range []publish.Family{publish.IPv4, publish.IPv6} {
		if got, most := m.holding(family), 2*slicesFor(count[family], m.target.MaxEndpoints); got > most {
			t.Fatalf("%d slices hold %d endpoints of %s, want at most %d", got, count[family], family, most)
		}
	}
	for _, s := range m.state.Slices {
		family, number, ok := m.target.ParseName(s.Name)
		if !ok || s.Family != family || m.target.NameOf(family, number) != s.Name || s.Owner != m.state.Service.UID || s.Drift != "" {
			t.Fatalf("slice %+v is not as it should be", s)
		}
		if problem.Kind == "" && len(s.Endpoints) > m.target.MaxEndpoints {
			t.Fatalf("slice %s holds %d endpoints, want at most %d", s.Name, len(s.Endpoints), m.target.MaxEndpoints)
		}
		if !slices.IsSortedFunc(s.Endpoints, inventory.CompareMembers) ||
			slices.ContainsFunc(s.Endpoints, func(e inventory.Member) bool { return publish.FamilyOf(e.Address) != family }) {
			t.Fatalf("slice %s holds %v, want sorted addresses of %s", s.Name, s.Endpoints, family)
		}
	}
}

// planned returns the writes that lead to the wanted endpoints. It checks that each
// write is allowed and that the plan did not change its input.
func (m *machine) planned(t *rapid.T) []publish.Write {
	members, state := m.wanted(), clone(m.state)
	desired, problem := publish.Desired(members, m.state, m.target)
	writes := publish.Diff(m.state.Slices, desired)
	if !slices.Equal(members, m.wanted()) || !slices.EqualFunc(state.Slices, m.state.Slices, equal) {
		t.Fatalf("the input changed: from %v to %v", state.Slices, m.state.Slices)
	}
	for _, write := range writes {
		if write.Operation == publish.Create && problem.Kind != "" {
			t.Fatalf("%s is created although %s", write.Slice.Name, problem.Message)
		}
		if len(write.After) > 0 && len(write.Added) > 0 {
			t.Fatalf("%s waits for %v and gains %v: writes could wait for each other", write.Slice.Name, write.After, write.Added)
		}
		if slices.ContainsFunc(m.state.Refused, func(r publish.Refusal) bool { return r.Name == write.Slice.Name }) {
			t.Fatalf("%s is written, which is not ours to touch", write.Slice.Name)
		}
	}
	return writes
}

// applyChecked does one write, which may take away nothing that is wanted.
func (m *machine) applyChecked(t *rapid.T, write publish.Write) {
	before := m.addresses()
	m.apply(write)
	after := m.addresses()
	for addr := range before {
		if _, wanted := m.members[addr]; wanted && after[addr] == 0 {
			t.Fatalf("%s is in no slice after the write of %s", addr, write.Slice.Name)
		}
	}
}

// addresses counts in how many slices each address is.
func (m *machine) addresses() map[netip.Addr]int {
	count := map[netip.Addr]int{}
	for _, member := range m.published() {
		count[member.Address]++
	}
	return count
}

// wanted returns the wanted endpoints, sorted.
func (m *machine) wanted() []inventory.Member {
	return slices.SortedFunc(maps.Values(m.members), inventory.CompareMembers)
}

// equal reports whether two slices are the same in every field.
func equal(a, b publish.Slice) bool {
	return a.Name == b.Name && a.Family == b.Family && a.Owner == b.Owner && a.Version == b.Version && a.Drift == b.Drift &&
		slices.Equal(a.Ports, b.Ports) && slices.Equal(a.Endpoints, b.Endpoints)
}
