package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// Services makes the answer to a query. Its time is in proportion to the number of
// targets and of the groups' endpoints, and not to the endpoints of all targets.
func (m Process) Services(q Query) *Services {
	s := m.survey()
	out := s.head()
	for i := range m.Snapshot.Plan.Pools {
		out.Pools = append(out.Pools, s.pool(m.Snapshot.Plan.Pools[i].Name))
	}
	all := s.statuses()
	out.Known = len(all)
	out.pick(all, q)
	out.judge(all)
	return out
}

// head is what does not depend on pools and targets.
func (s *survey) head() *Services {
	out := &Services{Headline: frame(s.facts()).Headline, ServicesKept: s.Snapshot.Plan.Kept, Pools: []PoolStatus{}}
	out.Decided = !s.Snapshot.At.IsZero()
	if s.Only == (assign.Key{}) {
		out.Documents = s.documents()
	}
	lost := room{}
	for _, l := range s.Snapshot.Plan.Lost {
		if !lost.take(l.Namespace) {
			continue
		}
		out.ServicesWithoutPool = append(out.ServicesWithoutPool, ServiceWithoutPool{Namespace: l.Namespace, Service: l.Service, Pool: l.Pool, Slice: l.Slice, Endpoints: l.Endpoints})
	}
	return out
}

// documents say what became of them.
func (s *survey) documents() *Documents {
	out := &Documents{Generation: s.Snapshot.Documents.Generation, Mistakes: []Mistake{}, StatusError: s.StatusError}
	shown := room{}
	for _, m := range s.Snapshot.Documents.Mistakes {
		if of, _, _ := strings.Cut(m.Document, "/"); shown.take(of) {
			place := m.Place()
			out.Mistakes = append(out.Mistakes, Mistake{Place: place, Message: strings.TrimPrefix(m.Error(), place+": ")})
		}
	}
	if more := len(s.Snapshot.Documents.Mistakes) - len(out.Mistakes); more > 0 {
		out.Mistakes = append(out.Mistakes, Mistake{Place: "documents", Message: fmt.Sprintf("%d more mistakes are not listed; correct the listed ones first", more)})
	}
	return out
}

// room counts by namespace what an answer lists of what teams make: 1,000 of one namespace, 5,000 in all.
type room map[string]int

// take reports whether one more of a namespace is listed.
func (r room) take(namespace string) bool {
	const mostOfNamespace, most, all = 1000, 5000, "*" // no namespace has that name
	fits := r[namespace] < mostOfNamespace && r[all] < most
	if fits {
		r[namespace]++
		r[all]++
	}
	return fits
}

// statuses are those of all targets, and of Services whose wishes are all refused.
func (s *survey) statuses() []ServiceStatus {
	targets := s.Snapshot.Plan.Targets
	all := make([]ServiceStatus, 0, len(targets))
	if s.Only != (assign.Key{}) && s.Snapshot.At.IsZero() && !s.standsBy() {
		return append(all, s.unplanned(s.Only).status())
	}
	for i := range targets {
		d := s.target(i, false)
		status := d.status()
		status.Refusals, status.Notices = d.Refusals, d.Notices
		all = append(all, status)
	}
	var last assign.Key
	for _, r := range s.Snapshot.Plan.Refusals {
		if _, is := s.find(r.Key); is || r.Key == last {
			continue
		}
		last = r.Key
		all = append(all, ServiceStatus{
			Namespace: r.Namespace, Service: r.Service, Condition: Refused, DryRun: s.DryRun,
			Summary: fmt.Sprintf("no endpoint is published for %s: %s", r.Key, r.Reason),
			Pools:   []PoolUse{}, Refusals: s.refusals(r.Key), Notices: s.notices(r.Key),
		})
	}
	return all
}

