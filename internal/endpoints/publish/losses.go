package publish

import (
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// Losses returns the write that only takes away from a slice as it is stored, and false
// where there is nothing to take away: addresses that no desired slice of the Service has
// are removed, and those that have a worse state in all of them get the best of these. It
// adds and moves nothing, so it needs no other write.
//
// Where the slice is to have other ports, nothing is taken away: what was decided of its
// addresses holds for those.
func Losses(stored Slice, desired []Slice) (Write, bool) {
	sameNumber := func(a, b Port) bool { return a.Protocol == b.Protocol && a.Number == b.Number }
	i := slices.IndexFunc(desired, func(s Slice) bool { return s.Name == stored.Name })
	if i < 0 || !slices.EqualFunc(stored.Ports, desired[i].Ports, sameNumber) {
		return Write{}, false
	}
	members, less := Published(State{Slices: desired}), stored
	less.Endpoints, less.Drift = nil, "" // a store repairs what drifted
	for _, m := range stored.Endpoints {
		if state := inventory.StateOf(members, m.Address); state != inventory.Absent {
			m.State = max(m.State, state)
			less.Endpoints = append(less.Endpoints, m)
		}
	}
	w := newWrite(Update, stored, less)
	return w, len(w.Removed)+len(w.Changed) > 0
}
