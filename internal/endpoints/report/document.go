package report

import (
	"cmp"
	"fmt"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings/naming"
)

// APIVersion is the version of the document's form. Fields may be added to it;
// what is there keeps its meaning.
const APIVersion = "v1"

// Head is how every answer begins.
type Head struct {
	APIVersion string `json:"apiVersion"`
	// At is when the answer was made.
	At time.Time `json:"at,omitzero"`
	// Standstill is why the program does not move on, if it does not. Everything
	// else in the answer is old then.
	Standstill string `json:"standstill,omitempty"`
	// Decided says that a first decision was made.
	Decided bool `json:"decided"`
	// Leader says that this process reads, probes and writes; Election says more
	// where there is one.
	Leader   bool     `json:"leader"`
	Election Election `json:"election"`
	// HandedOnBy is the replica that stands by and hands on this answer of the
	// leader; it is empty where the leader itself answers. "This process" is the
	// leader everywhere in the answer.
	HandedOnBy string `json:"handedOnBy,omitempty"`
}

// Beginning returns how the answer begins.
func (h *Head) Beginning() *Head { return h }

// Headline sums up an answer.
type Headline struct {
	Head
	// Summary is the headline, counted from nodes or Services.
	Summary string `json:"summary"`
	// Condition is the whole in one word, and Healthy says that this word is
	// Healthy. A standby is not healthy in this sense.
	Condition Condition `json:"condition"`
	Healthy   bool      `json:"healthy"`
	DryRun    bool      `json:"dryRun"`
	Program   Program   `json:"program"`
}

// ModeState is the mode of a pool, or of the worst of several.
type ModeState struct {
	// Mode is Publish, Hold or FailOpen; Reason and Message say why it is not
	// Publish, Since when it began.
	Mode    string    `json:"mode"`
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	Since   time.Time `json:"since,omitzero"`
}

// PoolState is what was read and decided of a pool, or of the worst of several.
type PoolState struct {
	ModeState
	Source SourceState `json:"source"`
	// Removal is what further rejected inventories will take away, if anything.
	Removal *Removal `json:"removal,omitempty"`
	// Stages counts what came through each stage.
	Stages Stages `json:"stages"`
}

// Document is GET /api/v1/services/NAMESPACE/NAME. docs/reference/status.schema.json describes it.
// Times are UTC with milliseconds; one that is not known is left out.
type Document struct {
	// Headline is Healthy where there are nodes, and every one that is meant to be
	// published is ready; the mode is Publish; the last read succeeded; all of it is
	// written; and nothing else needs attention.
	Headline
	// PoolState is that of the worst pool, but for Stages, which count all pools.
	PoolState
	Service Service `json:"service"`
	Store   Store   `json:"store"`
	// Problem is why the Service cannot be filled, if so.
	Problem *Problem `json:"problem,omitempty"`
	// Nodes has one entry for each address that came as far as the guard, and
	// one for each further node, sorted by name.
	Nodes []Node `json:"nodes"`
	// Cycles are the newest reads and changes, newest first.
	Cycles []Cycle `json:"cycles"`
	// Pools are what the Service takes from each of its pools.
	Pools []PoolPart `json:"pools,omitempty"`
	// Pool is the name of the worst pool, where the Service has several.
	Pool string `json:"pool,omitempty"`
	// Refusals are wishes of the Service that are not granted, Notices what of them has no
	// effect.
	Refusals []Refusal `json:"refusals,omitempty"`
	Notices  []Notice  `json:"notices,omitempty"`
	// DecidedBy are the documents whose fields the messages name: what asks for the pools,
	// and the pools. It is left out for a target of variables.
	DecidedBy []DecidedBy `json:"decidedBy,omitempty"`
}

// Removal is what will happen unless the source recovers.
type Removal struct {
	// Endpoints is how many endpoints will be removed, Inventories after how many
	// more scheduled rejected inventories the first of them, at the earliest; At is
	// when that will be, zero where it is not known.
	Endpoints   int       `json:"endpoints"`
	Inventories int       `json:"inventories"`
	At          time.Time `json:"at,omitzero"`
}

// String is a sentence without a full stop.
func (r Removal) String() string { return explain.PendingRemoval(guard.Removal(r)) }

// Election says which replica leads.
type Election struct {
	Enabled bool `json:"enabled"`
	// Holder is the identity that holds the lease, empty if none is known.
	Holder string    `json:"holder"`
	Since  time.Time `json:"since,omitzero"`
	// LeaderError is why a standby cannot hand on the document of the leader.
	LeaderError string `json:"leaderError,omitempty"`
	// Node is the node that the leader runs on, empty where that is not known. Replicas are
	// those that stand by for it and look too, nil where there are none or they cannot be read.
	Node     string    `json:"node,omitempty"`
	Replicas []Replica `json:"replicas,omitempty"`
	// HandedOver is when the lease was last given to a replica for what it reaches.
	HandedOver time.Time `json:"handedOver,omitzero"`
}

// Replica is one that stands by and tells the leader what it reaches.
type Replica struct {
	Name string `json:"name"`
	Node string `json:"node,omitempty"`
	// Reaches is how many endpoints it reaches that the leader does not, and Since is when it
	// began to.
	Reaches int       `json:"reaches"`
	Since   time.Time `json:"since,omitzero"`
}

// String says how many replicas look, and what they say.
func (e *Election) String() string {
	all, more := fmt.Sprintf("%d: the leader (%s)", 1+len(e.Replicas), cmp.Or(e.Node, "node not known")), ""
	together := e.Node != "" && len(e.Replicas) > 0
	for _, r := range e.Replicas {
		all += fmt.Sprintf(", %s (%s)", r.Name, cmp.Or(r.Node, "node not known"))
		if together = together && r.Node == e.Node; r.Reaches > 0 {
			more += fmt.Sprintf("; %s reaches %d endpoints that the leader does not", r.Name, r.Reaches)
		}
	}
	if together {
		more += "; all are on one node"
	}
	return all + more
}

