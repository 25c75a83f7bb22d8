package guard_test

import (
	"net/netip"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
)

// model is design section 6 for one address family, as slow and as plain as
// possible: it keeps one record for each address and asks each question anew.
type model struct {
	policy  guard.Policy
	now     time.Time
	records map[netip.Addr]*record
	// doubt says that the newest read is suspect.
	doubt bool
	// restarted says that members were recovered, proven that a probe of this
	// process has passed, open that FailOpen is engaged.
	restarted, proven, open bool
	// cut says that the prober is presumed cut off.
	cut bool
}

// place is where an address stands with the inventory; the zero place is that of
// an address that was recovered and not read yet.
type place int

const (
	unread place = iota
	staying
	gone
	doubted
	nowhere
)

// record is what is known of one address. An address that is neither published
// nor listed has none.
type record struct {
	state     inventory.State
	place     place
	node      inventory.Identity
	listed    bool
	announced bool
	// missing counts scheduled suspect reads in a row, settled says that there
	// were enough of them.
	missing int
	settled bool
	goneAt  time.Time
	// strangeSince is when the address moved, until a later result has come.
	strangeSince time.Time
	silencedAt   time.Time
	score
}

// score counts results in a row; counted are the failures that are not forgiven.
type score struct {
	passes, fails, counted int
	silent, troubled       bool
	at                     time.Time
}

func (r *record) member() bool  { return r.state != inventory.Absent }
func (r *record) serving() bool { return served(r.state) }
func (r *record) known() bool   { return r.passes+r.fails > 0 }

// there reports whether the address is there and staying.
func (r *record) there() bool {
	return r.place == staying || r.place == unread && r.state != inventory.StateDraining
}

// strange reports whether nothing is known since the address moved.
func (r *record) strange() bool { return !r.strangeSince.IsZero() && r.at.Before(r.strangeSince) }

func served(s inventory.State) bool {
	return s == inventory.StateReady || s == inventory.StateDraining
}

// recoverFrom is contract 28.
func (m *model) recoverFrom(members []inventory.Member) {
	for _, member := range members {
		m.records[member.Address] = &record{state: member.State}
		m.restarted = true
	}
}

// hear counts a result.
func (m *model) hear(result inventory.Result) {
	r, ok := m.records[result.Address]
	if !ok || m.policy.HealthOff {
		return
	}
	switch result.Outcome {
	case inventory.LocalError:
		r.troubled = true
		return
	case inventory.Pass:
		r.score = score{passes: r.passes + 1, at: result.At}
		m.proven = true
	case inventory.Refused, inventory.Silent:
		r.score = score{fails: r.fails + 1, counted: r.counted + 1, silent: result.Outcome == inventory.Silent, at: result.At}
	}
}

// see takes a read in: contract 13.
func (m *model) see(read guard.Read) {
	listing := make(map[netip.Addr]inventory.Candidate)
	for _, c := range read.Candidates {
		listing[c.Address] = c
	}
	m.doubt = m.suspicious(read, listing)
	for a, c := range listing {
		r, ok := m.records[a]
		if !ok {
			r = &record{place: nowhere, node: c.Node}
			m.records[a] = r
		}
		if r.node.Known() && !r.node.Same(c.Node) {
			r.strangeSince = m.now
		}
		r.node = c.Node
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
		m.stand(r, listed, listed && c.Leaving, read.Scheduled)
	}
}

// stand says where a member stands after a read.
func (m *model) stand(r *record, listed, leaving, scheduled bool) {
	if listed && !leaving {
		r.place, r.announced, r.missing, r.settled, r.goneAt = staying, false, 0, false, time.Time{}
		return
	}
	r.announced = r.announced || leaving
	if m.doubt && scheduled {
		r.missing++
	}
	if !m.doubt {
		r.missing = 0
	}
	if m.policy.Threshold > 0 && r.missing >= m.policy.Threshold {
		r.settled = true
	}
	if m.doubt && !r.settled {
		r.place, r.goneAt = doubted, time.Time{}
		return
	}
	if r.place != gone {
		r.place, r.goneAt = gone, m.now
	}
}

// suspicious is the first sentence of contract 13, with the readings that a
// member counts until what took it away is over and done with, that an announced
// one is taken away, and that a leaving candidate stands in for nothing.
func (m *model) suspicious(read guard.Read, listing map[netip.Addr]inventory.Candidate) bool {
	stays, members, ready, taken := 0, 0, 0, 0
	for _, c := range listing {
		if !c.Leaving {
			stays++
		}
	}
	for a, r := range m.records {
		if !r.member() || r.settled {
			continue
		}
		members++
		if !r.serving() {
			continue
		}
		ready++
		if c, listed := listing[a]; !listed || c.Leaving {
			taken++
		}
	}
	if members == 0 {
		return false
	}
	allowed := max(1, float64(ready)*float64(m.policy.MaxRemovalPercent)/100)
	return stays == 0 || float64(taken) > allowed || taken > 0 && contradicts(read)
}

func contradicts(read guard.Read) bool {
	for _, d := range read.Decisions {
		if d.Reason == inventory.DuplicateAddress {
			return true
		}
	}
	return false
}

// cutOff is the first sentence of contract 14.
func (m *model) cutOff() bool {
	present, silent := 0, 0
	for _, r := range m.records {
		if !r.member() || !r.there() {
			continue
		}
		present++
		if r.fails > 0 && r.silent {
			silent++
		}
	}
	limit := min(float64(present-1), float64(present)*float64(m.policy.MaxSilentPercent)/100)
	return silent > 0 && float64(silent) > limit && !m.policy.HealthOff
}
