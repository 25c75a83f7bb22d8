package writer_test

import (
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer"
)

// TestContract26HoldsWhateverHappens: requests take long, fail, or land without an
// answer, other clients write, and decisions come at any time. When all that ends,
// the slices are as decided.
func TestContract26HoldsWhateverHappens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMachine(t)
		t.Repeat(map[string]func(*rapid.T){
			"decide":  func(*rapid.T) { m.decide() },
			"decide2": func(*rapid.T) { m.decide() },
			"decide3": func(*rapid.T) { m.decide() },
			"edit":    func(*rapid.T) { m.edit() },
			"max":     func(*rapid.T) { m.limit() },
			"forbid":  func(t *rapid.T) { m.forbidden = byte(rapid.IntRange(0, 10).Draw(t, "forbidden")) },
			"": func(t *rapid.T) {
				m.run(time.Duration(rapid.SampledFrom([]int{0, 1, 30, 300, 3000, 30_000}).Draw(t, "time")) * time.Millisecond)
			},
		})
		m.calm = true
		m.run(10 * time.Minute)
		m.checkLost()
		m.forbidden = 0
		m.run(time.Hour)
		m.checkConverged()
	})
}

// decide makes a new decision: some addresses come, go or change.
func (m *machine) decide() {
	members := slices.Clone(m.members)
	for range rapid.IntRange(1, 6).Draw(m.t, "changes") {
		addr := netip.AddrFrom4([4]byte{10, 0, 0, byte(rapid.IntRange(1, 10).Draw(m.t, "address"))})
		if rapid.IntRange(0, 9).Draw(m.t, "family") == 0 {
			addr = netip.AddrFrom16([16]byte{0: 0xfd, 15: byte(rapid.IntRange(1, 3).Draw(m.t, "v6"))})
		}
		members = slices.DeleteFunc(members, func(o inventory.Member) bool { return o.Address == addr })
		state := rapid.SampledFrom([]inventory.State{
			inventory.StateReady, inventory.StateReady, inventory.StateReady, inventory.StateDown, inventory.StateDraining, inventory.Absent,
		}).Draw(m.t, "state")
		if state != inventory.Absent {
			members = append(members, inventory.Member{Address: addr, State: state})
		}
	}
	slices.SortFunc(members, inventory.CompareMembers)
	for _, o := range slices.Concat(m.members, members) {
		if inventory.StateOf(m.members, o.Address) == inventory.Absent || inventory.StateOf(members, o.Address) == inventory.Absent {
			m.left[o.Address] = m.now
		}
	}
	m.members = members
	m.pass()
	m.runDue()
}

// limit changes how many endpoints a slice may hold. What a slice holds beyond
// that is left out of what checkLanded checks: where an endpoint is published
// twice besides, plan may fill the room of the other copy before it has moved.
func (m *machine) limit() {
	if rapid.IntRange(0, 4).Draw(m.t, "rarely") > 0 {
		return
	}
	m.target.MaxEndpoints = rapid.IntRange(1, 4).Draw(m.t, "max")
	for _, s := range slices.Concat(m.store, m.box.Planned(m.known)) {
		for _, e := range s.Endpoints {
			if len(s.Endpoints) > m.target.MaxEndpoints {
				m.foreign[e.Address] = true
			}
		}
	}
	m.pass()
	m.runDue()
}

