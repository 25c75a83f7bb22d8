package assign

import (
	"cmp"
	"fmt"
	"iter"
	"net/netip"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings/naming"
)

// Plan is who is served by what.
type Plan struct {
	// Pools are those of the input, and those that vanished and are still in use,
	// sorted by name.
	Pools []v1alpha1.EndpointPool
	// Targets are sorted by namespace and Service.
	Targets []Assignment
	// Refusals say which wishes are not granted, and Notices what else a reader should
	// know; both sorted like Targets.
	Refusals []Refusal
	Notices  []Notice
	// Kept says that so many targets vanished at once that they are kept, and what to
	// do; empty otherwise.
	Kept string
	// Lost are slices whose pool no document describes. They stay as they are.
	Lost []PublishedSlice
	// Next is when time alone changes the plan; zero if it does not.
	Next time.Time
}

// Assignment is a Service to fill.
type Assignment struct {
	Key
	// DryRun decides and reports, and writes nothing.
	DryRun bool
	// Uses has one for each name of slices, those of the binding first and in its order.
	Uses []PoolUse
}

// PoolUse is what a target takes from one pool, and for how long.
type PoolUse struct {
	Use
	State State
	// Until is when a leaving one is emptied; zero where no time says so.
	Until time.Time
	// Next is wanted instead, as soon as its group is ready; nil if nothing is.
	Next *Use
	// Message says why it is not active; empty where it is. Where it has numbers that change with
	// each check, Waits says the same without them.
	Message, Waits string
}

// State is what becomes of what a target takes from a pool.
type State string

// The states.
const (
	// Active is checked and published.
	Active State = "active"
	// Leaving is checked and published until its time is over, or until what replaces
	// it is ready.
	Leaving State = "leaving"
	// Kept is checked and published although it vanished, because too many did.
	Kept State = "kept"
	// Draining is checked, and what passes drains: what replaces it is stored.
	Draining State = "draining"
	// Emptied is to be published without endpoints.
	Emptied State = "emptied"
)

// Refusal is a wish that is not granted.
type Refusal struct {
	Key
	// Pool is empty where the whole binding is concerned.
	Pool string
	// Reason is a reason of the condition Accepted of a binding.
	Reason, Message string
}

// Notice tells something that changes nothing.
type Notice struct {
	Key
	// Pool is the one that it is about where its message has numbers that change with each check.
	Pool            string
	Reason, Message string
}

// The reasons of notices.
const (
	// UnknownAnnotation is an annotation of our API group that has no effect.
	UnknownAnnotation = "UnknownAnnotation"
	// BindingWins is a Service with annotations and a binding.
	BindingWins = "BindingWins"
	// TrafficPolicyLocal is a Service whose clients use endpoints of their own node only.
	TrafficPolicyLocal = "TrafficPolicyLocal"
	// TopologyIgnored is a Service that asks for near endpoints.
	TopologyIgnored = "TopologyIgnored"
	// FamilyUnused is a Service without the family of some of its endpoints.
	FamilyUnused = "FamilyUnused"
	// TakesOverWithLess is a Service whose documents name other endpoints, of which too few
	// pass to take the place of those that it has.
	TakesOverWithLess = "TakesOverWithLess"
	// HeadlessPort is a headless Service whose endpoints listen on other ports.
	HeadlessPort = "HeadlessPort"
)

// HandsOver reports whether something waits for others to take its place.
func (p *Plan) HandsOver() bool {
	return slices.ContainsFunc(p.Targets, func(t Assignment) bool {
		return slices.ContainsFunc(t.Uses, func(u PoolUse) bool { return u.Next != nil || u.State != Active })
	})
}

// at notes that time alone changes the plan then.
func (p *Plan) at(when time.Time) {
	if p.Next.IsZero() || when.Before(p.Next) {
		p.Next = when
	}
}

// Groups returns the groups that have to run, sorted.
func (p *Plan) Groups() []Group {
	var groups []Group
	for _, t := range p.Targets {
		for _, u := range t.Uses {
			if u.State != Emptied && u.Check.Mode != "" {
				groups = append(groups, u.Group)
			}
			if u.Next != nil {
				groups = append(groups, u.Next.Group)
			}
		}
	}
	slices.SortFunc(groups, compareGroups)
	return slices.Compact(groups)
}

// GroupNames is how messages about each group name settings. The check is said to be the
// pool's where it is that for any target, else that of the first target.
func (p *Plan) GroupNames() map[Group]naming.Names {
	all := make(map[Group]naming.Names)
	take := func(key Key, u *Use) {
		if before, known := all[u.Group]; !known || before.CheckBy != naming.Pool && u.CheckBy == naming.Pool {
			all[u.Group] = u.Names(key)
		}
	}
	for i := range p.Targets {
		t := &p.Targets[i]
		for j := range t.Uses {
			if u := &t.Uses[j]; u.State != Emptied {
				take(t.Key, &u.Use)
			}
			if next := t.Uses[j].Next; next != nil {
				take(t.Key, next)
			}
		}
	}
	return all
}

func compareGroups(a, b Group) int {
	x, y := a.Check, b.Check
	return cmp.Or(cmp.Compare(a.Pool, b.Pool), cmp.Compare(x.Mode, y.Mode), cmp.Compare(x.Port, y.Port), cmp.Compare(x.Path, y.Path),
		cmp.Compare(x.Host, y.Host), cmp.Compare(x.ExpectedStatus, y.ExpectedStatus),
		cmp.Compare(a.Remote.Namespace, b.Remote.Namespace), cmp.Compare(a.Remote.Name, b.Remote.Name))
}

// Health is what the checks of a group say.
type Health struct {
	// Checked says that every endpoint was checked.
	Checked bool
	// Passing are the endpoints that stay and pass, Serving those that stay and pass or may:
	// those of which the checks say nothing are taken for working when they are to go.
	Passing, Serving iter.Seq[netip.Addr]
}

// Count is how many endpoints of each family there are.
type Count struct{ IPv4, IPv6 int }

// covers reports whether there are as many in each family, and one at least.
func (c Count) covers(need Count) bool {
	return c.IPv4 >= need.IPv4 && c.IPv6 >= need.IPv6 && c.IPv4+c.IPv6 > 0
}

// String returns the numbers of the families that there are.
func (c Count) String() string {
	switch {
	case c.IPv6 == 0:
		return fmt.Sprint(c.IPv4)
	case c.IPv4 == 0:
		return fmt.Sprintf("%d IPv6", c.IPv6)
	}
	return fmt.Sprintf("%d IPv4 and %d IPv6", c.IPv4, c.IPv6)
}

// useEndpoints is what a use has: endpoints with its ports.
type useEndpoints struct {
	ports []publish.Port
	all   iter.Seq[netip.Addr] // nil for none
}

// countOf counts what several uses have. An endpoint that several have, as while a pool is split or
// renamed, counts once. The same address with another port is another endpoint.
func countOf(all ...useEndpoints) (count Count) {
	seen := make(map[netip.AddrPort]bool)
	for _, has := range all {
		if has.all == nil {
			continue
		}
		var port uint16
		if len(has.ports) > 0 {
			port = has.ports[0].Number
		}
		for addr := range has.all {
			if at := netip.AddrPortFrom(addr, port); len(all) > 1 { // one use has each address once
				if seen[at] {
					continue
				}
				seen[at] = true
			}
			if addr.Is4() {
				count.IPv4++
			} else {
				count.IPv6++
			}
		}
	}
	return count
}
