package guard

import (
	"cmp"
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
func observe(before pool, read Read, f family, now time.Time, policy Policy) pool {
	after := before
	after.candidates = list(before, read.Candidates, f, now)
	cause, why := suspicion(after, read, f, policy)
	switch {
	case cause == "":
		after.suspects = 0
	case read.Scheduled:
		after.suspects++
	}
	after.cause, after.why, after.message = cause, "", ""
	if cause != "" {
		after.why = why + "; " + belief(policy)
		after.message = why + "; " + patience(after.suspects, policy)
	}
	listed := after.walk()
	after.members = make([]member, 0, len(before.members))
	for _, m := range before.members {
		after.members = append(after.members, stand(m, listed.candidate(m.Address), after, read, now, policy))
	}
	return after
}

// list returns the candidates of one family and notes which addresses another
// node held before: they have to prove themselves again (contract 7).
func list(before pool, candidates []inventory.Candidate, f family, now time.Time) []candidate {
	candidates = part(candidates, f)
	listed := make([]candidate, 0, len(candidates))
	known := before.walk()
	for _, c := range candidates {
		node, movedAt := known.holder(c.Address)
		if node.Known() && !node.Same(c.Node) {
			movedAt = now
		}
		listed = append(listed, candidate{Candidate: c, movedAt: movedAt})
	}
	return listed
}

// part returns the candidates of one family. They are sorted, IPv4 before IPv6.
func part(candidates []inventory.Candidate, f family) []inventory.Candidate {
	second, _ := slices.BinarySearchFunc(candidates, ipv6, func(c inventory.Candidate, f family) int {
		return cmp.Compare(familyOf(c.Address), f)
	})
	if f == ipv4 {
		return candidates[:second]
	}
	return candidates[second:]
}

// suspicion says why a read is suspect, and returns no cause when it is not.
//
// What a read would take away is judged together with what earlier reads took
// and is still draining: a source that forgets its nodes one at a time is as
// wrong as one that forgets them all at once. A node that is announced to leave
// is taken away as well, and its address is no candidate that could stand in for
// another.
func suspicion(p pool, read Read, f family, policy Policy) (Cause, string) {
	members, serving, taken := 0, 0, 0
	listed := p.walk()
	for _, m := range p.members {
		if m.settled {
			continue
		}
		members++
		if m.State != inventory.StateReady && m.State != inventory.StateDraining {
			continue
		}
		serving++
		if c := listed.candidate(m.Address); c == nil || c.Leaving {
			taken++
		}
	}
	stays := slices.ContainsFunc(p.candidates, func(c candidate) bool { return !c.Leaving })
	switch {
	case members == 0:
		return "", ""
	case read.Nodes == 0:
		return NoNodes, fmt.Sprintf("the source lists no node, but %d %s members are published", members, f)
	case len(p.candidates) == 0:
		return NothingPassesFilter, fmt.Sprintf("no %s address of the %d nodes passes the filter, but %d members are published", f, read.Nodes, members)
	case taken*100 > max(100, policy.MaxRemovalPercent*serving):
		return TooManyRemovals, fmt.Sprintf("%d of %d %s members would be taken away, more than MAX_REMOVAL_PERCENT=%d allows at a time", taken, serving, f, policy.MaxRemovalPercent)
	case !stays:
		return NothingStays, fmt.Sprintf("all %d %s candidates are announced to leave, and nothing would stay of %d members", len(p.candidates), f, members)
	case taken > 0 && contradictory(read):
		return ContradictoryRead, fmt.Sprintf("the read gives one address to two nodes and would take %d of %d %s members away", taken, serving, f)
	}
	return "", ""
}

// belief says when a suspect read is believed. It stands in the message of every
// member that is held, so it is short and does not change with each read.
func belief(policy Policy) string {
	if policy.Threshold == 0 {
		return "never believed (EMPTY_RESULT_THRESHOLD=0)"
	}
	return fmt.Sprintf("believed after EMPTY_RESULT_THRESHOLD=%d", policy.Threshold)
}

// patience says how far suspect reads are from being believed.
func patience(suspects int, policy Policy) string {
	reads := "reads"
	if suspects == 1 {
		reads = "read"
	}
	if policy.Threshold == 0 {
		return fmt.Sprintf("%d scheduled suspect %s in a row; never believed (EMPTY_RESULT_THRESHOLD=0)", suspects, reads)
	}
	return fmt.Sprintf("%d scheduled suspect %s in a row; a member that EMPTY_RESULT_THRESHOLD=%d of them miss is believed gone", suspects, reads, policy.Threshold)
}

// contradictory reports whether the read gives an address to two nodes. That
// casts doubt on all of it, so the family of the address does not matter.
func contradictory(read Read) bool {
	return slices.ContainsFunc(read.Decisions, func(d inventory.Decision) bool {
		return d.Reason == inventory.DuplicateAddress
	})
}

// stand returns the member as the newest read of p leaves it, which lists it as c,
// or not at all.
func stand(m member, c *candidate, p pool, read Read, now time.Time, policy Policy) member {
	listed := c != nil
	if listed {
		m.node, m.Zone, m.movedAt = c.Node, c.Zone, c.movedAt
	}
	if listed && !c.Leaving {
		m.standing, m.announced, m.leaveAt = present, false, time.Time{}
		m.missed, m.settled = 0, false
		return m
	}
	m.announced = m.announced || listed
	believed := p.cause == ""
	switch {
	case believed:
		m.missed = 0
	case read.Scheduled:
		m.missed++
	}
	m.settled = m.settled || policy.Threshold > 0 && m.missed >= policy.Threshold
	if !believed && !m.settled {
		m.standing, m.leaveAt = held, time.Time{}
		return m
	}
	if m.standing != leaving {
		m.standing, m.leaveAt = leaving, now
	}
	return m
}
