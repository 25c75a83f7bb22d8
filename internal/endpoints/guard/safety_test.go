package guard_test

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"pgregory.net/rapid"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// decide lets guard and model decide, compares them, and checks the promises
// that need no model of the decision.
func (m *machine) decide(t *rapid.T, read *guard.Inventory) {
	t.Helper()
	mode, before := guard.Publish, m.verdict.Members
	facts := map[bool]map[netip.Addr]record{}
	for is4, family := range m.models {
		family.now = m.now
		if read != nil {
			family.see(ofFamily(*read, is4))
		}
		family.bury()
		facts[is4] = map[netip.Addr]record{}
		for a, r := range family.records {
			facts[is4][a] = *r
		}
		mode = max(mode, family.decide())
	}
	in := guard.Input{Now: m.now, Read: read, Health: m.health, Memory: m.verdict.Memory}
	m.verdict = decideLawfully(t, in, m.policy)
	if got, want := statesOf(m.verdict.Published(guard.WorkByFamily{}, m.recovered)), statesOf(m.verdict.Members); got != want {
		t.Fatalf("one target of one pool gets %q, want %q", got, want)
	}
	m.joinedUnproved = joinedUnproved(in, m.verdict)
	m.asked = append(m.asked, m.verdict.Asks...)
	m.asked = m.asked[max(0, len(m.asked)-30):]
	if got, want := statesOf(m.verdict.Members), m.modelStates(); got != want || m.verdict.Mode != mode {
		t.Fatalf("got %q and mode %s of %q, the model says %q and %s", got, m.verdict.Mode, statesOf(before), want, mode)
	}
	if got, want := namesOf(m.verdict.Accepted), m.modelAccepted(); got != want || (got == "") != (m.verdict.AcceptedMessage == "") {
		t.Fatalf("got accepted %q (%s), the model says %q", got, m.verdict.AcceptedMessage, want)
	}
	for is4, family := range m.models {
		m.checkSafety(t, facts[is4], family.open)
		if read == nil {
			m.checkHealthAloneEmptiesNothing(t, facts[is4])
		}
	}
	if !m.broken {
		m.written = m.verdict.Members
	}
	m.forgetUnwatched()
}

// ofFamily returns the part of a read that is about one family.
func ofFamily(read guard.Inventory, is4 bool) guard.Inventory {
	foreign := func(c inventory.Candidate) bool { return c.Address.Is4() != is4 }
	read.Candidates = slices.DeleteFunc(slices.Clone(read.Candidates), foreign)
	read.Ineligible = slices.DeleteFunc(slices.Clone(read.Ineligible), foreign)
	return read
}

// forgetUnwatched drops the streaks of addresses that are not probed any more.
func (m *machine) forgetUnwatched() {
	var watched []netip.Addr
	for _, w := range m.verdict.Watch {
		watched = append(watched, w.Address)
	}
	m.health = m.health.Only(watched)
}

// modelStates renders what the models publish.
func (m *machine) modelStates() string {
	var words []string
	for _, name := range m.names {
		if r, ok := m.models[addr(name).Is4()].records[addr(name)]; ok && r.member() {
			words = append(words, name+"="+r.state.String())
		}
	}
	return strings.Join(words, " ")
}

// modelAccepted renders what the models let rejected inventories take away.
func (m *machine) modelAccepted() string {
	var names []string
	for _, name := range m.names {
		if m.models[addr(name).Is4()].accepted[addr(name)] {
			names = append(names, name)
		}
	}
	return strings.Join(names, " ")
}

// namesOf renders addresses.
func namesOf(addresses []netip.Addr) string {
	names := make([]string, len(addresses))
	for i, a := range addresses {
		names[i] = nameOf(a)
	}
	return strings.Join(names, " ")
}

// state returns what is published of an address.
func (m *machine) state(a netip.Addr) inventory.State {
	for _, member := range m.verdict.Members {
		if member.Address == a {
			return member.State
		}
	}
	return inventory.Absent
}

