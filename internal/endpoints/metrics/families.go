package metrics

import (
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// The metrics that are counted as things happen.
const (
	readDuration     = prefix + "source_read_duration_seconds"
	probeDuration    = prefix + "health_check_duration_seconds"
	writesTotal      = prefix + "writes_total"
	writeDuration    = prefix + "write_duration_seconds"
	storeErrorsTotal = prefix + "store_errors_total"
	requestsTotal    = "rest_client_requests_total"
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
		measuredFamilies(), writeFamilies(), credentialFamilies(), requestFamilies(),
	)
}

// label is one with a closed list of values.
func label(name string, values ...string) []Label { return []Label{{Name: name, Values: values}} }

// modes, outcomes, memberStates and reasons are the closed lists.
func modes() []guard.Mode { return []guard.Mode{guard.Publish, guard.Hold, guard.FailOpen} }

func outcomes() []inventory.Outcome {
	return []inventory.Outcome{inventory.Pass, inventory.Refused, inventory.Silent, inventory.LocalError}
}

func memberStates() []inventory.State {
	return []inventory.State{inventory.StateReady, inventory.StateDraining, inventory.StateDown}
}

func reasons() []string {
	docs := inventory.Reasons()
	names := make([]string, len(docs))
	for i, doc := range docs {
		names[i] = string(doc.Reason)
	}
	return names
}

// spell returns the words of values that can say them.
func spell[T interface{ String() string }](values []T) []string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = v.String()
	}
	return words
}

// texts returns the values of a type of strings as such.
func texts[T ~string](values []T) []string {
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = string(v)
	}
	return words
}
