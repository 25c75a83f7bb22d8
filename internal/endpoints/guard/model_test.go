package guard_test

import (
	"net/netip"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// model is the contract (13, 14, 15) for one address family, as slow and as plain as
// possible: it keeps one record for each address and answers each question from the
// records.
type model struct {
	policy  guard.Policy
	now     time.Time
	records map[netip.Addr]*record
	// rejected says that the newest inventory is rejected; counting that it is so
	// just now, by a scheduled one.
	rejected, counting bool
	// restarted says that the endpoints were recovered, proven that a probe of this
	// process has passed, open that FailOpen is engaged, wasReadyDraining that
	// draining endpoints are published ready, shown that the mode says so.
	restarted, proven, open, wasReadyDraining, shown bool
	// cut says that the prober is presumed cut off.
	cut bool
	// emptySince is when nothing that works was ready any more.
	emptySince time.Time
	// accepted are the addresses that the last decision let rejected inventories
	// take away.
	accepted map[netip.Addr]bool
}

// place is where an address stands with the inventory; the zero place is that of
// an address that was recovered and not read yet.
type place int

const (
	unread place = iota
	staying
	gone
	kept
	nowhere
)

// record is what is known of one address. An address has none if it is not published
// and not listed.
type record struct {
	state inventory.State
	place place
	// holder is the node that has the address, stolen says that the inventory
	// gives it to one that is not eligible.
	holder    inventory.Identity
	stolen    bool
	listed    bool
	announced bool
	// fresh says that it came with a rejected inventory, valued that it served
	// before rejected inventories left it out, rumour that it is down by hearsay
	// of the slices only.
	fresh, valued, rumour bool
	// proved says that it has passed since the start, found that it was published at
	// the start and has not been removed since, leaves that it drained there.
	proved, found, leaves bool
	// missing and dead count rejected inventories in a row, old says that there
	// were enough of them.
	missing, dead int
	old           bool
	goneAt        time.Time
	// strangeSince is when the address moved, until a later result has come.
	strangeSince time.Time
	silencedAt   time.Time
	// stateSince is when the state last changed.
	stateSince time.Time
	// buried says that it was silent for so long that it does not count.
	buried bool
	score
}

// score counts results in a row; failures are those of them that failed.
type score struct {
	passes, fails    int
	failures         []failure
	silent, troubled bool
	at, silentSince  time.Time
	// heardNothing is when the newest check was sent that nothing answered.
	heardNothing time.Time
	// reachedAt and missedAt are when the newest failures were sent of which another replica said
	// that it connects, or does not either. doubtSince is the time of the first that counts.
	reachedAt, missedAt, doubtSince time.Time
}

// failure is a check that failed: without a connection, and then perhaps reached by another replica;
// or forgiven, because it came while failures did not count.
type failure struct{ unconnected, reached, forgiven bool }

// counted are the failures that count.
func (s score) counted() (n int) {
	for _, f := range s.failures {
		n += map[bool]int{true: 1}[!f.reached && !f.forgiven]
	}
	return n
}

// unconnected are the failures without a connection, reached those of them that were answered.
func (s score) unconnected() (all, reached int) {
	for _, f := range s.failures {
		all += map[bool]int{true: 1}[f.unconnected]
		reached += map[bool]int{true: 1}[f.reached]
	}
	return all, reached
}

// forgive says whether what has failed so far counts.
func (s *score) forgive(forgiven bool) {
	s.failures = slices.Clone(s.failures)
	for i := range s.failures {
		s.failures[i].forgiven = forgiven
	}
}

// answer is what another replica says of the first failures without a connection (contract 239).
// It may come late, or twice.
func (m *model) answer(r *record, a inventory.Result) {
	all, reached := r.unconnected()
	switch {
	case !r.silent, a.At.Before(r.silentSince), a.Failures > all, a.Failures <= reached:
	case a.Missed:
		if a.At.After(r.missedAt) {
			r.missedAt = a.At
		}
	default:
		m.proven, r.reachedAt = true, a.At
		r.failures = slices.Clone(r.failures)
		for i, left := 0, a.Failures; left > 0; i++ {
			if r.failures[i].unconnected {
				r.failures[i].reached = true
				left--
			}
		}
	}
}

func (r *record) member() bool  { return r.state != inventory.Absent }
func (r *record) serving() bool { return served(r.state) }
func (r *record) known() bool   { return r.passes+r.fails > 0 }

// there reports whether the address is there and staying.
func (r *record) there() bool {
	return r.place == staying || r.place == unread && !r.leaves
}

// strange reports whether nothing is known since the address moved.
func (r *record) strange() bool { return !r.strangeSince.IsZero() && r.at.Before(r.strangeSince) }

func served(s inventory.State) bool {
	return s == inventory.StateReady || s == inventory.StateDraining
}

// recoverFrom is contract 28.
func (m *model) recoverFrom(members []inventory.Member, now time.Time) {
	for _, member := range members {
		m.records[member.Address] = &record{state: member.State, stateSince: now, rumour: member.State == inventory.StateDown, found: true, leaves: member.State == inventory.StateDraining}
		m.restarted = true
	}
}

// hear counts a result.
func (m *model) hear(result inventory.Result) {
	r, ok := m.records[result.Address]
	if !ok || m.policy.HealthOff {
		return
	}
	old := r.score
	switch result.Outcome {
	case inventory.Elsewhere:
		m.answer(r, result)
	case inventory.LocalError:
		r.troubled = true
	case inventory.Pass:
		r.score = score{passes: old.passes + 1, at: result.At, heardNothing: old.heardNothing}
		r.dead, r.proved = 0, true // after a pass the count begins again
		m.proven = true
	case inventory.Refused, inventory.Silent:
		r.score = score{fails: old.fails + 1, at: result.At, heardNothing: old.heardNothing, reachedAt: old.reachedAt, missedAt: old.missedAt, doubtSince: old.doubtSince}
		r.failures = append(slices.Clone(old.failures), failure{unconnected: result.NoConnection})
		if result.Outcome == inventory.Silent {
			r.silent, r.silentSince, r.heardNothing = true, result.At, result.At
			if old.silent {
				r.silentSince = old.silentSince
			}
		}
	}
}

// see takes an inventory in: contract 13.
func (m *model) see(read guard.Inventory) {
	listing := make(map[netip.Addr]inventory.Candidate)
	for _, c := range read.Candidates {
		listing[c.Address] = c
	}
	m.rejected = m.tooMuch(read, listing, func(*record) bool { return true })
	others := m.rejected && !m.tooMuch(read, listing, func(r *record) bool { return !r.old })
	m.counting = m.rejected && read.Scheduled
	for a, c := range listing {
		r, ok := m.records[a]
		if !ok {
			r = &record{place: nowhere, holder: c.Node, fresh: true}
			m.records[a] = r
		}
		if r.holder.Known() && !r.holder.Same(c.Node) {
			r.strangeSince = m.now
		}
		r.holder, r.stolen, r.fresh = c.Node, false, r.fresh && m.rejected
	}
	for a, r := range m.records {
		c, listed := listing[a]
		r.listed = listed
		if !r.member() {
			if !listed {
				delete(m.records, a)
			}
			r.place = map[bool]place{true: nowhere, false: staying}[c.Leaving]
			continue
		}
		if !listed {
			m.steal(a, r, read.Ineligible)
		}
		m.stand(r, listed, listed && c.Leaving, others)
	}
}

// steal is way out (c): an address that another node has, eligible or not.
func (m *model) steal(a netip.Addr, r *record, ineligible []inventory.Candidate) {
	var holders []inventory.Identity
	for _, c := range ineligible {
		if c.Address == a {
			holders = append(holders, c.Node)
		}
	}
	if len(holders) == 0 {
		r.stolen = false
		return
	}
	for _, node := range holders {
		if r.holder.Same(node) {
			return
		}
	}
	if r.holder.Known() {
		r.stolen, r.strangeSince = true, m.now
	}
	r.holder = holders[0]
}

// stand updates the place of an endpoint after an inventory. others says that the
// inventory would be accepted without the endpoints that were left out for long.
func (m *model) stand(r *record, listed, leaving, others bool) {
	if listed && !leaving {
		r.place, r.announced, r.missing, r.dead, r.old, r.goneAt = staying, false, 0, 0, false, time.Time{}
		return
	}
	r.announced = r.announced || leaving
	switch {
	case !m.rejected:
		r.missing, r.dead, r.old, r.fresh = 0, 0, r.old && r.place == gone, false
	case m.counting:
		r.missing++
	}
	if m.policy.Threshold > 0 && r.missing >= m.policy.Threshold {
		r.old = true
	}
	switch {
	case !m.rejected, r.stolen, others && !r.old:
		m.depart(r)
	case r.old && r.place == gone:
	case r.place != kept:
		r.valued = r.serving() || r.rumour
		r.place, r.goneAt = kept, time.Time{}
	}
}

// depart makes an endpoint leave.
func (m *model) depart(r *record) {
	if r.place != gone {
		r.place, r.goneAt, r.dead = gone, m.now, 0
	}
}

// tooMuch is the first sentence of contract 13, for the endpoints that asked selects.
// An endpoint counts until its removal is complete; a kept endpoint counts as it did
// before it was kept. An endpoint that is announced to leave counts as taken away.
// Endpoints that a rejected inventory added do not make a share larger. An endpoint
// that leaves replaces nothing.
func (m *model) tooMuch(read guard.Inventory, listing map[netip.Addr]inventory.Candidate, asked func(*record) bool) bool {
	stays, members, ready, taken := 0, 0, 0, 0
	for _, c := range listing {
		if !c.Leaving {
			stays++
		}
	}
	for a, r := range m.records {
		if !r.member() || !asked(r) || r.old && r.place == gone {
			continue
		}
		members++
		counts := r.serving() || r.rumour
		if r.place == kept {
			counts = r.valued
		}
		if !counts {
			continue
		}
		c, listed := listing[a]
		leaves := !listed || c.Leaving
		taken += map[bool]int{true: 1}[leaves]
		ready += map[bool]int{true: 1}[leaves || !r.fresh]
	}
	if members == 0 {
		return false
	}
	allowed := max(1, float64(ready)*float64(m.policy.MaxRemovalPercent)/100)
	return stays == 0 || float64(taken) > allowed || taken > 0 && contradicts(read)
}

func contradicts(read guard.Inventory) bool {
	for _, d := range read.Decisions {
		if d.Reason == inventory.DuplicateAddress {
			return true
		}
	}
	return false
}
