package report

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
)

// PoolStatus is a pool and what its groups decide.
type PoolStatus struct {
	Name      string    `json:"name"`
	Condition Condition `json:"condition"`
	// ModeState is that of the worst group; without a group the mode is Publish.
	ModeState
	// Problem is why the pool cannot be read or checked as its document says, if so. What
	// ran before goes on.
	Problem string `json:"problem,omitempty"`
	// Vanished says that no document describes the pool any more.
	Vanished bool `json:"vanished,omitempty"`
	// Source is left out where no target uses the pool: then it is not read.
	Source  *SourceState `json:"source,omitempty"`
	Removal *Removal     `json:"removal,omitempty"`
	// Services is how many take endpoints from the pool. Stages counts each
	// endpoint once for each group.
	Services int           `json:"services"`
	Stages   Stages        `json:"stages"`
	Groups   []GroupStatus `json:"groups"`
}

// GroupStatus is a pool whose endpoints are checked in one way.
type GroupStatus struct {
	// HealthCheck is the health check in words.
	HealthCheck string `json:"healthCheck"`
	// RemoteService is left out where none is followed.
	RemoteService *RemoteService `json:"remoteService,omitempty"`
	Condition     Condition      `json:"condition"`
	ModeState
	// Problem is why the endpoints are not checked and judged as the document says.
	Problem  string `json:"problem,omitempty"`
	Services int    `json:"services"`
	Stages   Stages `json:"stages"`
}

// pool says how a pool is: as bad as the worst of its groups.
func (s *survey) pool(name string) PoolStatus {
	p := s.pools[name]
	status := PoolStatus{
		Name: name, Condition: Healthy, ModeState: ModeState{Mode: guard.Publish.String()}, Problem: p.Problem, Vanished: s.vanished(name),
		Services: p.targets, Groups: make([]GroupStatus, 0, len(p.groups)),
	}
	if e := s.unusable(name); e != nil {
		status.Problem = "its document has a mistake, and no version before it is known"
		if len(e.Mistakes) > 0 {
			status.Problem += ": " + e.Mistakes[0].Error()
		}
	}
	if status.Problem != "" || status.Vanished {
		status.Condition = Degraded
	}
	for i, g := range p.groups {
		d := s.groupDocument(g)
		status.Groups = append(status.Groups, GroupStatus{
			HealthCheck: checkText(g.Check), RemoteService: d.Source.RemoteService, Condition: d.Condition, ModeState: d.ModeState, Problem: cmp.Or(g.Problem, d.Source.RemoteService.problem()), Services: g.targets, Stages: d.Stages,
		})
		d.Source.RemoteService = nil // the pool has one for each group
		nodes := max(status.Stages.Nodes, d.Stages.Nodes)
		status.Stages = status.Stages.and(d.Stages)
		status.Stages.Nodes = nodes // they are read once for all groups
		if status.Source == nil || d.Source.LastAttempt.After(status.Source.LastAttempt) {
			status.Source = &d.Source
		}
		if status.Removal == nil {
			status.Removal = d.Removal
		}
		if i == 0 || worse(d.Condition, status.Condition) < 0 {
			status.ModeState = d.ModeState
		}
		status.Condition = worst(status.Condition, d.Condition)
	}
	return status
}

// groupDocument is what a document says of a group, whatever becomes of its targets.
func (s *survey) groupDocument(g *surveyedGroup) *Document {
	g.sum()
	f := s.of(s.facts(), g.Group.Group)
	f.Status = &g.status
	d := frame(f)
	d.Stages = g.stages
	d.judge(g.count)
	d.spell(g.names)
	return d
}

// vanished reports whether no document describes a pool any more.
func (s *survey) vanished(name string) bool {
	_, described := s.Snapshot.Documents.Entry(documents.Key{Kind: v1alpha1.KindEndpointPool, Name: name})
	return !described
}

// unusable returns the document of a pool that no version of can be used, nil for others.
func (s *survey) unusable(name string) *documents.Entry {
	e, described := s.Snapshot.Documents.Entry(documents.Key{Kind: v1alpha1.KindEndpointPool, Name: name})
	if !described || e.Usable() {
		return nil
	}
	return &e
}

// checkText is a health check in words.
func checkText(c assign.Check) string {
	if c.Port == 0 {
		return "no check"
	}
	text := strings.TrimSpace(fmt.Sprintf("%s port %d %s", c.Mode, c.Port, c.Path))
	if c.Host != "" {
		text += " host " + c.Host
	}
	if c.ExpectedStatus != "" {
		text += " status " + c.ExpectedStatus
	}
	return text
}
