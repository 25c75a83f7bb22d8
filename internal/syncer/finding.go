package syncer

import (
	"cmp"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
)

// Finding is the last word on one node or address, and since when it has been
// the same.
type Finding struct {
	inventory.Decision
	State inventory.State
	// Since is when the state or the reason last changed, as far as this process
	// knows.
	Since time.Time
}

const (
	// Remembered is how long an address that was removed is still shown as Gone.
	Remembered = 10 * time.Minute
	// maxGone is how many of them are shown at most.
	maxGone = 100
)

// findings returns the last word on everything, sorted: what the guard decided,
// for nodes that did not get so far what the filter refused, and of before what
// was removed a short while ago. What is as it was before keeps its time.
func findings(before []Finding, refused []inventory.Decision, verdict guard.Verdict, now time.Time) []Finding {
	heard := merge(found(refused, nil, now), found(verdict.Decisions, verdict.Members, now))
	heard = merge(heard, gone(before, now))
	var after []Finding
	for len(heard) > 0 {
		end := 1
		for end < len(heard) && heard[end].Node == heard[0].Node {
			end++
		}
		after = append(after, lastWord(heard[:end])...)
		heard = heard[end:]
	}
	carry(before, after)
	return after
}

// lastWord picks from what was said of one node what still holds: of its
// addresses that came as far as the guard all, else the first thing that keeps
// the node out, else that it is gone.
func lastWord(said []Finding) []Finding {
	judged := slices.DeleteFunc(slices.Clone(said), func(f Finding) bool { return f.Stage != inventory.StageGuard || f.Reason == inventory.Gone })
	if len(judged) > 0 {
		return judged
	}
	if i := slices.IndexFunc(said, func(f Finding) bool { return f.Reason != inventory.Gone }); i >= 0 {
		return said[i : i+1]
	}
	return slices.CompactFunc(said, func(a, b Finding) bool { return comparePlace(a, b) == 0 })
}

// gone returns the findings that tell of a removal a short while ago.
func gone(before []Finding, now time.Time) []Finding {
	var departed []Finding
	for _, f := range before {
		if f.Reason == inventory.Gone && now.Sub(f.Since) < Remembered && len(departed) < maxGone {
			departed = append(departed, f)
		}
	}
	return departed
}

// carry gives what is as it was before the time since when. Both are sorted.
func carry(before, after []Finding) {
	for i := range after {
		for len(before) > 0 && comparePlace(before[0], after[i]) < 0 {
			before = before[1:]
		}
		if len(before) > 0 && comparePlace(before[0], after[i]) == 0 && before[0].State == after[i].State && before[0].Reason == after[i].Reason {
			after[i].Since = before[0].Since
		}
	}
}

// found makes findings of the decisions that have a reason. Both lists are
// sorted; members are found by address.
func found(decisions []inventory.Decision, members []inventory.Member, now time.Time) []Finding {
	all := make([]Finding, 0, len(decisions))
	for _, d := range decisions {
		if d.Reason != "" {
			all = append(all, Finding{Decision: d, State: stateOf(members, d.Address), Since: now})
		}
	}
	return all
}

// merge joins two sorted lists.
func merge(a, b []Finding) []Finding {
	all := make([]Finding, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if comparePlace(b[0], a[0]) < 0 {
			all, b = append(all, b[0]), b[1:]
			continue
		}
		all, a = append(all, a[0]), a[1:]
	}
	return append(append(all, a...), b...)
}

// comparePlace orders findings by node and address, as CompareDecisions does.
func comparePlace(a, b Finding) int {
	return cmp.Or(
		cmp.Compare(a.Node.Name, b.Node.Name),
		cmp.Compare(a.Node.ID, b.Node.ID),
		a.Address.Compare(b.Address),
	)
}
