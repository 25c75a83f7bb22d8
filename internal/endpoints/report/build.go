package report

import (
	"cmp"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// Status is what a pool decided, and what came of it in the slices of one Service.
type Status struct {
	// At is when it was made, zero before the first decision.
	At      time.Time
	Verdict guard.Verdict
	// ModeSince is when the mode was entered.
	ModeSince time.Time
	Health    inventory.Health
	State     publish.State
	Problem   publish.Problem
	Source    pool.SourceStatus
	Store     StoreStatus
	// Findings are the last word on every node and address, those that left a short while ago
	// included, sorted by node and address.
	Findings []explain.Finding
	// Cycles are the newest reads and changes, newest first.
	Cycles []explain.Cycle
}

// StoreStatus is how loading and writing goes.
type StoreStatus struct {
	// LastWrite is when the last write succeeded, zero if none has.
	LastWrite time.Time
	// LoadErr is why the last load failed, WriteErr why slices that should be written cannot
	// be; nil if all is well.
	LoadErr, WriteErr error
	// Pending is how many slices still differ from what was decided.
	Pending int
}

// Facts are what a Document is made of.
type Facts struct {
	Process
	Status *Status
	Target publish.Target
	// SourceKind is the value of SOURCE_KIND that does the same.
	SourceKind string
	// Warnings are those of the source.
	Warnings []string
	// Remote is nil where no remote Service is followed.
	Remote *RemoteService
}

// Build makes the document. It shares nothing with the facts that could change.
func Build(f Facts) *Document {
	g := &surveyedGroup{}
	p := part{facts: f, group: g, choice: g.choiceOf(*f.Status)}
	d, c := p.document(true)
	d.summarise(c)
	return d
}

// frame makes the document without what depends on the endpoints.
func frame(f Facts) *Document {
	s := f.Status
	d := &Document{
		Headline: Headline{
			Head:    Head{APIVersion: APIVersion, At: stamp(f.Now), Decided: !s.At.IsZero(), Leader: f.Leader, Election: f.Election},
			DryRun:  f.DryRun,
			Program: Program{Version: f.Version, StartedAt: stamp(f.Started), UptimeSeconds: seconds(f.Now.Sub(f.Started))},
		},
		PoolState: PoolState{
			ModeState: ModeState{Mode: s.Verdict.Mode.String(), Reason: string(s.Verdict.Cause), Message: s.Verdict.Message, Since: stamp(s.ModeSince)},
			Source:    sourceOf(f),
		},
		Service: targetOf(f.Target, s.State),
		Store:   storeOf(f.StoreKind, s),
		Nodes:   []Node{},
		Cycles:  make([]Cycle, 0, len(s.Cycles)),
	}
	d.Election = d.Election.stamped()
	if s.Verdict.Removal.Endpoints > 0 {
		removal := Removal(s.Verdict.Removal)
		removal.At = stamp(removal.At)
		d.Removal = &removal
	}
	if s.Problem.Kind != "" {
		d.Problem = &Problem{Kind: string(s.Problem.Kind), Message: s.Problem.Message}
	}
	return d
}

// stamp is a time as the document writes it.
func stamp(t time.Time) time.Time {
	if t.IsZero() {
		return t
	}
	return t.UTC().Truncate(time.Millisecond)
}

// seconds is a duration as the document writes it, to the microsecond.
func seconds(d time.Duration) float64 { return d.Truncate(time.Microsecond).Seconds() }

// words spells an error.
func words(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func targetOf(t publish.Target, state publish.State) Service {
	target := Service{Namespace: t.Namespace, Name: t.Service, Spelling: t.Names.Spelling, Slices: make([]string, 0, len(state.Slices))}
	for _, s := range state.Slices {
		target.Slices = append(target.Slices, s.Name)
	}
	return target
}

func sourceOf(f Facts) SourceState {
	s := f.Status.Source
	return SourceState{
		Kind: f.SourceKind, LastAttempt: stamp(s.LastAttempt), LastSuccess: stamp(s.LastSuccess), NextRead: stamp(s.Next),
		LastError: words(s.LastErr), RejectedInventories: f.Status.Verdict.Memory.Rejected(), Warnings: slices.Clone(f.Warnings), RemoteService: f.Remote,
	}
}

func storeOf(kind string, s *Status) Store {
	store := Store{Kind: kind, LastWrite: stamp(s.Store.LastWrite), LoadError: words(s.Store.LoadErr), WriteError: words(s.Store.WriteErr), PendingSlices: s.Store.Pending}
	store.LastError = cmp.Or(store.LoadError, store.WriteError)
	for _, r := range s.State.Refused {
		store.SlicesOfOthers = append(store.SlicesOfOthers, r.Name+": "+r.Message)
	}
	for _, b := range s.State.Beside {
		store.SlicesBeside = append(store.SlicesBeside, b.Name+": "+b.Message)
	}
	return store
}

func stagesOf(s *Status) Stages {
	stages := Stages{Nodes: s.Source.Nodes, Unchecked: s.Verdict.Unchecked}
	for _, d := range s.Source.Decisions {
		if d.Reason == "" && d.Stage == inventory.StageFilter {
			stages.Eligible++
		}
	}
	for _, streak := range s.Health.All() {
		if streak.Passes > 0 {
			stages.Passing++
		}
	}
	for _, m := range s.Verdict.Members {
		switch m.State {
		case inventory.StateReady:
			stages.Ready++
		case inventory.StateDraining:
			stages.Draining++
		case inventory.StateDown:
			stages.Down++
		case inventory.Absent:
		}
	}
	return stages
}

// Answer is something that one replica makes and another hands on.
type Answer interface {
	// HandOn notes which replica hands it on. It reports whether it is an answer that the
	// leader of that identity has made.
	HandOn(by, leader string) bool
	// ByItself says in an answer of this process why the program does not move on, and why the
	// answer is not the leader's: empty and nil where that is not so.
	ByItself(standstill string, leader error)
}

// StandsBy reports whether the answer is that of a standby itself, which knows no nodes.
func (h *Head) StandsBy() bool { return !h.Leader && h.Election.Enabled }

// HandOn implements Answer.
func (h *Head) HandOn(by, leader string) bool {
	h.HandedOnBy = by
	return h.Leader && h.Election.Holder == leader
}

// ByItself implements Answer.
func (h *Head) ByItself(standstill string, leader error) {
	h.Standstill = standstill
	if leader != nil {
		h.Election.LeaderError = leader.Error()
	}
}

// ByItself says so in the headline too.
func (h *Headline) ByItself(standstill string, leader error) {
	h.Head.ByItself(standstill, leader)
	if standstill != "" && h.Condition != StandingBy {
		h.Condition, h.Healthy = Failing, false
	}
	if leader != nil {
		h.Summary += ", but its status cannot be read"
	}
}

// stamped is the election with times as answers have them.
func (e Election) stamped() Election {
	e.Since, e.HandedOver, e.Replicas = stamp(e.Since), stamp(e.HandedOver), slices.Clone(e.Replicas)
	for i := range e.Replicas {
		e.Replicas[i].Since = stamp(e.Replicas[i].Since)
	}
	return e
}
