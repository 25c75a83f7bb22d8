// Package storetest is the conformance suite that every store passes: what the
// engine may rely on, whatever is behind the interface.
//
// In comes a harness that gives a fresh store together with another client of
// the same API server, out go failed tests. A case names the number of the
// promise in the behaviour contract that it keeps.
package storetest

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// Store is what the engine needs of a store.
type Store interface {
	Load(ctx context.Context) (publish.State, error)
	Write(ctx context.Context, write publish.Write) (version string, err error)
}

// Hand is another client of the same API server, with every right. It fails
// the test by itself.
type Hand interface {
	// Put makes a slice say what the object says, whatever it said before.
	Put(object *discoveryv1.EndpointSlice)
	// Delete deletes a slice that exists.
	Delete(name string)
	// Slices returns every slice in the namespace, sorted by name.
	Slices() []*discoveryv1.EndpointSlice
	// PutService makes the Service say what the object says, creating it if
	// need be.
	PutService(object *corev1.Service)
	// DeleteService deletes the Service; one with finalizers stays, marked.
	DeleteService()
	// Service returns the Service, nil when there is none.
	Service() *corev1.Service
}

// Request is one request of the store's user that reached the API server.
type Request struct {
	Verb, Resource, Name, Path string
}

// Fixture is one store on an empty namespace.
type Fixture struct {
	// Target names the namespace that is the case's own; the rest is the same
	// in every case, see [Target].
	Target publish.Target
	Store  Store
	Hand   Hand
	// Restart gives a further store on the same slices, as after a restart of
	// the daemon, or in a second daemon.
	Restart func() Store
	// Requests returns what all stores of the fixture asked for so far; it is
	// nil where there is no server to ask.
	Requests func() []Request

	writes int
}

// Harness makes a fixture whose resources end with the test.
type Harness func(t *testing.T) *Fixture

// Target is the target of every fixture, in that namespace.
func Target(namespace string) publish.Target {
	return publish.Target{
		Namespace: namespace, Service: "web", SliceName: "web-remote", ManagedBy: "ionos-endpointslice-controller",
		Ports: []publish.Port{
			{Name: "http", Protocol: publish.TCP, Number: 8080},
			{Name: "dns", Protocol: publish.UDP, Number: 5353},
		},
		MaxEndpoints: 100,
	}
}

// Run runs every case on a fixture of its own.
func Run(t *testing.T, harness Harness) {
	for _, c := range cases() {
		t.Run(c.name, func(t *testing.T) { c.run(t, harness(t)) })
	}
}

type conformanceCase struct {
	name string
	run  func(*testing.T, *Fixture)
}

func cases() []conformanceCase {
	return []conformanceCase{
		{"contract 17: the same state is the same bytes", sameBytes},
		{"contract 19: one address per endpoint, each family in its slice", families},
		{"contract 19: states and zones read back as they were written", roundTrip},
		{"contract 19: the appProtocol of the Service's port is copied", appProtocol},
		{"contract 19: publishNotReadyAddresses publishes all as ready, and states read back", publishNotReady},
		{"contract 20: a slice has our labels and a plain owner", metadata},
		{"contract 20: the trigger time changes only with a change", triggerTime},
		{"contract 21: names are fixed", fixedNames},
		{"contract 21: a create whose answer was lost makes no second slice", lostCreate},
		{"contract 21: an update of what changed meanwhile is a conflict", staleUpdate},
		{"contract 21: an update of what is gone is a conflict", goneUpdate},
		{"contract 21: two writers converge", twoWriters},
		{"contract 21: a write answers the version from which the next may be computed", answeredVersion},
		{"contract 22: no difference, no write", noDifference},
		{"contract 23: foreign labels and annotations survive", foreignMetadata},
		{"contract 23: a foreign edit is seen and repaired", foreignEdit},
		{"contract 23: a slice that lost its Service label is found by its name", lostLabel},
		{"contract 23: a slice of somebody else is refused", refused},
		{"contract 23: a slice of somebody else is refused even when no selector finds it", refusedStray},
		{"contract 23: a slice of another name that publishes endpoints is reported and left alone", besides},
		{"contract 23: a slice of ours that names another Service is refused", otherService},
		{"contract 23: a slice of ours that names another Service is refused even when no selector finds it", otherServiceStray},
		{"contract 24: a surplus slice is emptied, never deleted", emptied},
		{"contract 25: what is wrong with the Service is said, and when it is corrected", serviceStates},
		{"contract 33: a slice holds 1000 endpoints", thousand},
		{"a write is seen by the next load", readYourWrites},
		{"a deadline is honoured", deadline},
		{"loads and writes may come at the same time", concurrently},
	}
}