// edit changes a slice as another client would, and announces it.
func (m *machine) edit() {
	if len(m.store) == 0 || rapid.IntRange(0, 2).Draw(m.t, "rarely") > 0 {
		return
	}
	m.disturbed = true
	slice := rapid.SampledFrom(m.store).Draw(m.t, "slice")
	before := slice.Endpoints
	switch rapid.SampledFrom([]string{"label", "delete", "take", "copy", "state"}).Draw(m.t, "edit") {
	case "label":
		m.put(slice)
	case "delete":
		m.store = slices.DeleteFunc(slices.Clone(m.store), func(o publish.Slice) bool { return o.Name == slice.Name })
	case "take":
		if len(slice.Endpoints) > 0 {
			slice.Endpoints = slice.Endpoints[1:]
			m.put(slice)
		}
	case "copy":
		other := rapid.SampledFrom(m.store).Draw(m.t, "other")
		if other.Family == slice.Family {
			slice.Endpoints = slices.Clone(other.Endpoints)
			m.put(slice)
		}
	case "state":
		slice.Endpoints = slices.Clone(slice.Endpoints)
		for i := range slice.Endpoints {
			slice.Endpoints[i].State = inventory.StateDown
		}
		m.put(slice)
	}
	i := slices.IndexFunc(m.store, func(o publish.Slice) bool { return o.Name == slice.Name })
	for _, e := range before { // maybe not the only copy, but one that was relied upon
		if i < 0 || m.store[i].StateOf(e.Address) == inventory.Absent {
			m.foreign[e.Address] = true
		}
	}
	// What another client changes may be repaired late. It may also take away copies
	// that a write relied on.
	for _, r := range m.flying {
		for _, addr := range slices.Concat(r.write.Removed, r.write.Added) {
			m.foreign[addr] = true
		}
	}
	m.wanted = true
	m.runDue()
}

// checkSend checks one write that is sent now.
func (m *machine) checkSend(w publish.Write) {
	name := w.Slice.Name
	if m.now.Sub(m.planned) > writer.Fresh {
		m.t.Fatalf("%s is sent from a diff of %s ago", name, m.now.Sub(m.planned))
	}
	failing := 0
	for _, r := range m.flying {
		if r.write.Slice.Name == name {
			m.t.Fatalf("two requests of %s at once", name)
		}
		if m.fails(r.write.Slice.Name) {
			failing++
		}
	}
	if len(m.flying) >= m.lanes || m.fails(name) && failing >= 2 || m.single && len(m.flying) > 0 && m.now.Before(m.out) {
		m.t.Fatalf("%s is sent beside %d others, %d of which failed before; outage: %t", name, len(m.flying), failing, m.single)
	}
	if sent := m.sent[name]; len(sent) >= 5 && m.now.Sub(sent[len(sent)-5]) < time.Second {
		m.t.Fatalf("the sixth write of %s within %s", name, m.now.Sub(sent[len(sent)-5]))
	}
	// It is the newest diff that says what is urgent.
	if m.rank(w) > 0 && !m.awaited[name] && !m.losses[name] {
		for _, loss := range m.diff() {
			if m.losses[loss.Slice.Name] && m.free(loss) {
				m.t.Fatalf("%s is sent before the loss in %s", name, loss.Slice.Name)
			}
		}
	}
}

// fails reports whether the last request of the slice failed, where a conflict
// after a success is no failure.
func (m *machine) fails(name string) bool {
	err := m.errs[name]
	return err != nil && !errors.Is(err, publish.ErrConflict) && !errors.Is(err, publish.ErrUnavailable)
}

// remember notes what came of a request.
func (m *machine) remember(r *request) {
	name := r.write.Slice.Name
	m.single = errors.Is(r.err, publish.ErrUnavailable)
	m.errs[name] = r.err
	if r.version != "" {
		m.errs[name] = nil // it landed, and the next read shows that
	}
	if r.err != nil {
		m.delays[name] = m.now.Add(15 * time.Second)
	}
	if m.single {
		m.out = m.now.Add(15 * time.Second)
	}
}

// rank is 0 for a write that takes away what must not get traffic any more, and gets
// it by this slice.
func (m *machine) rank(w publish.Write) int {
	own := slices.DeleteFunc(slices.Clone(m.known), func(s publish.Slice) bool { return s.Name != w.Slice.Name })
	have := publishedIn(own)
	for _, addr := range slices.Concat(w.Changed, w.Removed) {
		if want := inventory.StateOf(m.members, addr); (want == inventory.Absent || want == inventory.StateDown) &&
			(have[addr] == inventory.StateReady || have[addr] == inventory.StateDraining) {
			return 0
		}
	}
	return 1
}

