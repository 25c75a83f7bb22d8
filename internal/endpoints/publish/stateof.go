package publish

import (
	"cmp"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"
)

// StateOf is what a store answers for the target: its Service, the objects that
// have a name of the target, and those that publish beside them. The order of the
// objects means nothing.
func StateOf(service Service, objects []*discoveryv1.EndpointSlice, target Target) State {
	state := State{Service: service}
	var beside []Beside
	for _, object := range objects {
		if _, _, ours := target.ParseName(object.Name); !ours {
			beside = append(beside, ToBeside(object, target))
			continue
		}
		slice, refusal := ToSlice(object, target)
		if refusal != nil {
			state.Refused = append(state.Refused, *refusal)
			continue
		}
		state.Slices = append(state.Slices, slice)
	}
	slices.SortFunc(state.Slices, func(a, b Slice) int { return target.CompareNames(a.Name, b.Name) })
	slices.SortFunc(state.Refused, func(a, b Refusal) int { return cmp.Compare(a.Name, b.Name) })
	state.Beside = BesideOf(service, beside)
	return state
}
