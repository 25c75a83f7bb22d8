package envoyconfig

import (
	"strings"
	"time"
)

// What a server of xDS tells the operator of fleets, as JSON.

// ProxyState says how far a proxy of a fleet follows. It is short, because the operator of
// fleets asks for it twice a second.
type ProxyState struct {
	Client string    `json:"client"`
	Node   string    `json:"node"`
	Since  time.Time `json:"since"`
	// Generation is the newest one of the fleet's Envoy of which the proxy has acknowledged
	// all clusters, listeners and routes; 0 for none. What the Services of the fleet add
	// later changes it no more.
	Generation int64 `json:"generation"`
	// Rejected is what the proxy keeps an old state of.
	Rejected []RejectedKind `json:"rejected,omitempty"`
}

// RejectedKind is a kind of which a proxy rejects a resource.
type RejectedKind struct {
	Type string `json:"type"`
	Text string `json:"text"`
}

// Others is the name of the objects in the namespace of a fleet that are not known by their own,
// because there are too many.
func Others(fleet string) string {
	namespace, _, _ := strings.Cut(fleet, "/")
	return namespace + "/*"
}

// ObjectState is what becomes of the object of a fleet at one server.
type ObjectState struct {
	Client string `json:"client"`
	// Generation is the newest one that the server knows.
	Generation int64 `json:"generation"`
	// Problem says why that generation is not in effect, in 1000 bytes at most. Then nothing
	// else is said.
	Problem string `json:"problem,omitempty"`
	// Unresolved are the first listeners and routes that lead nowhere, and More is how many
	// there are beside them. Whether there are endpoints is not looked at.
	Unresolved []UnresolvedRef `json:"unresolved,omitempty"`
	More       int             `json:"more,omitempty"`
	// Notes are what the Services say and the proxies do not heed; the first five.
	Notes []string `json:"notes,omitempty"`
}

// UnresolvedRef is a listener or a route that leads nowhere.
type UnresolvedRef struct {
	// Port is that of the listener in the Pods. Route counts from 1; it is 0 where the
	// listener itself leads nowhere.
	Port  int32 `json:"port"`
	Route int   `json:"route,omitempty"`
	// Reason is one of those of the condition ResolvedRefs. Text has the remedy.
	Reason string `json:"reason"`
	Text   string `json:"text"`
}