// status is a document in a line or two.
func (d *Document) status() ServiceStatus {
	t := ServiceStatus{
		Namespace: d.Service.Namespace, Service: d.Service.Name, Condition: d.Condition, Summary: d.Summary,
		Pools: make([]PoolUse, 0, len(d.Pools)), DryRun: d.DryRun, Problem: d.Problem,
	}
	t.ReadyEndpoints, t.Endpoints = d.Stages.published()
	for _, p := range d.Pools {
		t.Pools = append(t.Pools, p.PoolUse)
		if p.LeavesAt.After(t.LeavesAt) {
			t.LeavesAt = p.LeavesAt
		}
	}
	return t
}

// pick chooses the targets that are asked for, the worst first.
func (t *Services) pick(all []ServiceStatus, q Query) {
	asked := make([]*ServiceStatus, 0, len(all))
	counts := make(map[Condition]int)
	for i := range all {
		if s := &all[i]; (q.Namespace == "" || s.Namespace == q.Namespace) && s.uses(q.Pool) && strings.Contains(s.Service, q.Service) {
			counts[s.Condition]++
			if q.Condition == "" || s.Condition == q.Condition || q.Condition == Unhealthy && s.Condition != Healthy {
				asked = append(asked, s)
			}
		}
	}
	slices.SortFunc(asked, func(a, b *ServiceStatus) int {
		return cmp.Or(worse(a.Condition, b.Condition), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Service, b.Service))
	})
	t.Conditions, t.Services = []ConditionCount{}, []ServiceStatus{}
	for _, c := range conditions() {
		if counts[c] > 0 {
			t.Conditions = append(t.Conditions, ConditionCount{c, counts[c]})
		}
	}
	t.Total, t.Offset = len(asked), min(q.Offset, len(asked))
	for _, s := range asked[t.Offset : t.Offset+min(cmp.Or(q.Limit, DefaultLimit), len(asked)-t.Offset)] {
		t.Services = append(t.Services, *s)
	}
}

// uses reports whether a target has, or asks for, a pool.
func (t *ServiceStatus) uses(pool string) bool {
	return pool == "" || slices.ContainsFunc(t.Pools, func(u PoolUse) bool { return u.Name == pool }) ||
		slices.ContainsFunc(t.Refusals, func(r Refusal) bool { return r.Pool == pool })
}

// judge sets condition and headline by all targets.
func (t *Services) judge(all []ServiceStatus) {
	seen := make(map[Condition]int)
	for i := range all {
		seen[all[i].Condition]++
	}
	var found []Condition
	var counts []string
	for _, c := range conditions() {
		if seen[c] > 0 && c != Healthy {
			counts = append(counts, fmt.Sprintf("%d %s", seen[c], c))
			if c == Refused {
				c = Degraded // what a team is refused takes nothing away
			}
			found = append(found, c)
		}
	}
	for _, p := range t.Pools {
		found = append(found, p.Condition)
	}
	t.Summary = fmt.Sprintf("%d of %d Services healthy", seen[Healthy], len(all))
	if len(counts) > 0 {
		t.Summary += ": " + strings.Join(counts, ", ")
	}
	if t.ServicesKept != "" {
		found, t.Summary = append(found, Hold), "Holding: "+t.Summary
	}
	if len(t.ServicesWithoutPool) > 0 || t.Documents != nil && len(t.Documents.Mistakes) > 0 {
		found = append(found, Degraded)
	}
	t.Condition = worst(found...)
	switch {
	case t.StandsBy():
		t.Condition, t.Summary = StandingBy, t.Election.standingBy("standing by")
	case !t.Decided:
		t.Condition, t.Summary = Starting, "no decision yet"
	}
	t.Healthy = t.Condition == Healthy
}

// standingBy adds to the headline of a replica that does not lead which one does.
func (e *Election) standingBy(headline string) string {
	if e.Holder == "" {
		return headline + "; no replica is known to lead"
	}
	return headline + "; " + e.Holder + " leads"
}

