package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings/naming"
)

// overruled says that a pool fails open, and the target does not.
const overruled = "no endpoint of this pool passes its health check, so its endpoints are published down: endpoints of another pool of the Service pass"

// choice is what a group decided, as a target publishes it, summed up.
type choice struct {
	status Status
	stages Stages
	count  nodeCount
}

// choose returns what a target publishes of a group. While another pool of the target
// works, endpoints that fail are down; after a restart an endpoint without a check is as
// the slices of the target say. Targets of which that is the same share the choice.
func (g *surveyedGroup) choose(others guard.WorkByFamily, published []publish.Slice) *choice {
	decided := g.sum()
	if known := g.choices[others]; known != nil || g.State == nil {
		return cmp.Or(known, decided)
	}
	var before []inventory.Member
	settled := decided.status.Verdict.Settled()
	if !settled {
		before = publish.Published(publish.State{Slices: published})
	}
	c := decided
	if chosen, differs := chosen(&decided.status, others, before); differs {
		c = g.choiceOf(*chosen)
	}
	if settled {
		g.choices[others] = c
	}
	return c
}

// chosen returns the status of a group as a target publishes it, and whether that is not
// what the group decided. The status itself is not changed.
func chosen(s *Status, others guard.WorkByFamily, before []inventory.Member) (*Status, bool) {
	v := &s.Verdict
	members := v.Published(others, before)
	if slices.Equal(members, v.Members) {
		return s, false
	}
	own := *s
	own.Verdict.Members, own.Findings = members, slices.Clone(s.Findings)
	open := false
	for i := range own.Findings {
		f := &own.Findings[i]
		if f.Stage != inventory.StageGuard || f.Reason == inventory.Gone || !f.Address.IsValid() {
			continue
		}
		if state := inventory.StateOf(members, f.Address); state != f.State {
			*f = differing(*f, state, s.Health.Of(f.Address), others == guard.WorkByFamily{})
		}
		open = open || f.Reason == inventory.ReadyFailOpen
	}
	if v.Mode == guard.FailOpen && !open {
		own.Verdict.Mode, own.Verdict.Cause, own.Verdict.Message = guard.Publish, "", overruled
	}
	return &own, true
}

// differing is the finding about an endpoint that the target publishes in another state
// than the group decided.
func differing(f explain.Finding, state inventory.State, checks inventory.Streak, alone bool) explain.Finding {
	f.State, f.Reason = state, inventory.ProbePending
	if alone || !checks.Known() {
		f.Message = "not published"
		if state != inventory.Absent {
			f.Message = "published " + state.String()
		}
		f.Message += ", as by this Service before the program started: no health check has judged the endpoint since"
		return f
	}
	if checks.Fails > 0 {
		f.Reason = checks.Last.Reason
	}
	what := "no traffic"
	switch state {
	case inventory.Absent:
		what = "not published"
	case inventory.StateDraining:
		f.Reason, what = inventory.Draining, "drains"
	case inventory.StateReady, inventory.StateDown:
	}
	f.Message = checks.Last.Message + ": " + what + ", because endpoints of another pool of the Service pass"
	return f
}

// DecidedBy is a document whose fields the messages of a target name.
type DecidedBy struct {
	// Kind is EndpointBinding, EndpointPool, or Service for its annotations. Namespace is
	// left out for a pool.
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Place is file and line, or "API server".
	Place string `json:"place"`
}

// String returns "EndpointBinding shop/web (API server)".
func (d DecidedBy) String() string {
	name := d.Name
	if d.Namespace != "" {
		name = d.Namespace + "/" + name
	}
	return strings.TrimSpace(d.Kind+" "+name) + " (" + d.Place + ")"
}

// decidedBy are the documents of a target: what asks for the pools, and the pools.
func (s *survey) decidedBy(t *assign.Assignment) []DecidedBy {
	of := []DecidedBy{{"Service", t.Namespace, t.Service, documents.APIServer}}
	if e, bound := s.Snapshot.Documents.Entry(documents.Key{Kind: v1alpha1.KindEndpointBinding, Namespace: t.Namespace, Name: t.Service}); bound {
		of[0] = decided(e)
	}
	for _, u := range t.Uses {
		e, there := s.Snapshot.Documents.Entry(documents.Key{Kind: v1alpha1.KindEndpointPool, Name: u.Pool})
		if there && !slices.Contains(of, decided(e)) {
			of = append(of, decided(e))
		}
	}
	return of
}

// OfVariables reports whether texts leave the name of the pool out: variables say what is
// filled, or it is not known yet.
func (d *Document) OfVariables() bool { return d.Service.Spelling == naming.Variables }

// Names is how texts that are added to the document name settings. Where the pool is
// empty they are those of the whole document.
func (d *Document) Names(pool string) naming.Names {
	if d.OfVariables() {
		return naming.Names{}
	}
	names := naming.Names{Spelling: d.Service.Spelling, Target: d.Service.Namespace + "/" + d.Service.Name}
	for _, p := range d.Pools {
		if len(d.Pools) == 1 || p.Name == cmp.Or(pool, d.Pool) {
			names.Pool, names.CheckBy = p.Name, p.HealthCheckBy
		}
	}
	return names
}

func decided(e documents.Entry) DecidedBy {
	place := documents.Mistake{File: e.File, Line: e.Line}.Place()
	return DecidedBy{e.Key.Kind, e.Key.Namespace, e.Key.Name, place}
}
