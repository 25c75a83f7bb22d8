package manifest

import (
	"fmt"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
)

// conditionsOf returns the conditions written for a state. All three are always
// written: consumers disagree on what nil means.
func conditionsOf(state inventory.State) discoveryv1.EndpointConditions {
	ready := state == inventory.StateReady
	draining := state == inventory.StateDraining
	return discoveryv1.EndpointConditions{
		Ready:       new(ready),
		Serving:     new(ready || draining),
		Terminating: new(draining),
	}
}

// toState returns the state nearest to the conditions, as kube-proxy reads them:
//
//	ready  serving  terminating  state
//	true   any      any          ready
//	false  true     true         draining
//	false  any other             down
//
// A condition left out means what the API says: ready, serving, not terminating.
func toState(conditions discoveryv1.EndpointConditions) inventory.State {
	switch {
	case value(conditions.Ready, true):
		return inventory.StateReady
	case value(conditions.Serving, true) && value(conditions.Terminating, false):
		return inventory.StateDraining
	}
	return inventory.StateDown
}

// asWritten reports whether the conditions are those written for the state.
func asWritten(got discoveryv1.EndpointConditions, state inventory.State) bool {
	want := conditionsOf(state)
	equal := func(got, want *bool) bool { return got != nil && *got == *want }
	return equal(got.Ready, want.Ready) && equal(got.Serving, want.Serving) && equal(got.Terminating, want.Terminating)
}

// words spells conditions for a message.
func words(conditions discoveryv1.EndpointConditions) string {
	word := func(condition *bool) string {
		if condition == nil {
			return "left out"
		}
		return fmt.Sprint(*condition)
	}
	return fmt.Sprintf("ready %s, serving %s, terminating %s",
		word(conditions.Ready), word(conditions.Serving), word(conditions.Terminating))
}
