// Package event delivers what the syncer announces as Events of events.k8s.io/v1
// on the target's Service.
//
// In come notices; out go Events, each an object of its own. client-go's
// recorder would join Events of one reason into a series that keeps the first
// note only, and here the note holds the list of what changed.
//
// It never keeps who announces waiting and never grows: notices wait in a short
// queue, each reason has an allowance, and what does not fit is left out and
// counted, which the next Event of that reason says. An Event that cannot be
// delivered disturbs nothing else.
//
// The right it needs in the Service's namespace, and no other:
//
//	apiGroups: ["events.k8s.io"]  resources: ["events"]  verbs: ["create"]
package event