// Program says which process answers.
type Program struct {
	Version       string    `json:"version"`
	StartedAt     time.Time `json:"startedAt,omitzero"`
	UptimeSeconds float64   `json:"uptimeSeconds"`
}

// Service is the Service that is filled.
type Service struct {
	Namespace string   `json:"namespace"`
	Name      string   `json:"name"`
	Slices    []string `json:"slices"`
	// Spelling is how the messages spell settings. It is left out for Variables.
	Spelling naming.Spelling `json:"spelling,omitzero"`
}

// SourceState says how reading goes.
type SourceState struct {
	Kind        string    `json:"kind"`
	LastAttempt time.Time `json:"lastAttempt,omitzero"`
	LastSuccess time.Time `json:"lastSuccess,omitzero"`
	NextRead    time.Time `json:"nextRead,omitzero"`
	LastError   string    `json:"lastError"`
	// RejectedInventories counts the scheduled inventories in a row that were rejected.
	RejectedInventories int `json:"rejectedInventories"`
	// Warnings are about the remote side although it can be read.
	Warnings []string `json:"warnings,omitempty"`
	// RemoteService is left out where none is followed.
	RemoteService *RemoteService `json:"remoteService,omitempty"`
}

// RemoteService is what is known of the Service of the remote cluster that is followed.
type RemoteService struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Nodes is how many have a ready Pod of it. EveryNode says that it forwards from every
	// node, so that it makes no difference where these are.
	Nodes     int  `json:"nodes"`
	EveryNode bool `json:"everyNode,omitempty"`
	// Reason is what is wrong with that, empty where nothing is; Message says more, and Since
	// when it began. Warnings of the source say the same.
	Reason  string    `json:"reason"`
	Message string    `json:"message"`
	Since   time.Time `json:"since,omitzero"`
}

// problem is what is wrong with it, empty where nothing is.
func (r *RemoteService) problem() string {
	if r == nil || r.Reason == "" {
		return ""
	}
	return r.Reason + ": " + r.Message
}

// String is a sentence without a full stop.
func (r *RemoteService) String() string {
	text := fmt.Sprintf("%s/%s, ready Pods on %d nodes", r.Namespace, r.Name, r.Nodes)
	if r.EveryNode {
		text += "; it forwards from every node, so that makes no difference"
	}
	return text
}

// Store says how writing goes.
type Store struct {
	Kind      string    `json:"kind"`
	LastWrite time.Time `json:"lastWrite,omitzero"`
	// LastError is LoadError or, without one, WriteError.
	LastError string `json:"lastError"`
	// LoadError is why the last load failed, WriteError why slices that should be
	// written cannot be. Both are empty when that is over.
	LoadError  string `json:"loadError,omitempty"`
	WriteError string `json:"writeError,omitempty"`
	// PendingSlices counts those that still differ from what was decided.
	PendingSlices int `json:"pendingSlices"`
	// SlicesOfOthers are slices with our names that are not ours, SlicesBeside those of other
	// names that publish endpoints for the same Service.
	SlicesOfOthers []string `json:"slicesOfOthers,omitempty"`
	SlicesBeside   []string `json:"slicesBeside,omitempty"`
}

// Problem is why the Service cannot be filled; a person has to correct it.
type Problem struct {
	Kind    string `json:"kind"`
	Message string `json:"message"`
}

// Stages counts, in the order of the data's way: nodes that the source listed,
// addresses that the filter let pass, those of them whose last checks passed,
// and what is published in which state.
type Stages struct {
	Nodes    int `json:"nodes"`
	Eligible int `json:"eligible"`
	Passing  int `json:"passing"`
	// Unchecked are endpoints whose health checks this machine could not carry out
	// for longer than FALL intervals.
	Unchecked int `json:"unchecked,omitempty"`
	Ready     int `json:"ready"`
	Draining  int `json:"draining"`
	Down      int `json:"down"`
}

// Node is one node, or one address of it.
type Node struct {
	Name    string `json:"name"`
	ID      string `json:"id,omitempty"`
	Address string `json:"address,omitempty"`
	Zone    string `json:"zone,omitempty"`
	// Pool is given where the Service has several pools.
	Pool string `json:"pool,omitempty"`
	// State is ready, draining, down or absent.
	State       string       `json:"state"`
	Reason      string       `json:"reason"`
	Message     string       `json:"message"`
	Since       time.Time    `json:"since,omitzero"`
	HealthCheck *HealthCheck `json:"healthCheck,omitempty"`
	// Decisions are the whole trail, from the filter to the guard.
	Decisions []Decision `json:"decisions"`
}

// HealthCheck is the newest check of an address that counts.
type HealthCheck struct {
	Outcome        string  `json:"outcome"`
	LatencySeconds float64 `json:"latencySeconds"`
	// Streak is how many in a row had this outcome's sense: passed, or failed.
	Streak  int       `json:"streak"`
	At      time.Time `json:"at,omitzero"`
	Message string    `json:"message"`
}

// Decision is what one stage said.
type Decision struct {
	Stage string `json:"stage"`
	// Address is given where it is not the node's.
	Address string `json:"address,omitempty"`
	// Reason is empty where the stage let it pass.
	Reason  string `json:"reason"`
	Message string `json:"message"`
}

// Cycle is one read, one decision that changed something, or one change of the slices.
type Cycle = explain.Cycle
