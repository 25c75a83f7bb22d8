package metrics

import (
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// Values of the labels result and code.
const (
	success  = "success"
	failure  = "error"
	conflict = "conflict"
	other    = "other"
	noAnswer = "<error>" // what client-go calls it
)

// Families lists every metric of the program in the order of the reference. The
// collectors of Go and of the process come in addition.
func Families() []Family {
	return slices.Concat(
		processFamilies(), documentFamilies(), serviceFamilies(), targetFamilies(), poolFamilies(),
		measuredFamilies(), credentialFamilies(), requestFamilies(),
	)
}

// modes, outcomes, memberStates and reasons are the closed lists.
func modes() []guard.Mode { return []guard.Mode{guard.Publish, guard.Hold, guard.FailOpen} }

func outcomes() []inventory.Outcome {
	return []inventory.Outcome{inventory.Pass, inventory.Refused, inventory.Silent, inventory.LocalError}
}

func memberStates() []inventory.State {
	return []inventory.State{inventory.StateReady, inventory.StateDraining, inventory.StateDown}
}

func reasons() []inventory.Reason {
	docs := inventory.Reasons()
	names := make([]inventory.Reason, len(docs))
	for i, doc := range docs {
		names[i] = doc.Reason
	}
	return names
}
