package controller

import (
	"cmp"
	"errors"
	"math"
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// errQueued is what is told of a group that waits for others.
var errQueued = errors.New("waits for other hand-overs, because all their checks together are more than the controller makes: the endpoints of before stay published and checked; it goes on when one of the others has ended")

// admitted returns the groups of a plan that may run, and tells which wait. What is in use is
// checked in any case. The rest, which is to take the place of that, is checked as long as all
// together is no more than the hub checks: what began first, then in the order of their names.
// How much that is may become known when they run.
func (g *groups) admitted(of assign.Plan) []assign.Group {
	keys, total := of.Groups(), 0
	for _, key := range keys {
		total += g.checks(key)
	}
	if total <= g.server.opts.MaxChecks {
		return keys // so it is nearly always
	}
	held := g.server.targets.held(of)
	order := func(key assign.Group) int {
		switch running := g.running[key]; {
		case held[key]:
			return 0
		case running != nil:
			return running.number
		}
		return math.MaxInt
	}
	slices.SortStableFunc(keys, func(a, b assign.Group) int { return cmp.Compare(order(a), order(b)) })
	total = 0
	return slices.DeleteFunc(keys, func(key assign.Group) bool {
		n := g.checks(key)
		if !held[key] && total+n > g.server.opts.MaxChecks {
			g.server.teller.group(key, errQueued)
			return true
		}
		total += n
		return false
	})
}

// checks is how many checks a group makes or would make, as far as is known.
func (g *groups) checks(key assign.Group) int {
	p := g.server.pools.running[key.Pool]
	if p == nil || key.Check.Mode == v1alpha1.HealthCheckNone {
		return 0
	}
	n := int(p.size.Load())
	if placed, known := g.placed(key); known {
		n = min(n, placed)
	}
	return n
}

// held returns the groups that are checked in any case: all but those that are to take over
// and have nothing in use yet.
func (t *targets) held(of assign.Plan) map[assign.Group]bool {
	held := make(map[assign.Group]bool)
	for _, each := range of.Targets {
		handsOver := slices.ContainsFunc(each.Uses, func(u assign.PoolUse) bool { return u.State == assign.Leaving && u.Until.IsZero() })
		for i := range each.Uses {
			u := &each.Uses[i]
			held[u.Group] = held[u.Group] || !handsOver || t.inUse(each.Key, u.SliceName(each.Key))
		}
	}
	return held
}

// inUse reports whether clients may use endpoints of slices of that first name. A group does not
// begin before these were read.
func (t *targets) inUse(key assign.Key, slice string) bool {
	state, _ := t.state(key, slice)
	if state == nil {
		f := t.running[key]
		return f != nil && f.unreadable() != nil
	}
	return slices.ContainsFunc(publish.Published(*state), func(m inventory.Member) bool { return m.State != inventory.StateDown })
}
