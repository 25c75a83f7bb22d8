package report

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
)

// Services is GET /api/v1/services: every pool, and the targets that are asked for, the
// worst first. docs/reference/services.schema.json describes it. Times and unknown fields
// are as in Document.
type Services struct {
	// Headline has the worst condition of all targets and pools, whatever was asked for.
	Headline
	// Documents is left out where the environment sets up the only target.
	Documents *Documents `json:"documents,omitempty"`
	// ServicesKept says that so many Services vanished at once that they are kept, and what to do.
	ServicesKept string `json:"servicesKept,omitempty"`
	// ServicesWithoutPool have slices of pools that no document describes. They stay as they are.
	ServicesWithoutPool []ServiceWithoutPool `json:"servicesWithoutPool,omitempty"`
	Pools               []PoolStatus         `json:"pools"`
	// Conditions count the targets that have the namespace and the pool asked for, the
	// worst condition first; one that no target has is left out.
	Conditions []ConditionCount `json:"conditions"`
	// Known is how many targets there are, Total how many of them are asked for, Offset
	// how many of those come before the first of Services.
	Known    int             `json:"known"`
	Total    int             `json:"total"`
	Offset   int             `json:"offset"`
	Services []ServiceStatus `json:"services"`
}

// Documents says what became of the documents.
type Documents struct {
	// Generation counts the changes of the documents in effect.
	Generation uint64 `json:"generation"`
	// Mistakes are what is wrong with them, in the order of the files; where not all are listed, the
	// last one says how many more there are.
	Mistakes []Mistake `json:"mistakes"`
	// StatusError says of which objects in the API server the status is not written, and why.
	StatusError string `json:"statusError,omitempty"`
}

// Mistake is something wrong with a document.
type Mistake struct {
	// Place is file and line, Message names document and field, the rule and the remedy.
	Place   string `json:"place"`
	Message string `json:"message"`
}

// ServiceWithoutPool has the slices of one Service and pool.
type ServiceWithoutPool struct {
	Namespace string `json:"namespace"`
	Service   string `json:"service"`
	Pool      string `json:"pool"`
	Slice     string `json:"slice"`
	Endpoints int    `json:"endpoints"`
}

// ConditionCount is how many targets have a condition.
type ConditionCount struct {
	Condition Condition `json:"condition"`
	Services  int       `json:"services"`
}

// ServiceStatus is a Service in a line or two. Its Document says all of it.
type ServiceStatus struct {
	Namespace string    `json:"namespace"`
	Service   string    `json:"service"`
	Condition Condition `json:"condition"`
	Summary   string    `json:"summary"`
	// Pools are those that fill it, Refusals the wishes that are not granted.
	Pools    []PoolUse `json:"pools"`
	Refusals []Refusal `json:"refusals,omitempty"`
	// Notices tell what has no effect.
	Notices []Notice `json:"notices,omitempty"`
	// ReadyEndpoints of the published Endpoints get traffic.
	ReadyEndpoints int `json:"readyEndpoints"`
	Endpoints      int `json:"endpoints"`
	// LeavesAt is when its slices are emptied; it is left out where no time says so.
	LeavesAt time.Time `json:"leavesAt,omitzero"`
	DryRun   bool      `json:"dryRun"`
	// Problem is why the Service cannot be filled, if so.
	Problem *Problem `json:"problem,omitempty"`
}

// Refusal is a wish that is not granted. It says the same of a pool that does not exist
// and of one that the namespace may not use (contract 59).
type Refusal struct {
	// Pool is empty where the whole wish is concerned.
	Pool    string `json:"pool"`
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Notice tells something that changes nothing.
type Notice struct {
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Query is which targets are asked for.
type Query struct {
	// Namespace and Pool are empty for all. Service is a part of the name; empty for all.
	Namespace, Pool, Service string
	// Condition is empty for all, and Unhealthy for all but Healthy.
	Condition Condition
	// Limit is how many are returned at most, after the first Offset.
	Limit, Offset int
}

const (
	// Unhealthy asks for every condition but Healthy. No target has it.
	Unhealthy Condition = "Unhealthy"
	// Refused says that nothing is published, because nothing is granted of what the
	// Service asks for, or because that does not fit.
	// Only a target has it.
	Refused Condition = "Refused"
)

// ServiceConditions are the conditions that can be asked for, the worst first.
func ServiceConditions() []Condition { return append([]Condition{Unhealthy}, conditions()...) }

const (
	// DefaultLimit is how many targets are returned where nothing else is asked for.
	DefaultLimit = 100
	// MaxLimit is how many are returned at most.
	MaxLimit = 1000
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
	e, described := s.Snapshot.Documents.Entry(documents.Key{Kind: v1alpha1.KindEndpointPool, Name: name})
	status := PoolStatus{
		Name: name, Condition: Healthy, ModeState: ModeState{Mode: guard.Publish.String()}, Problem: p.Problem, Vanished: !described,
		Services: p.targets, Groups: make([]GroupStatus, 0, len(p.groups)),
	}
	if described && !e.Usable() {
		status.Problem = "its document has a mistake, and no earlier version is known"
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
		status.Removal = cmp.Or(status.Removal, d.Removal)
		if i == 0 || worse(d.Condition, status.Condition) < 0 {
			status.ModeState = d.ModeState
		}
		status.Condition = worst(status.Condition, d.Condition)
	}
	return status
}

// groupDocument is what a document says of a group, whatever becomes of its targets.
func (s *survey) groupDocument(g *surveyedGroup) *Document {
	decided := g.sum()
	f := s.of(s.facts(), g.Group.Group)
	f.Status = &decided.status
	d := frame(f)
	d.Stages = decided.stages
	d.judge(decided.count)
	d.spell(g.names)
	return d
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
