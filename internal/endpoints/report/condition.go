package report

import (
	"cmp"
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
)

// Condition is the whole in one word.
type Condition string

// The conditions. The first that holds, in this order, is the one.
const (
	// StandingBy is a replica that does not lead and knows no nodes.
	StandingBy Condition = "StandingBy"
	// FailOpen and, below, Hold are the modes of that name.
	FailOpen Condition = "FailOpen"
	// Failing says that a dead backend may stay published, that what was decided
	// is not written, or that endpoints will be removed without a good inventory.
	Failing Condition = "Failing"
	// Starting says that no decision was made yet.
	Starting Condition = "Starting"
	Hold     Condition = "Hold"
	// NothingReady says that no endpoint is published ready. Where no decision was made
	// it says so once reading the source has failed: waiting alone does not help.
	NothingReady Condition = "NothingReady"
	// Degraded says that traffic flows but something needs attention: a node that
	// should be ready is not, a slice is not written yet, the source cannot be read
	// or has a warning, another replica reaches what this one does not, or others publish for the same Service.
	Degraded Condition = "Degraded"
	// Healthy says that none of this holds.
	Healthy Condition = "Healthy"
)

// judge sets Condition and Healthy by the rest of the document, and by its nodes.
func (d *Document) judge(c nodeCount) {
	d.Condition = d.condition(c)
	d.Healthy = d.Condition == Healthy
}

func (d *Document) condition(c nodeCount) Condition {
	switch {
	case d.StandsBy():
		return StandingBy
	case d.Mode == guard.FailOpen.String():
		return FailOpen
	case d.Standstill != "", d.Problem != nil, d.Store.LastError != "", len(d.Store.SlicesOfOthers) > 0, d.Stages.Unchecked > 0, d.Removal != nil:
		return Failing
	case !d.Decided && d.Source.LastError != "" && d.Stages.Ready == 0:
		return NothingReady
	case !d.Decided:
		return Starting
	case d.Mode == guard.Hold.String():
		return Hold
	case d.Stages.Ready == 0:
		return NothingReady
	case !d.complete(c), c.elsewhere > 0, d.Source.LastError != "", len(d.Source.Warnings) > 0, len(d.Store.SlicesBeside) > 0, len(d.Refusals) > 0, d.moves():
		return Degraded
	}
	return Healthy
}

// complete reports whether the source was read, every node that is meant to be
// published is ready, and all of it is written but by a dry run.
func (d *Document) complete(c nodeCount) bool {
	return c.meant > 0 && c.ready == c.meant && !d.Source.LastSuccess.IsZero() && (d.Store.PendingSlices == 0 || d.DryRun)
}

// moves reports whether the Service is about to take something else from a pool, or
// nothing any more.
func (d *Document) moves() bool {
	return slices.ContainsFunc(d.Pools, func(p PoolPart) bool { return p.State != Active })
}

// conditions are all conditions, the worst first.
func conditions() []Condition {
	return []Condition{NothingReady, FailOpen, Failing, Refused, Hold, Starting, StandingBy, Degraded, Healthy}
}

// worse orders conditions, the worst first.
func worse(a, b Condition) int {
	all := conditions()
	return cmp.Compare(slices.Index(all, a), slices.Index(all, b))
}

// worst returns the worst of conditions; without any it is Healthy.
func worst(all ...Condition) Condition {
	return slices.MinFunc(slices.Concat(all, []Condition{Healthy}), worse)
}