// checkSafety checks, for one family, the sentence that decides every doubt: a
// working backend is never taken away, and a dead one goes.
func (m *machine) checkSafety(t *rapid.T, facts map[netip.Addr]record, open bool) {
	t.Helper()
	n, silent, works, ready, confirmed := 0, 0, false, false, false
	for a, r := range facts {
		works = works || r.there() && m.works(a, r)
		confirmed = confirmed || r.there() && (m.policy.HealthOff || r.passes > 0 && !r.strange())
		ready = ready || m.works(a, r) && m.state(a) == inventory.StateReady
	}
	for _, r := range facts {
		enters := r.there() && r.passes > 0 && !r.strange()
		lossy := r.place == kept && !r.silent && r.unheard(m.now, m.policy)
		if (r.member() || enters) && !r.buried && (r.there() || lossy || !confirmed && (r.place == kept || r.known())) {
			n++
			silent += map[bool]int{true: 1}[r.unheard(m.now, m.policy)]
		}
	}
	cut := silent > min(n-1, n*m.policy.MaxSilentPercent/100)
	for a, r := range facts {
		now, uncounted := m.state(a), cut && r.silent && !r.buried // unless no replica reaches it
		accepted := slices.Contains(m.verdict.Accepted, a)
		drained := (r.place == gone || accepted) && m.now.Sub(r.goneAt) >= m.policy.DrainPeriod
		drained = drained && (r.state != inventory.StateReady || m.policy.DrainPeriod == 0)
		draining := r.place == gone || r.announced || accepted || r.place == unread && r.leaves
		switch {
		case !r.serving():
		case m.works(a, r) && (now == inventory.StateDown || now == inventory.Absent && !drained || now == inventory.StateDraining && !draining):
			t.Fatalf("S1: %s works, but went from %s to %s", nameOf(a), r.state, now)
		case r.there() && r.state == inventory.StateReady && r.fails > 0 && uncounted && !r.missedAt.After(r.reachedAt) && now != inventory.StateReady:
			t.Fatalf("S2: %d of %d are silent, but %s went to %s", silent, n, nameOf(a), now)
		case r.here() && r.counted() >= m.policy.Fall && (r.counted() > 1 || m.now.Sub(r.at) >= m.policy.AnswerWait) && !r.strange() && !uncounted && ready && !open && now == inventory.StateReady:
			t.Fatalf("S4: %s failed %d times while others pass, but is %s", nameOf(a), r.counted(), now)
		case m.works(a, r) && now == inventory.Absent && !confirmed && !m.policy.HealthOff && !accepted:
			t.Fatalf("S7: %s works and nothing present does, but it was removed", nameOf(a))
		case m.works(a, r) && r.place == kept && now == inventory.Absent && !(accepted && m.policy.DrainPeriod == 0):
			t.Fatalf("S8: %s works, and a rejected inventory removed it", nameOf(a))
		}
	}
}

// works reports whether the backend serves, and the prober has seen it.
func (m *machine) works(a netip.Addr, r record) bool {
	b := m.backends[nameOf(a)]
	return b.alive && (m.policy.HealthOff || !b.cut && r.passes > 0 && !r.strange())
}

// checkHealthAloneEmptiesNothing is S3, for decisions without a read.
func (m *machine) checkHealthAloneEmptiesNothing(t *rapid.T, facts map[netip.Addr]record) {
	t.Helper()
	there, served, serves := false, false, false
	for a, r := range facts {
		there = there || r.here()
		served = served || r.serving()
		serves = serves || m.state(a) == inventory.StateReady || m.state(a) == inventory.StateDraining
		if r.here() && r.member() && m.state(a) == inventory.Absent {
			t.Fatalf("S3: health alone removed %s, which is present or kept", nameOf(a))
		}
	}
	if m.policy.FailOpen && there && served && !serves {
		t.Fatalf("S3: nothing serves any more")
	}
}

