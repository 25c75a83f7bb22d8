package guard

import (
	"fmt"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
)

// observe folds a read into the memory of one family: it tells whether the read
// is suspect and where each member stands with it (contract 13).
//
//	the read lists the member   read believed     read suspect
//	yes                         present           present
//	as leaving, or not at all   leaving           held, until the threshold
//	                                              makes it leaving
func observe(before pool, read Read, family int, now time.Time, policy Policy) pool {
	after := before
	after.candidates = ofFamily(read.Candidates, family)
	after.cause, after.message = suspicion(after, read, policy)
	switch {
	case after.cause == "":
		after.suspects = 0
	case read.Scheduled:
		after.suspects++
	}
	after.members = slices.Clone(before.members)
	for i, m := range after.members {
		after.members[i] = stand(m, after, read, now, policy)
	}
	return after
}

// ofFamily returns the candidates of one family; they stay sorted.
func ofFamily(candidates []inventory.Candidate, family int) []inventory.Candidate {
	var of []inventory.Candidate
	for _, c := range candidates {
		if familyOf(c.Address) == family {
			of = append(of, c)
		}
	}
	return of
}

// suspicion says why a read is suspect, and returns no cause when it is not.
//
// What a read would take away is judged together with what earlier reads took
// and is still draining: a source that forgets its nodes one at a time is as
// wrong as one that forgets them all at once.
func suspicion(p pool, read Read, policy Policy) (Cause, string) {
	members, counted, taken := 0, 0, 0
	for _, m := range p.members {
		if m.settled {
			continue
		}
		members++
		if m.State != inventory.StateReady && m.State != inventory.StateDraining {
			continue
		}
		counted++
		if c, listed := p.candidate(m.Address); !listed || c.Leaving {
			taken++
		}
	}
	switch {
	case members > 0 && read.Nodes == 0:
		return NoNodes, fmt.Sprintf("the source lists no node, but %d members are published", members)
	case members > 0 && len(p.candidates) == 0:
		return NothingPassesFilter, fmt.Sprintf("none of the %d nodes passes the filter, but %d members are published", read.Nodes, members)
	case taken*100 > max(100, policy.MaxRemovalPercent*counted):
		return TooManyRemovals, fmt.Sprintf("%d of %d members would be taken away, more than MAX_REMOVAL_PERCENT=%d allows at a time", taken, counted, policy.MaxRemovalPercent)
	case taken > 0 && contradictory(read):
		return ContradictoryRead, fmt.Sprintf("the read gives one address to two nodes and would take %d of %d members away", taken, counted)
	}
	return "", ""
}

// contradictory reports whether the read gives an address to two nodes.
func contradictory(read Read) bool {
	return slices.ContainsFunc(read.Decisions, func(d inventory.Decision) bool {
		return d.Reason == inventory.DuplicateAddress
	})
}

// stand returns the member as the read leaves it.
func stand(m member, p pool, read Read, now time.Time, policy Policy) member {
	c, listed := p.candidate(m.Address)
	if listed {
		m = hold(m, c, now)
	}
	if listed && !c.Leaving {
		m.standing, m.announced = present, false
		m.missed, m.settled, m.leaveAt = 0, false, time.Time{}
		return m
	}
	m.announced = m.announced || listed
	if p.cause == "" || m.settled {
		return m.leave(now)
	}
	if read.Scheduled {
		m.missed++
	}
	if policy.Threshold > 0 && m.missed >= policy.Threshold {
		m.settled = true
		return m.leave(now)
	}
	m.standing, m.leaveAt = held, time.Time{}
	return m
}

// leave starts the member's leaving, unless it began before.
func (m member) leave(now time.Time) member {
	if m.standing != leaving {
		m.leaveAt = now
	}
	m.standing = leaving
	if !m.settled {
		m.missed = 0
	}
	return m
}

// hold notes which node holds the member's address. An address that moved to
// another node has to pass a probe again (contract 7).
func hold(m member, c inventory.Candidate, now time.Time) member {
	if m.node.Known() && !m.node.Same(c.Node) {
		m.movedAt = now
	}
	m.node, m.Zone = c.Node, c.Zone
	return m
}
