// Package events delivers what the engine announces as Events of events.k8s.io/v1
// on the target's Service.
//
// In come notices; out go Events, each an object of its own, because the note holds
// the list of what changed. client-go's recorders keep the first note of a reason only
// (tools/events), or drop Events of one reason for those of another (tools/record); see
// ADR 17.
//
// Announcing never blocks, and memory is bounded: notices wait in a short queue,
// and each reason has an allowance. What does not fit is left out and counted; the
// next Event of that reason says how many. An Event that cannot be delivered
// affects nothing else: it is sent again apart from those of other namespaces.
//
// The right it needs in the Service's namespace, and no other:
//
//	apiGroups: ["events.k8s.io"]  resources: ["events"]  verbs: ["create"]
package events