// calm ends all faults, lets time pass, and checks S5: what is published becomes
// right and stays so.
func (m *machine) calm(t *rapid.T) {
	m.broken = false
	for _, b := range m.backends {
		b.cut, b.mute, b.leaving = false, false, false
		b.alive = b.alive && b.listed
	}
	for range m.policy.Threshold + 3 {
		listed := m.inventoryOf(m.names)
		m.decide(t, &guard.Inventory{Nodes: len(listed), Candidates: listed, Scheduled: true})
		for range m.policy.Fall + m.policy.Rise {
			m.now = m.now.Add(m.policy.Interval)
			m.batch(t)
		}
		m.now = m.now.Add(m.policy.DrainPeriod)
		m.decide(t, nil)
	}
	stable := statesOf(m.verdict.Members)
	m.batch(t)
	if got := statesOf(m.verdict.Members); got != stable {
		t.Fatalf("S5: the calm world still moves, from %q to %q", stable, got)
	}
	mode := guard.Publish
	for is4, family := range m.models {
		mode = max(mode, m.checkStable(t, is4, family))
	}
	if m.verdict.Mode > mode {
		t.Fatalf("S5: got mode %s in a calm world, want %s", m.verdict.Mode, mode)
	}
}

// still lets the world be as it is, whatever it has come to, while the source says the same again
// and again.
func (m *machine) still(t *rapid.T) {
	t.Helper()
	settles(t, func() []inventory.Member { return m.verdict.Members }, func() {
		listed := m.inventoryOf(m.names)
		m.decide(t, &guard.Inventory{Nodes: len(listed), Candidates: listed, Scheduled: true})
		m.batch(t)
		m.now = m.now.Add(m.policy.Interval)
	})
}

// settles repeats what changes nothing in the world: each check finds what the one before it found. The
// state of an endpoint may change while counts are filled, and not for ever.
func settles(t *rapid.T, members func() []inventory.Member, repeat func()) {
	t.Helper()
	const times, most = 40, 5
	changes := map[netip.Addr]int{}
	for range times {
		before := map[netip.Addr]inventory.State{}
		for _, member := range members() {
			before[member.Address] = member.State
		}
		repeat()
		for _, member := range members() {
			if before[member.Address] != member.State {
				changes[member.Address]++
			}
		}
	}
	for a, n := range changes {
		if n > most {
			t.Fatalf("%s changed its state %d times within %d inventories that say the same", nameOf(a), n, times)
		}
	}
}

// checkStable checks what is published of one family, and returns its mode.
func (m *machine) checkStable(t *rapid.T, is4 bool, family *model) guard.Mode {
	t.Helper()
	listed, alive := 0, 0
	for name, b := range m.backends {
		if addr(name).Is4() == is4 && b.listed {
			listed++
			alive += map[bool]int{true: 1}[b.alive || m.policy.HealthOff]
		}
	}
	if family.newborn() {
		return guard.FailOpen // nothing ever passed
	}
	stuck := m.policy.Threshold == 0 || alive == 0 // what is kept may stay
	for name, b := range m.backends {
		if addr(name).Is4() != is4 {
			continue
		}
		got := m.state(addr(name))
		want := []inventory.State{inventory.Absent}
		switch {
		case !b.listed && stuck && (alive == 0 || m.policy.HealthOff):
			want = append(want, inventory.StateReady, inventory.StateDraining, inventory.StateDown)
		case !b.listed && stuck:
			want = append(want, inventory.StateDown)
		case !b.listed:
		case b.alive, m.policy.HealthOff, alive == 0 && m.policy.FailOpen:
			want = []inventory.State{inventory.StateReady}
		case alive == 0:
			want = []inventory.State{inventory.StateDown}
		default:
			want = append(want, inventory.StateDown) // it may never have been published
		}
		if !slices.Contains(want, got) {
			t.Fatalf("S5: %s is %s in a calm world, want %s (%d listed, %d alive)", name, got, fmt.Sprint(want), listed, alive)
		}
	}
	switch {
	case alive == 0 && m.policy.FailOpen:
		return guard.FailOpen
	case stuck:
		return guard.Hold
	}
	return guard.Publish
}
