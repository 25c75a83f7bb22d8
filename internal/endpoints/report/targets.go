package report

import (
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings/spelling"
)

// Services is GET /api/v1/services: every pool, and the targets that are asked for, the
// worst first. docs/reference/services.schema.json describes it. Times and unknown fields
// are as in Document.
type Services struct {
	APIVersion string    `json:"apiVersion"`
	At         time.Time `json:"at,omitzero"`
	// Summary is the headline. Condition is the worst of all targets and pools, whatever
	// was asked for, and Healthy says that it is Healthy.
	Summary   string    `json:"summary"`
	Condition Condition `json:"condition"`
	Healthy   bool      `json:"healthy"`
	// Standstill, Decided, Leader, Election, HandedOnBy, DryRun and Program are as in
	// Document.
	Standstill string   `json:"standstill,omitempty"`
	Decided    bool     `json:"decided"`
	Leader     bool     `json:"leader"`
	Election   Election `json:"election"`
	HandedOnBy string   `json:"handedOnBy,omitempty"`
	DryRun     bool     `json:"dryRun"`
	Program    Program  `json:"program"`
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
	// Mistakes are all that is wrong with them, in the order of the files.
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

// PoolStatus is a pool and what its groups decide.
type PoolStatus struct {
	Name      string    `json:"name"`
	Condition Condition `json:"condition"`
	// Mode, Reason, Message and Since are those of the worst group; without a group the
	// mode is Publish.
	Mode    string    `json:"mode"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	Since   time.Time `json:"since,omitzero"`
	// Problem is why the pool cannot be read or checked as its document says, if so. What
	// ran before goes on.
	Problem string `json:"problem,omitempty"`
	// Vanished says that no document describes the pool any more.
	Vanished bool `json:"vanished,omitempty"`
	// Source is left out where no target uses the pool: then it is not read.
	Source  *Source  `json:"source,omitempty"`
	Removal *Removal `json:"removal,omitempty"`
	// Services is how many take endpoints from the pool. Stages counts each
	// endpoint once for each group.
	Services int           `json:"services"`
	Stages   Stages        `json:"stages"`
	Groups   []GroupStatus `json:"groups"`
}

// GroupStatus is a pool whose endpoints are checked in one way.
type GroupStatus struct {
	// HealthCheck is the health check in words.
	HealthCheck string    `json:"healthCheck"`
	Condition   Condition `json:"condition"`
	Mode        string    `json:"mode"`
	Reason      string    `json:"reason"`
	Message     string    `json:"message"`
	Since       time.Time `json:"since,omitzero"`
	// Problem is why the endpoints are not checked and judged as the document says.
	Problem  string `json:"problem,omitempty"`
	Services int    `json:"services"`
	Stages   Stages `json:"stages"`
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

// UseState is what becomes of what a target takes from a pool.
type UseState string

// The states of a use.
const (
	// Active is published and checked.
	Active UseState = "active"
	// Waiting is published and checked as before, until what is wanted instead is ready.
	Waiting UseState = "waiting"
	// Leaving is published and checked until its time is over.
	Leaving UseState = "leaving"
	// Kept vanished together with too many others, and stays.
	Kept UseState = "kept"
	// Emptied is to be published without endpoints.
	Emptied UseState = "emptied"
)

// PoolUse is what a target takes from one pool.
type PoolUse struct {
	Name  string   `json:"name"`
	State UseState `json:"state"`
	// Message says why the state is not Active.
	Message string `json:"message"`
	// LeavesAt is when a leaving use ends, where time says so.
	LeavesAt time.Time `json:"leavesAt,omitzero"`
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

// PoolPart is one pool in the document of a target.
type PoolPart struct {
	Name string `json:"name"`
	// State, StateMessage and LeavesAt are those of PoolUse.
	State        UseState  `json:"state"`
	StateMessage string    `json:"stateMessage"`
	LeavesAt     time.Time `json:"leavesAt,omitzero"`
	// HealthCheckBy is the kind of what says how endpoints are checked: the pool, the
	// binding, or the Service by its annotations.
	HealthCheckBy spelling.Kind `json:"healthCheckBy,omitempty"`
	// Mode, Reason, Message and Since are as in Document, for this pool alone. Where the
	// pool fails open while another pool of the Service works, failing open does not apply
	// here: the mode is Publish, and Message says so.
	Mode    string    `json:"mode"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	Since   time.Time `json:"since,omitzero"`
	Source  Source    `json:"source"`
	Removal *Removal  `json:"removal,omitempty"`
	Stages  Stages    `json:"stages"`
}

// Explanation is GET /api/v1/explain: what is known of a node or an address in every
// target.
type Explanation struct {
	APIVersion string    `json:"apiVersion"`
	At         time.Time `json:"at,omitzero"`
	Subject    string    `json:"subject"`
	Standstill string    `json:"standstill,omitempty"`
	Decided    bool      `json:"decided"`
	Leader     bool      `json:"leader"`
	Election   Election  `json:"election"`
	HandedOnBy string    `json:"handedOnBy,omitempty"`
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
	Spelling spelling.Spelling `json:"spelling,omitzero"`
	// Nodes are the entries about the subject, as in the target's Document.
	Nodes []Node `json:"nodes"`
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

// Answer is something that one replica makes and another hands on.
type Answer interface {
	// HandOn notes which replica hands it on. It reports whether it is an answer that the
	// leader of that identity has made.
	HandOn(by, leader string) bool
}

const (
	// DefaultLimit is how many targets are returned where nothing else is asked for.
	DefaultLimit = 100
	// MaxLimit is how many are returned at most.
	MaxLimit = 1000
)
