package report

import (
	"cmp"
	"fmt"
	"net/netip"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/narration"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/syncer"
)

// Facts are what a Document is made of.
type Facts struct {
	Now    time.Time
	Status *syncer.Status
	Target plan.Target
	// SourceKind and StoreKind are the values of the variables of that name.
	SourceKind, StoreKind string
	// Leader says that this process reads, probes and writes.
	Leader   bool
	Election Election
	DryRun   bool
	// HealthOff says that nothing is probed, and every candidate counts as
	// passing.
	HealthOff bool
	Version   string
	Started   time.Time
	// Warnings are those of the source.
	Warnings []string
}

// Build makes the document. It shares nothing with the facts that could change.
func Build(f Facts) *Document {
	s := f.Status
	d := &Document{
		APIVersion: APIVersion, At: stamp(f.Now), Decided: s.Decided(),
		Mode: s.Verdict.Mode.String(), Reason: string(s.Verdict.Cause), Message: s.Verdict.Message, Since: stamp(s.ModeSince),
		Leader: f.Leader, Election: f.Election, DryRun: f.DryRun,
		Program: Program{Version: f.Version, StartedAt: stamp(f.Started), UptimeSeconds: seconds(f.Now.Sub(f.Started))},
		Target:  targetOf(f.Target, s.State),
		Source:  sourceOf(f),
		Store:   storeOf(f.StoreKind, s),
		Stages:  stagesOf(f),
		Nodes:   nodesOf(s),
		Cycles:  make([]Cycle, 0, len(s.Cycles)),
	}
	d.Election.Since = stamp(d.Election.Since)
	if s.Verdict.Removal.Endpoints > 0 {
		removal := Removal(s.Verdict.Removal)
		removal.At = stamp(removal.At)
		d.Removal = &removal
	}
	if s.Problem.Kind != "" {
		d.Problem = &Problem{Kind: string(s.Problem.Kind), Message: s.Problem.Message}
	}
	for _, c := range s.Cycles {
		d.Cycles = append(d.Cycles, cycleOf(c))
	}
	d.summarise()
	d.Judge()
	d.spell()
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

// addresses spells addresses.
func addresses(addrs []netip.Addr) []string {
	all := make([]string, len(addrs))
	for i, addr := range addrs {
		all[i] = addr.String()
	}
	return all
}

func targetOf(t plan.Target, state plan.State) Target {
	target := Target{Namespace: t.Namespace, Service: t.Service, Spelling: t.Spelling, Slices: make([]string, 0, len(state.Slices))}
	for _, s := range state.Slices {
		target.Slices = append(target.Slices, s.Name)
	}
	return target
}

func sourceOf(f Facts) Source {
	s := f.Status.Source
	return Source{
		Kind: f.SourceKind, LastAttempt: stamp(s.LastAttempt), LastSuccess: stamp(s.LastSuccess), NextRead: stamp(s.Next),
		LastError: words(s.LastErr), SuspectReads: f.Status.Verdict.Memory.Rejected(), Warnings: f.Warnings,
	}
}

func storeOf(kind string, s *syncer.Status) Store {
	store := Store{Kind: kind, LastWrite: stamp(s.Store.LastWrite), LoadError: words(s.Store.LoadErr), WriteError: words(s.Store.WriteErr), Pending: s.Store.Pending}
	store.LastError = cmp.Or(store.LoadError, store.WriteError)
	for _, r := range s.State.Refused {
		store.Refused = append(store.Refused, r.Name+": "+r.Message)
	}
	for _, b := range s.State.Beside {
		store.Beside = append(store.Beside, b.Name+": "+b.Message)
	}
	return store
}

func stagesOf(f Facts) Stages {
	s := f.Status
	stages := Stages{Nodes: s.Source.Nodes, Unchecked: s.Verdict.Unchecked}
	for _, d := range s.Source.Decisions {
		if d.Reason == "" && d.Stage == inventory.StageFilter {
			stages.Candidates++
		}
	}
	for _, streak := range s.Health.All() {
		if streak.Passes > 0 {
			stages.Passing++
		}
	}
	if f.HealthOff {
		stages.Passing = stages.Candidates
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

func cycleOf(c narration.Cycle) Cycle {
	return Cycle{
		At: stamp(c.At), DurationSeconds: seconds(c.Took), Writes: c.Writes, Repeats: c.Repeats, Error: words(c.Err),
		Added: addresses(c.Added), Removed: addresses(c.Removed), Changed: addresses(c.Changed),
	}
}

// summarise writes the headline. It counts what the nodes say, so that it cannot
// be better than they are.
func (d *Document) summarise() {
	c := d.count()
	where := d.Target.Namespace + "/" + d.Target.Service
	d.Summary = fmt.Sprintf("%d of %d nodes ready in %s", c.ready, c.meant, where)
	switch {
	case !d.Leader && d.Election.Enabled && d.Election.Holder != "":
		d.Summary = fmt.Sprintf("standing by for %s; %s leads", where, d.Election.Holder)
	case !d.Leader && d.Election.Enabled:
		d.Summary = fmt.Sprintf("standing by for %s; no replica is known to lead", where)
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
// passed their last health check.
type nodeCount struct{ meant, ready, passing int }

// count counts nodes. What it says of a node holds for all its entries.
func (d *Document) count() nodeCount {
	type key struct{ name, id string }
	type state struct{ unready, failing bool }
	states := make(map[key]state)
	for _, n := range d.Nodes {
		if !n.Meant() {
			continue
		}
		id := key{n.Name, n.ID}
		if n.Name == "" && n.ID == "" {
			id.id = n.Address // a member that no inventory has listed yet
		}
		s := states[id]
		s.unready = s.unready || n.State != inventory.StateReady.String()
		s.failing = s.failing || n.Probe == nil || n.Probe.Outcome != inventory.Pass.String()
		states[id] = s
	}
	c := nodeCount{meant: len(states)}
	for _, s := range states {
		if !s.unready {
			c.ready++
		}
		if !s.failing {
			c.passing++
		}
	}
	return c
}

// Meant reports whether the node is one that should be published: it is there and
// stays, runs workloads and does not ask to be left out; or it leaves, and is
// published ready because nothing else that passes is.
func (n Node) Meant() bool {
	switch inventory.Reason(n.Reason) {
	case inventory.NotWorker, inventory.Excluded, inventory.Draining, inventory.Gone:
		return false
	case inventory.Ready, inventory.ReadyFailOpen, inventory.ReadyHeld, inventory.ReadyFailing, inventory.ReadyDraining,
		inventory.ProbePending, inventory.ProbeRefused, inventory.ProbeTimeout, inventory.ProbeUnreachable, inventory.ProbeStatus, inventory.ProbeTLS,
		inventory.NodeNotReady, inventory.NoPrivateAddress, inventory.InvalidAddress, inventory.ForbiddenAddress, inventory.OutsideSubnet, inventory.DuplicateAddress:
	}
	return true
}
