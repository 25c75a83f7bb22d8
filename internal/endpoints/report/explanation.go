package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings/naming"
)

// Explanation is GET /api/v1/explain: what is known of a node or an address in every
// target.
type Explanation struct {
	Head
	Subject string `json:"subject"`
	// Known is how many targets were searched, Total how many of them know the subject,
	// Offset how many of those come before the first of Services.
	Known    int                `json:"known"`
	Total    int                `json:"total"`
	Offset   int                `json:"offset"`
	Services []ExplainedService `json:"services"`
}

// ExplainedService is what one Service knows of the subject.
type ExplainedService struct {
	Namespace string    `json:"namespace"`
	Service   string    `json:"service"`
	Condition Condition `json:"condition"`
	// Spelling is how the messages spell settings.
	Spelling naming.Spelling `json:"spelling,omitzero"`
	// Nodes are the entries about the subject, as in the target's Document.
	Nodes []Node `json:"nodes"`
}

// Explain says what each target knows of a node or an address. Namespace and Pool of the
// query narrow the targets, Condition does not.
func (m Process) Explain(subject string, q Query) *Explanation {
	s := m.survey()
	e := &Explanation{Head: s.head().Head, Subject: subject}
	found := make(map[*choice][]Node)
	var all []ExplainedService
	for i := range m.Snapshot.Plan.Targets {
		if q.Namespace != "" && m.Snapshot.Plan.Targets[i].Namespace != q.Namespace {
			continue
		}
		parts := s.parts(i)
		if q.Pool != "" {
			parts = slices.DeleteFunc(parts, func(p part) bool { return p.use.Pool != q.Pool })
		}
		if len(parts) == 0 {
			continue
		}
		e.Known++
		var nodes []Node
		for _, p := range parts {
			nodes = append(nodes, p.find(subject, found)...)
		}
		if len(nodes) > 0 {
			d := s.target(i, false)
			all = append(all, d.explained(nodes))
		}
	}
	e.pick(all, q)
	return e
}

// Explain says what the Service of the document knows of a node or an address.
func (d *Document) Explain(subject string) *Explanation {
	e := &Explanation{Head: d.Head, Subject: subject, Known: 1, Services: []ExplainedService{}}
	if nodes := d.Find(subject); len(nodes) > 0 {
		e.Total, e.Services = 1, append(e.Services, d.explained(nodes))
	}
	return e
}

func (d *Document) explained(nodes []Node) ExplainedService {
	return ExplainedService{Namespace: d.Service.Namespace, Service: d.Service.Name, Condition: d.Condition, Spelling: d.Service.Spelling, Nodes: nodes}
}

// ReadyIn counts the Services that publish the subject ready: all of its addresses that are
// in a slice.
func (e *Explanation) ReadyIn() (ready int) {
	for _, t := range e.Services {
		ready += t.ready()
	}
	return ready
}

// find returns the entries about a subject, in the words of the target. found remembers
// those of choices, which targets share.
func (p *part) find(subject string, found map[*choice][]Node) []Node {
	known, ok := found[p.choice]
	if !ok {
		known = (&Document{Nodes: nodesOf(&p.choice.status)}).Find(subject)
		found[p.choice] = known
	}
	nodes := slices.Clone(known)
	for i := range nodes {
		n := &nodes[i]
		n.Pool = p.use.Pool
		if p.facts.Target.Names.Spelling == naming.Variables {
			continue
		}
		n.Decisions = slices.Clone(n.Decisions)
		if n.HealthCheck != nil {
			probe := *n.HealthCheck
			n.HealthCheck = &probe
		}
		n.spell(p.facts.Target.Names)
	}
	return nodes
}

// pick chooses the targets that are asked for: first those of which an endpoint is not
// ready.
func (e *Explanation) pick(all []ExplainedService, q Query) {
	slices.SortStableFunc(all, func(a, b ExplainedService) int {
		return cmp.Or(cmp.Compare(a.ready(), b.ready()), strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Service, b.Service))
	})
	e.Total, e.Offset = len(all), min(q.Offset, len(all))
	e.Services = append([]ExplainedService{}, all[e.Offset:e.Offset+min(cmp.Or(q.Limit, DefaultLimit), len(all)-e.Offset)]...)
}

// ready is 1 where each address that is in a slice is published ready, whichever node has it,
// and one is; else 0. What is in no slice may be an address that is not eligible.
func (t *ExplainedService) ready() int {
	type endpoint struct{ pool, address string }
	ready := make(map[endpoint]bool)
	for _, n := range t.Nodes {
		if n.State == inventory.StateReady.String() {
			ready[endpoint{n.Pool, n.Address}] = true
		}
	}
	for _, n := range t.Nodes {
		if n.State != inventory.Absent.String() && !ready[endpoint{n.Pool, n.Address}] {
			return 0
		}
	}
	return min(len(ready), 1)
}
