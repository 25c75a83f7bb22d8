package publish

import (
	"fmt"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// publishNotReady is the annotation, with the value "true", of a slice whose
// Service asks for publishNotReadyAddresses. It says how the conditions are to be
// read, so that a restart changes no member's state although the Service's field
// was switched meanwhile.
const publishNotReady = "endpoints.ablmnzde.github.io/publish-not-ready-addresses"

// conditionsOf returns the conditions written for a state. All three are always
// written: consumers disagree on what nil means. With notReadyToo, ready is true
// whatever the state, for those that leave too, as in Kubernetes' own controller.
func conditionsOf(state inventory.State, notReadyToo bool) discoveryv1.EndpointConditions {
	ready := state == inventory.StateReady
	draining := state == inventory.StateDraining
	return discoveryv1.EndpointConditions{
		Ready:       new(ready || notReadyToo),
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
// With notReadyToo, ready says nothing, and what passes its check is what serves:
//
//	any    true     true         draining
//	any    true     false        ready
//	any    false    any          down
//
// A condition left out means what the API says: ready, serving, not terminating.
func toState(conditions discoveryv1.EndpointConditions, notReadyToo bool) inventory.State {
	serving, terminating := value(conditions.Serving, true), value(conditions.Terminating, false)
	switch {
	case !notReadyToo && value(conditions.Ready, true), notReadyToo && serving && !terminating:
		return inventory.StateReady
	case serving && terminating:
		return inventory.StateDraining
	}
	return inventory.StateDown
}

// asWritten reports whether the conditions are those written for the state.
func asWritten(got discoveryv1.EndpointConditions, state inventory.State, notReadyToo bool) bool {
	want := conditionsOf(state, notReadyToo)
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
