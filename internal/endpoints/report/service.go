package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
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
		return fmt.Sprintf("nothing is published for Service %s: %s", key, strings.Join(said, ". "))
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
	return slices.BinarySearchFunc(s.Snapshot.Plan.Targets, key, func(t assign.Assignment, key assign.Key) int { return compareKeys(t.Key, key) })
}

func compareKeys(a, b assign.Key) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Service, b.Service))
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
	from, _ := slices.BinarySearchFunc(list, key, func(e E, key assign.Key) int { return compareKeys(of(e), key) })
	to := from
	for to < len(list) && of(list[to]) == key {
		to++
	}
	return list[from:to]
}
