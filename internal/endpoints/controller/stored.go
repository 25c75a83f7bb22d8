package controller

import (
	"iter"
	"net/netip"
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer"
)

// move takes over how far a hand-over is, which changes nothing of what runs.
func (f *filler) move(fills []fill) {
	phases := phasesOf(fills)
	if !slices.Equal(f.phases, phases) && f.target != nil {
		f.target.Move(phases)
	}
	f.phases = phases
}

func phasesOf(fills []fill) []writer.Phase {
	phases := make([]writer.Phase, len(fills))
	for i, each := range fills {
		phases[i] = each.phase
	}
	return phases
}

// know takes over what came of the slices that the target before it had too.
func (f *filler) know(before *filler) {
	if before == nil {
		return
	}
	for i, each := range f.fills {
		if j := before.at(each.of.SliceName); j >= 0 {
			f.seen[i].Store(before.seen[j].Load())
		}
	}
}

// at returns which of the fills has slices of that first name, -1 if none has.
func (f *filler) at(slice string) int {
	return slices.IndexFunc(f.fills, func(each fill) bool { return each.of.SliceName == slice })
}

// stored returns what slices of that first name publish as ready in the API server, as far
// as clients of the Service can use it, and false where they were not read.
func (t *targets) stored(key assign.Key, slice string) (iter.Seq[netip.Addr], bool) {
	state, problem := t.state(key, slice)
	if state == nil || problem.Kind != "" {
		return nil, state != nil
	}
	return readyIn(state), true
}

// state returns what slices of that first name are known to be, nil where they were not read,
// and why the Service cannot be filled.
func (t *targets) state(key assign.Key, slice string) (*publish.State, publish.Problem) {
	f := t.running[key]
	if f == nil {
		return nil, publish.Problem{}
	}
	i := f.at(slice)
	if i < 0 {
		return nil, publish.Problem{}
	}
	if seen := f.seen[i].Load(); seen != nil {
		return &seen.State, seen.Problem
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.states[i], publish.Problem{}
}

// readyIn returns the ready endpoints in slices that the Service of today owns, and that have one of
// its ports.
func readyIn(state *publish.State) iter.Seq[netip.Addr] {
	service := state.Service
	has := func(p publish.Port) bool {
		return slices.ContainsFunc(service.Ports, func(port publish.ServicePort) bool { return port.Name == p.Name && port.Protocol == p.Protocol })
	}
	return func(yield func(netip.Addr) bool) {
		for _, s := range state.Slices {
			if s.Owner != service.UID || len(service.Ports) > 0 && !slices.ContainsFunc(s.Ports, has) {
				continue
			}
			for _, m := range s.Endpoints {
				if m.State == inventory.StateReady && !yield(m.Address) {
					return
				}
			}
		}
	}
}
