package serve

import (
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/narration"
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
	for _, key := range a.Plan.Groups() {
		g := a.Groups[key]
		if g == nil {
			g = a.undecided(key)
		}
		shown := Group{Group: key, State: &g.GroupState}
		if g.Err != nil && g.Source.LastErr == nil {
			shown.Problem = g.Err.Error()
		}
		out.Groups = append(out.Groups, shown)
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

// undecided is a group on which nothing was decided yet.
func (a *Assessment) undecided(key resolve.Group) *AssessedGroup {
	g := &AssessedGroup{GroupState: GroupState{ModeSince: a.At, Findings: func() []narration.Finding { return nil }}}
	g.At, g.Judged, g.Verdict = a.At, a.At, &guard.Verdict{}
	if read := a.Pools[key.Pool]; read != nil {
		g.Source = read.Sourced
	}
	return g
}