// summarise writes the headline. It counts what the nodes say, so that it cannot
// be better than they are.
func (d *Document) summarise(c nodeCount) {
	where := d.Service.Namespace + "/" + d.Service.Name
	d.Summary = fmt.Sprintf("%d of %d nodes ready in %s", c.ready, c.meant, where)
	switch {
	case d.StandsBy():
		d.Summary = d.Election.standingBy("standing by for " + where)
	case !d.Decided && d.Source.LastError != "":
		d.Summary = fmt.Sprintf("no decision yet for %s: the source cannot be read", where)
	case !d.Decided:
		d.Summary = fmt.Sprintf("no decision yet for %s", where)
	case d.Mode == guard.Hold.String():
		d.Summary = "Holding: " + d.Summary
	case d.Mode == guard.FailOpen.String():
		d.Summary = fmt.Sprintf("Failing open: %d of %d nodes pass, %d of %d published ready in %s", c.passing, c.meant, c.ready, c.meant, where)
	case d.Problem != nil:
		d.Summary += "; the Service cannot be filled: " + d.Problem.Kind
	}
}

// nodeCount is how many nodes are meant to be ready, are published ready, and
// passed their last health check, and stay because another replica reaches them.
type nodeCount struct{ meant, ready, passing, elsewhere int }

// and adds the nodes of another pool.
func (c nodeCount) and(other nodeCount) nodeCount {
	return nodeCount{c.meant + other.meant, c.ready + other.ready, c.passing + other.passing, c.elsewhere + other.elsewhere}
}

// countFindings counts the nodes of which a document would be made. What it says of a
// node holds for all its entries.
func countFindings(found []explain.Finding, health inventory.Health) nodeCount {
	type nodeState struct{ unready, failing, elsewhere bool }
	nodes := make(map[inventory.Identity]nodeState)
	for i := range found {
		f := &found[i]
		if !meant(f.Reason) {
			continue
		}
		node := f.Node
		if !node.Known() {
			node.ID = f.Address.String() // a member that no inventory has listed yet
		}
		streak, checked := checksOf(*f, health)
		s := nodes[node]
		s.unready = s.unready || f.State != inventory.StateReady
		s.failing = s.failing || !checked || !streak.Known() || streak.Last.Outcome != inventory.Pass
		s.elsewhere = s.elsewhere || f.Reason == inventory.ReadyElsewhere
		nodes[node] = s
	}
	c := nodeCount{meant: len(nodes)}
	for _, s := range nodes {
		if !s.unready {
			c.ready++
		}
		if !s.failing {
			c.passing++
		}
		if s.elsewhere {
			c.elsewhere++
		}
	}
	return c
}

// Meant reports whether the node is one that should be published: it is there and
// stays, runs workloads and does not ask to be left out; or it leaves, and is
// published ready because nothing else that passes is.
func (n Node) Meant() bool { return meant(inventory.Reason(n.Reason)) }

// Concern is how urgent a node is; less is worse. Tables are ordered by it.
type Concern int

// The concerns, the most urgent first.
const (
	NotServing Concern = iota
	// Questioned: it is ready, and something is wrong.
	Questioned
	Departing
	LeftOut
	Serving
)

// Concern returns how urgent the node is.
func (n Node) Concern() Concern {
	switch {
	case n.State == inventory.StateDraining.String():
		return Departing
	case n.State == inventory.StateReady.String() && n.Reason == string(inventory.Ready):
		return Serving
	case n.State == inventory.StateReady.String():
		return Questioned
	case !n.Meant():
		return LeftOut
	}
	return NotServing
}

func meant(reason inventory.Reason) bool {
	switch reason {
	case inventory.NotWorker, inventory.Excluded, inventory.NoPod, inventory.Draining, inventory.Gone:
		return false
	case inventory.Ready, inventory.ReadyFailOpen, inventory.ReadyHeld, inventory.ReadyElsewhere, inventory.ReadyFailing, inventory.ReadyDraining,
		inventory.ProbePending, inventory.ProbeRefused, inventory.ProbeTimeout, inventory.ProbeUnreachable, inventory.ProbeStatus, inventory.ProbeTLS,
		inventory.NodeNotReady, inventory.NoPrivateAddress, inventory.InvalidAddress, inventory.ForbiddenAddress, inventory.OutsideSubnet, inventory.DuplicateAddress,
		inventory.UnknownNode, inventory.PlacementRejected:
	}
	return true
}
