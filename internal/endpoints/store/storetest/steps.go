package storetest

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

const (
	waitTimeout = 30 * time.Second // bound of one request and of one wait
	interval    = 10 * time.Millisecond
)

var equateAddresses = cmpopts.EquateComparable(netip.Addr{})

// newService is a Service that fits the target.
func newService() *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: corev1.ServiceSpec{IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol}, Ports: []corev1.ServicePort{
			{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80, TargetPort: intstr.FromInt32(8080)},
			{Name: "dns", Protocol: corev1.ProtocolUDP, Port: 53, TargetPort: intstr.FromString("dns")},
		}},
	}
}

func ready(addresses ...string) []inventory.Member {
	var members []inventory.Member
	for _, address := range addresses {
		members = append(members, inventory.Member{Address: netip.MustParseAddr(address), State: inventory.StateReady})
	}
	return members
}

// withService makes the Service and waits until the store knows it.
func (f *Fixture) withService(t *testing.T) {
	t.Helper()
	f.Hand.PutService(newService())
	eventually(t, "the Service is known", func() bool { return f.load(t).Service.UID == string(f.Hand.Service().UID) })
}

func (f *Fixture) load(t *testing.T) publish.State { t.Helper(); return f.loadFrom(t, f.Store) }

func (f *Fixture) loadFrom(t *testing.T, store Store) publish.State {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	state, err := store.Load(ctx)
	if err != nil {
		t.Fatalf("load: %v", err)
	}
	return state
}

// plan returns the writes that lead from what the store says to the members,
// each with a trigger of its own.
func (f *Fixture) plan(t *testing.T, store Store, members []inventory.Member) []publish.Write {
	t.Helper()
	return f.planFor(t, f.Target, store, members)
}

func (f *Fixture) planFor(t *testing.T, target publish.Target, store Store, members []inventory.Member) []publish.Write {
	t.Helper()
	state := f.loadFrom(t, store)
	desired, problem := publish.Desired(members, state, target)
	if problem.Kind != "" {
		t.Fatalf("plan: %s: %s", problem.Kind, problem.Message)
	}
	writes := publish.Diff(state.Slices, desired)
	for i := range writes {
		f.writes++
		writes[i].Trigger = time.Date(2026, 1, 1, 0, 0, f.writes, 0, time.UTC)
	}
	return writes
}

func (f *Fixture) write(t *testing.T, store Store, write publish.Write) error {
	t.Helper()
	_, err := f.send(t, store, write)
	return err
}

// send carries the write out and returns the version that the store answers.
func (f *Fixture) send(t *testing.T, store Store, write publish.Write) (version string, err error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	return store.Write(ctx, write)
}

// publish makes the slices say what members says and returns the writes.
func (f *Fixture) publish(t *testing.T, members []inventory.Member) []publish.Write {
	t.Helper()
	return f.publishFor(t, f.Target, members)
}

func (f *Fixture) publishFor(t *testing.T, target publish.Target, members []inventory.Member) []publish.Write {
	t.Helper()
	writes := f.planFor(t, target, f.Store, members)
	for _, write := range writes {
		if err := f.write(t, f.Store, write); err != nil {
			t.Fatalf("%s %s: %v", write.Operation, write.Slice.Name, err)
		}
	}
	return writes
}

// converge passes as the engine does, reading and deciding again after a
// conflict, until done.
func (f *Fixture) converge(t *testing.T, what string, members []inventory.Member, done func() bool) {
	t.Helper()
	eventually(t, what, func() bool {
		for _, write := range f.plan(t, f.Store, members) {
			if err := f.write(t, f.Store, write); err != nil && !errors.Is(err, publish.ErrConflict) {
				t.Fatalf("%s %s: %v", write.Operation, write.Slice.Name, err)
			}
		}
		return done()
	})
}

// stored returns the slice of that name as the server holds it.
func (f *Fixture) stored(t *testing.T, name string) *discoveryv1.EndpointSlice {
	t.Helper()
	for _, object := range f.Hand.Slices() {
		if object.Name == name {
			return object
		}
	}
	t.Fatalf("there is no slice %s", name)
	return nil
}

func (f *Fixture) storedNames() []string {
	var names []string
	for _, object := range f.Hand.Slices() {
		names = append(names, object.Name)
	}
	return names
}

// edit changes the first slice as another client would.
func (f *Fixture) edit(t *testing.T, change func(*discoveryv1.EndpointSlice)) *discoveryv1.EndpointSlice {
	t.Helper()
	object := f.stored(t, f.Target.SliceName)
	change(object)
	f.Hand.Put(object)
	return f.stored(t, f.Target.SliceName)
}

// same fails the test when two values differ.
func same(t *testing.T, what string, want, got any, options ...cmp.Option) {
	t.Helper()
	if diff := cmp.Diff(want, got, append(options, equateAddresses)...); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// members returns what the slices of a state publish.
func members(state publish.State) []inventory.Member {
	var out []inventory.Member
	for _, slice := range state.Slices {
		out = append(out, slice.Endpoints...)
	}
	return out
}

// eventually waits until the condition holds: a store may learn from a watch.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	deadline := time.NewTimer(waitTimeout)
	defer deadline.Stop()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for !condition() {
		select {
		case <-deadline.C:
			t.Fatalf("waited %v in vain: %s", waitTimeout, what)
		case <-tick.C:
		}
	}
}
