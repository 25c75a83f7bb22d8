package manifest

import (
	"cmp"
	"slices"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// State is what a store answers for the target: its Service, the objects that
// have a name of the target, and those that publish beside them. The order of the
// objects means nothing.
func State(service publish.Service, objects []*discoveryv1.EndpointSlice, target publish.Target) publish.State {
	state := publish.State{Service: service}
	var beside []publish.Beside
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
	slices.SortFunc(state.Slices, func(a, b publish.Slice) int { return target.CompareNames(a.Name, b.Name) })
	slices.SortFunc(state.Refused, func(a, b publish.Refusal) int { return cmp.Compare(a.Name, b.Name) })
	state.Beside = Beside(service, beside)
	return state
}
