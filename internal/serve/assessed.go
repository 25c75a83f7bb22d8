package serve

import (
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/narration"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/pool"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/resolve"
)

// Snapshot returns the assessment in the form of what runs, for those who show it.
func (a *Assessment) Snapshot() *Snapshot {
	out := &Snapshot{At: a.At, Plan: a.Plan, Documents: a.Documents, Services: a.services}
	for i := range a.Plan.Pools {
		shown := Pool{Name: a.Plan.Pools[i].Name}
		if read := a.Pools[shown.Name]; read != nil {
			shown.Warnings = read.Warnings
		}
		out.Pools = append(out.Pools, shown)
	}
	for _, g := range a.Plan.Groups() {
		out.Groups = append(out.Groups, a.group(g))
	}
	for _, t := range a.Targets {
		var shown Target
		for _, f := range t.Fills {
			fill := Fill{Target: f.Target}
			if f.Undecided == nil {
				fill.State = &FillState{State: f.State, Problem: f.Problem, LoadErr: f.StoreErr, Pending: len(f.Writes)}
			}
			shown.Fills = append(shown.Fills, fill)
		}
		out.Targets = append(out.Targets, shown)
	}
	return out
}

// group is what was decided on one group, or why nothing was.
func (a *Assessment) group(g resolve.Group) Group {
	shown := Group{Group: g, State: &GroupState{ModeSince: a.At, Findings: func() []narration.Finding { return nil }}}
	o := &shown.State.Outcome
	o.At, o.Judged, o.Verdict = a.At, a.At, &guard.Verdict{}
	if read := a.Pools[g.Pool]; read != nil {
		o.Source = read.Sourced()
	}
	decided := a.Groups[g]
	switch {
	case decided == nil:
	case decided.Verdict != nil:
		o.Decided, o.Verdict, o.Health = true, decided.Verdict, decided.Health
		shown.State.Findings = decided.Findings
	case o.Source.LastErr == nil:
		shown.Problem = decided.Err.Error()
	}
	return shown
}

// Sourced is how reading went.
func (p *AssessedPool) Sourced() pool.Sourced {
	s := pool.Sourced{LastAttempt: p.Reading.At, LastErr: p.Err, Nodes: len(p.Reading.Nodes), Decisions: narration.ByName(p.Filtered.Decisions)}
	if p.Err == nil {
		s.LastSuccess = s.LastAttempt
	}
	return s
}