// free reports whether the write is a loss that nothing may delay.
func (m *machine) free(w publish.Write) bool {
	name := w.Slice.Name
	if m.rank(w) > 0 || len(w.After) > 0 || len(w.Added) > 0 || m.now.Before(m.delays[name]) || m.now.Before(m.out) || m.single {
		return false
	}
	if sent := m.sent[name]; len(sent) > 0 && m.now.Sub(sent[len(sent)-1]) < 5*time.Minute {
		return false // the bucket, an edit war, or it is in flight
	}
	for _, p := range m.box.Planned(m.known) { // in flight, or of unknown outcome
		if slices.ContainsFunc(w.Removed, func(a netip.Addr) bool { return p.StateOf(a) != inventory.Absent }) &&
			p.Name != name && !slices.ContainsFunc(m.known, p.Same) {
			return false
		}
	}
	// Something else is ready, whatever comes of what is under way.
	for _, s := range m.known {
		busy := slices.ContainsFunc(m.box.Planned(m.known), func(p publish.Slice) bool { return p.Name == s.Name && !p.Same(s) })
		if s.Name == name || s.Family != w.Slice.Family || busy {
			continue
		}
		if slices.ContainsFunc(s.Endpoints, func(e inventory.Member) bool { return e.State == inventory.StateReady }) {
			return true
		}
	}
	return false
}

// checkLosses: with a lane free, no loss waits.
func (m *machine) checkLosses() {
	if len(m.flying) >= m.lanes {
		return
	}
	for _, w := range m.diff() {
		if m.losses[w.Slice.Name] && m.free(w) {
			m.t.Fatalf("the loss in %s waits for nothing", w.Slice.Name)
		}
	}
}

// checkLanded: what every decision since the write was sent publishes is in some
// slice.
func (m *machine) checkLanded(before map[netip.Addr]inventory.State, r *request) {
	after := publishedIn(m.store)
	for addr := range before {
		if after[addr] == inventory.Absent && !m.foreign[addr] && m.left[addr].Before(r.sent) &&
			inventory.StateOf(m.members, addr) != inventory.Absent {
			m.t.Fatalf("%s is in no slice after %+v", addr, r.write)
		}
	}
}

// checkLost: what the server forbids to add holds up nothing that is lost, unless a
// family had nothing ready without it (contract 222).
func (m *machine) checkLost() {
	want := func(addr netip.Addr) inventory.State { return inventory.StateOf(m.members, addr) }
	for _, s := range m.store {
		for _, e := range s.Endpoints {
			others := slices.DeleteFunc(publishedMembers(m.store), func(o inventory.Member) bool {
				return publish.FamilyOf(o.Address) != s.Family || o.State != inventory.StateReady || want(o.Address) != inventory.StateReady
			})
			if len(others) > 0 && (want(e.Address) == inventory.Absent || e.State < want(e.Address)) {
				m.t.Fatalf("%s is %s in %s, want %s; %d is forbidden, store %+v", e.Address, e.State, s.Name, want(e.Address), m.forbidden, m.store)
			}
		}
	}
}

// checkConverged: the slices are as decided, and nothing is left to do.
func (m *machine) checkConverged() {
	desired, _ := publish.Desired(m.members, m.state(m.store), m.target)
	if writes := publish.Diff(m.store, desired); len(writes) > 0 {
		m.t.Fatalf("still to write after an hour: %+v\nknown %+v\nstore %+v", writes, m.known, m.store)
	}
	if err, pending := m.box.Err(), m.box.Pending(); err != nil || pending > 0 {
		m.t.Fatalf("got error %v and %d pending although all is as decided", err, pending)
	}
	if wake := m.box.Wake(m.now); !wake.IsZero() || m.box.Unread() || m.box.Underway() {
		m.t.Fatalf("got a wake at %s, to read %t, under way %t although nothing is left", wake, m.box.Unread(), m.box.Underway())
	}
}

// publishedIn is what slices publish, by address.
func publishedIn(all []publish.Slice) map[netip.Addr]inventory.State {
	states := map[netip.Addr]inventory.State{}
	for _, member := range publishedMembers(all) {
		states[member.Address] = member.State
	}
	return states
}

func publishedMembers(all []publish.Slice) []inventory.Member {
	return slices.Clone(publish.Published(publish.State{Slices: all}))
}
