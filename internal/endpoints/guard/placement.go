package guard

import (
	"fmt"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

const (
	// toldAfter is how long a placement is rejected before that is told: a rollout and a
	// scale-down are over by then.
	toldAfter = 30 * time.Second
	// incompleteFor is how long a placement takes nothing away because the inventory does
	// not list one of its nodes.
	incompleteFor = 5 * time.Minute
)

// Placement is what there is to tell of the newest placement. It is empty where no remote
// Service is followed.
type Placement struct {
	// Named is how many nodes it names.
	Named int
	// Reason is PlacementRejected or UnknownNode where that has lasted, and empty otherwise.
	// Message says why, and what to do; Since is when it began.
	Reason  inventory.Reason
	Message string
	Since   time.Time
}

// placementMemory is what is remembered of placements; the zero value follows nothing. They are
// judged for both families together, and by how many nodes they name, never by which:
//
//	the placement                               takes away
//	names enough nodes                          what is on other nodes (leaving)
//	names none that could be published          nothing
//	names fewer than (100 - MaxRemovalPercent)  nothing while something passes that it does
//	% of the most within DrainPeriod            not name
//	names a node that is not in the inventory   nothing for incompleteFor
type placementMemory struct {
	newest *inventory.Placement
	// usable says that the inventory has a candidate on one of its nodes, and unlisted is one
	// of its nodes that the inventory does not list.
	usable   bool
	unlisted string
	// recent are how many nodes others named that were accepted, within DrainPeriod, or before
	// rejected ones came; the most first.
	recent []pastPlacement
	// trusted says that the newest was accepted once: it counts among the recent ones then, also
	// where an inventory has it rejected since.
	trusted bool
	// rejected is since when the newest is rejected, and incomplete since when there was always
	// an unlisted node; zero where that is not so.
	rejected, incomplete time.Time
	// heldUntil is until when a rejected one stays rejected at least.
	heldUntil time.Time
	// spares says that it takes nothing away.
	spares bool
}

// pastPlacement is how many nodes a placement named that was the newest one shortly before until.
type pastPlacement struct {
	nodes int
	until time.Time
}

// placing judges the newest placement: the one that comes with a read, or that of before.
func (m Memory) placing(in Input, policy Policy) placementMemory {
	p := m.pools[ipv4].placing
	if in.Read != nil {
		p = p.observe(*in.Read, m.published(), in.Now.Add(policy.DrainPeriod))
	}
	return p.judge(p.leavesOut(m), in.Now, policy)
}

// published counts the endpoints that do not drain, of the family that has more: that many
// nodes count as named before the first placement, so that a restart trusts none more than
// before.
func (m Memory) published() (most int) {
	for _, p := range m.pools {
		n := 0
		for _, member := range p.members {
			if member.State != inventory.StateDraining {
				n++
			}
		}
		most = max(most, n)
	}
	return most
}

// leavesOut reports whether an endpoint serves that a rejected placement does not name, as far as
// is known.
func (p placementMemory) leavesOut(m Memory) bool {
	if p.rejected.IsZero() {
		return false
	}
	serves := func(m *member) bool { return m.State.Serves() && (p.lacks(m.node) || !m.node.Known()) }
	return slices.ContainsFunc(m.pools[ipv4].members, serves) || slices.ContainsFunc(m.pools[ipv6].members, serves)
}

// observe takes in the placement that comes with an inventory. until is when the one of before
// counts no more.
func (p placementMemory) observe(read Inventory, published int, until time.Time) placementMemory {
	before := p.newest
	if p.newest = read.Placement; p.newest == nil {
		return placementMemory{}
	}
	switch {
	case before == nil:
		p.recent = []pastPlacement{{published, until}}
	case before != p.newest && p.trusted:
		fewer := func(n pastPlacement) bool { return n.nodes <= len(before.Ready) }
		p.recent = append(slices.DeleteFunc(slices.Clone(p.recent), fewer), pastPlacement{len(before.Ready), until})
	}
	p.trusted = p.trusted && before == p.newest
	p.usable, p.unlisted = compare(read)
	return p
}

// compare returns whether an inventory has a candidate that stays on a node of its placement,
// and one of these nodes that it does not list at all.
func compare(read Inventory) (usable bool, unlisted string) {
	ready := read.Placement.Ready
	listed := make([]bool, len(ready))
	for i := range read.Decisions {
		if j, found := slices.BinarySearch(ready, read.Decisions[i].Node.Name); found {
			listed[j] = true
		}
	}
	for i := range read.Candidates {
		if j, found := slices.BinarySearch(ready, read.Candidates[i].Node.Name); found {
			listed[j], usable = true, usable || !read.Candidates[i].Leaving
		}
	}
	if i := slices.Index(listed, false); i >= 0 {
		unlisted = ready[i]
	}
	return usable, unlisted
}

// judge rejects the newest placement, or accepts it. serve says that it leaves out an endpoint
// that serves. What is rejected stays so until another one names enough nodes, or until no
// such endpoint has served for DrainPeriod. Without health checks a time ends that.
func (p placementMemory) judge(serve bool, now time.Time, policy Policy) placementMemory {
	if p.newest == nil {
		return p
	}
	if serve && (!policy.HealthOff || now.Sub(p.rejected) < incompleteFor) {
		p.heldUntil = now.Add(max(policy.DrainPeriod, time.Second))
	}
	if p.rejected.IsZero() || now.After(p.heldUntil) {
		p.recent = slices.DeleteFunc(slices.Clone(p.recent), func(n pastPlacement) bool { return now.After(n.until) })
	}
	switch {
	case p.usable && !p.few(policy):
		p.rejected, p.heldUntil, p.trusted = time.Time{}, time.Time{}, true
	case p.rejected.IsZero():
		p.rejected = now
	}
	switch {
	case p.unlisted == "":
		p.incomplete = time.Time{}
	case p.incomplete.IsZero():
		p.incomplete = now
	}
	p.spares = !p.rejected.IsZero() || !p.incomplete.IsZero() && now.Sub(p.incomplete) < incompleteFor
	return p
}

// most returns the most nodes that one of the recent placements named.
func (p placementMemory) most() int {
	if len(p.recent) == 0 {
		return 0
	}
	return p.recent[0].nodes
}

// few reports whether it names too few nodes to be trusted.
func (p placementMemory) few(policy Policy) bool {
	return len(p.newest.Ready)*100 < (100-policy.MaxRemovalPercent)*p.most()
}

// lacks reports whether no ready Pod is on the node.
func (p placementMemory) lacks(node inventory.Identity) bool {
	if p.newest == nil || !node.Known() {
		return false
	}
	_, found := slices.BinarySearch(p.newest.Ready, node.Name)
	return !found
}

// names reports whether the newest placement has a ready Pod on the node, to which kube-proxy
// of that node forwards and no other.
func (p placementMemory) names(node inventory.Identity) bool {
	return p.newest != nil && p.newest.Local && node.Known() && !p.lacks(node)
}

// unplaces reports whether an endpoint is unplaced now. One that an accepted inventory takes away
// leaves, and one that an inventory and a placement leave out that are both rejected is kept,
// whichever came first. What an accepted placement took away stays unplaced.
func (p placementMemory) unplaces(m *member, c *candidate, read assessment) bool {
	listed := c != nil && !c.Leaving
	return p.lacks(m.node) && !m.foreign && (listed || read.cause != "" && (!p.spares || m.standing == unplaced && m.unproved))
}

// unplace says that no ready Pod is on the node of the member. It leaves from then on, or since
// before.
func (m *member) unplace(before *member, p placementMemory, now time.Time) {
	m.standing, m.leaveAt = unplaced, before.leaveAt
	if m.leaveAt.IsZero() || m.leaveAt.After(now) {
		m.leaveAt = now
	}
	_, ending := slices.BinarySearch(p.newest.Ending, m.node.Name)
	m.announced = m.announced || ending
	m.unproved = m.unproved || !p.spares
}

// place notes whether a ready Pod is on the node of a candidate, and when that became so.
func (c *candidate) place(m *member, old *candidate, p placementMemory, now time.Time) {
	c.podless = p.lacks(c.Node)
	if old != nil {
		c.placedAt = old.placedAt
	}
	if !c.podless && (old != nil && old.podless || old == nil && m == nil && p.newest != nil) {
		c.placedAt = now
	}
}

// justPlaced reports whether the newest placement has named the node of the address for less
// than Fall intervals: its Pod may be ready before its kube-proxy knows.
func (r *row) justPlaced(w *world) bool {
	placed := r.candidate.placedAt
	return !placed.IsZero() && w.now.Sub(placed) < w.policy.checks() && r.streak.Passes < w.policy.Rise
}

// reason is why the newest placement takes nothing away.
func (p placementMemory) reason() inventory.Reason {
	if p.rejected.IsZero() {
		return inventory.UnknownNode
	}
	return inventory.PlacementRejected
}

// why says the same with the numbers.
func (p placementMemory) why(policy Policy) string {
	n := len(p.newest.Ready)
	switch {
	case p.rejected.IsZero():
		return fmt.Sprintf("a ready Pod of the remote Service is on node %s, which the inventory does not list", p.unlisted)
	case !p.newest.Found:
		return "the remote Service does not exist"
	case n == 0:
		return "the remote Service has no ready Pod"
	case !p.usable:
		return fmt.Sprintf("the remote Service has ready Pods on %s, but on no eligible node of the inventory", inventory.Counted(n, "node", "nodes"))
	}
	return fmt.Sprintf("the remote Service has ready Pods on %s instead of %d: MAX_REMOVAL_PERCENT=%d does not allow that within DRAIN_PERIOD=%s", inventory.Counted(n, "node", "nodes"), p.most(), policy.MaxRemovalPercent, policy.DrainPeriod)
}

// tell returns what there is to tell after a decision, and when time alone will change the
// judgement or that; zero if it will not. serve is that of judge.
func (p placementMemory) tell(serve bool, now time.Time, policy Policy) (told Placement, next time.Time) {
	if p.newest == nil {
		return Placement{}, time.Time{}
	}
	told.Named = len(p.newest.Ready)
	switch {
	case !p.rejected.IsZero() && now.Sub(p.rejected) >= toldAfter && (serve || !p.usable):
		told.Reason, told.Since = inventory.PlacementRejected, p.rejected
		told.Message = p.why(policy) + ". Endpoints without a Pod stay published while they pass their health checks. Check the Service, its selector and its Pods in the remote cluster."
	case p.rejected.IsZero() && !p.incomplete.IsZero() && !p.spares:
		told.Reason, told.Since = inventory.UnknownNode, p.incomplete
		told.Message = p.why(policy) + ". No traffic goes to this node. Check that the source lists every node of the remote cluster."
	}
	times := []time.Time{p.rejected.Add(toldAfter), p.incomplete.Add(incompleteFor)}
	if !p.rejected.IsZero() {
		times = append(times, p.heldUntil.Add(1))
		for _, n := range p.recent {
			times = append(times, n.until.Add(1))
		}
	}
	for _, at := range times {
		if at.After(now) {
			next = sooner(next, at)
		}
	}
	return told, next
}
