package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
)

// NoService says why there is no document of a Service.
type NoService struct{ Message string }

func (e *NoService) Error() string { return e.Message }

// Service makes the document of one Service. An error is a NoService.
func (m Process) Service(namespace, service string) (*Document, error) {
	key := assign.Key{Namespace: namespace, Service: service}
	s := m.survey()
	if i, found := s.find(key); found {
		return s.target(i, true), nil
	}
	switch only := m.Only; {
	case only != assign.Key{} && key != only:
		return nil, &NoService{fmt.Sprintf("this is the daemon of %s, not of %s", only, key)}
	case m.standsBy(), m.Snapshot.At.IsZero():
		return s.unplanned(key), nil // it is not known yet whether it is one
	}
	return nil, &NoService{s.why(key)}
}

// Home is the Service that the first page shows: the only one, where there is nothing to show
// beside it. It is zero where there is no such Service.
func (m Process) Home() assign.Key {
	plan := &m.Snapshot.Plan
	switch {
	case m.Only != assign.Key{}:
		return m.Only
	case len(plan.Targets) != 1, len(plan.Targets[0].Uses) == 0, len(plan.Lost) > 0, plan.Kept != "", len(m.Snapshot.Documents.Mistakes) > 0, m.StatusError != "",
		slices.ContainsFunc(plan.Refusals, func(r assign.Refusal) bool { return r.Key != plan.Targets[0].Key }):
		return assign.Key{}
	}
	return plan.Targets[0].Key
}

// standsBy reports whether another replica leads, or none.
func (m Process) standsBy() bool { return !m.Leader && m.Election.Enabled }

// unplanned is the document of a Service before the first plan.
func (s *survey) unplanned(key assign.Key) *Document {
	f := s.facts()
	f.Target.Namespace, f.Target.Service = key.Namespace, key.Service
	f.Status = &Status{Store: StoreStatus{LoadErr: s.Snapshot.Unread}}
	return Build(f)
}

// why says why a Service is no target.
func (s *survey) why(key assign.Key) string {
	var said []string
	for _, r := range s.refusals(key) {
		said = append(said, r.Message)
	}
	if len(said) > 0 {
		return fmt.Sprintf("no endpoint is published for Service %s: %s", key, strings.Join(said, ". "))
	}
	for _, n := range s.notices(key) {
		said = append(said, ". "+n.Message)
	}
	if !slices.ContainsFunc(s.Snapshot.Services, func(known assign.Service) bool { return known.Key == key }) {
		return fmt.Sprintf("Service %s is not known: no EndpointBinding has its name, and there is no such Service in the namespaces that pools and bindings name", key)
	}
	return fmt.Sprintf("Service %s asks for no pool: write an EndpointBinding of its name, or set the annotation %s of the Service%s", key, v1alpha1.AnnotationPool, strings.Join(said, ""))
}

// find returns the place of a target in the plan.
func (s *survey) find(key assign.Key) (int, bool) {
	return slices.BinarySearchFunc(s.Snapshot.Plan.Targets, key, func(t assign.Assignment, key assign.Key) int { return t.Key.Compare(key) })
}

// refusals are those of one Service.
func (s *survey) refusals(key assign.Key) []Refusal {
	var own []Refusal
	for _, r := range ofService(s.Snapshot.Plan.Refusals, key, func(r assign.Refusal) assign.Key { return r.Key }) {
		own = append(own, Refusal{Pool: r.Pool, Reason: r.Reason, Message: r.Message})
	}
	return own
}

// notices are those of one Service.
func (s *survey) notices(key assign.Key) []Notice {
	var own []Notice
	for _, n := range ofService(s.Snapshot.Plan.Notices, key, func(n assign.Notice) assign.Key { return n.Key }) {
		own = append(own, Notice{Reason: n.Reason, Message: n.Message})
	}
	return own
}

// ofService returns the part of a list sorted by Services that is about one of them.
func ofService[E any](list []E, key assign.Key, of func(E) assign.Key) []E {
	from, _ := slices.BinarySearchFunc(list, key, func(e E, key assign.Key) int { return of(e).Compare(key) })
	to := from
	for to < len(list) && of(list[to]) == key {
		to++
	}
	return list[from:to]
}

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
	case !d.complete(c), c.elsewhere > 0, d.Source.LastError != "", len(d.Source.Warnings) > 0, len(d.Store.SlicesBeside) > 0, len(d.Refusals) > 0, slices.ContainsFunc(d.Pools, func(p PoolPart) bool { return p.State != Active }):
		return Degraded
	}
	return Healthy
}

// complete reports whether the source was read, every node that is meant to be
// published is ready, and all of it is written but by a dry run.
func (d *Document) complete(c nodeCount) bool {
	return c.meant > 0 && c.ready == c.meant && !d.Source.LastSuccess.IsZero() && (d.Store.PendingSlices == 0 || d.DryRun)
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
