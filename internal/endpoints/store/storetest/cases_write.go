package storetest

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

func sameBytes(t *testing.T, f *Fixture) {
	f.withService(t)
	in := ready("10.0.0.10", "10.0.0.9", "10.0.0.2")
	writes := f.publish(t, in)
	asked := publish.Apply(nil, writes[0], f.Target)
	same(t, "bytes", render(t, asked), render(t, f.stored(t, "web-remote")))

	slices.Reverse(in)
	if again := f.publish(t, in); len(again) != 0 {
		t.Errorf("the same members in another order make %d writes, want none", len(again))
	}
}

func render(t *testing.T, object *discoveryv1.EndpointSlice) string {
	t.Helper()
	out, err := publish.YAML(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func families(t *testing.T, f *Fixture) {
	f.withService(t)
	f.publish(t, ready("fd00::2", "10.0.0.2", "fd00::1", "10.0.0.1"))
	same(t, "slices", []string{"web-remote", "web-remote-ipv6"}, f.storedNames())
	condition := discoveryv1.EndpointConditions{Ready: new(true), Serving: new(true), Terminating: new(false)}
	for name, want := range map[string][]string{
		"web-remote": {"10.0.0.1", "10.0.0.2"}, "web-remote-ipv6": {"fd00::1", "fd00::2"},
	} {
		object := f.stored(t, name)
		same(t, name, []discoveryv1.Endpoint{
			{Addresses: want[:1], Conditions: condition}, {Addresses: want[1:], Conditions: condition},
		}, object.Endpoints)
	}
	var got []string
	for _, slice := range f.load(t).Slices {
		got = append(got, slice.Family.String()+" "+slice.Name)
	}
	same(t, "loaded slices", []string{"IPv4 web-remote", "IPv6 web-remote-ipv6"}, got)
}

func roundTrip(t *testing.T, f *Fixture) {
	f.withService(t)
	var want []inventory.Member
	for i, state := range []inventory.State{inventory.StateReady, inventory.StateDraining, inventory.StateDown} {
		for j, zone := range []string{"", "de-txl-1"} {
			address := netip.AddrFrom4([4]byte{10, 0, byte(i), byte(j + 1)})
			want = append(want, inventory.Member{Address: address, State: state, Zone: zone})
		}
	}
	f.publish(t, want)
	for _, store := range []Store{f.Store, f.Restart()} {
		state := f.loadFrom(t, store)
		same(t, "members", want, members(state))
		same(t, "drift", "", state.Slices[0].Drift)
		same(t, "ports", []publish.Port{f.Target.Ports[1], f.Target.Ports[0]}, state.Slices[0].Ports)
		same(t, "version", f.stored(t, "web-remote").ResourceVersion, state.Slices[0].Version)
	}
}

func metadata(t *testing.T, f *Fixture) {
	f.withService(t)
	f.publish(t, ready("10.0.0.1"))
	object := f.stored(t, "web-remote")
	same(t, "labels", map[string]string{
		"kubernetes.io/service-name": "web", "endpointslice.kubernetes.io/managed-by": f.Target.ManagedBy,
	}, object.Labels)
	uid := f.Hand.Service().UID
	same(t, "owner", []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: "web", UID: uid}}, object.OwnerReferences)
	same(t, "loaded owner", string(uid), f.load(t).Slices[0].Owner)
}

func triggerTime(t *testing.T, f *Fixture) {
	f.withService(t)
	check := func(want string) {
		t.Helper()
		same(t, "trigger time", want, f.stored(t, "web-remote").Annotations[corev1.EndpointsLastChangeTriggerTime])
	}
	f.publish(t, ready("10.0.0.1"))
	check("2026-01-01T00:00:01Z")
	f.publish(t, ready("10.0.0.1"))
	check("2026-01-01T00:00:01Z")
	f.publish(t, ready("10.0.0.1", "10.0.0.2"))
	check("2026-01-01T00:00:02Z")
}

func fixedNames(t *testing.T, f *Fixture) {
	f.withService(t)
	target := f.Target
	target.MaxEndpoints = 2
	f.publishFor(t, target, ready("10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4", "10.0.0.5", "fd00::1"))
	same(t, "slices", []string{"web-remote", "web-remote-2", "web-remote-3", "web-remote-ipv6"}, f.storedNames())
}

func emptied(t *testing.T, f *Fixture) {
	f.withService(t)
	f.publish(t, ready("10.0.0.1", "fd00::1"))
	f.publish(t, nil)
	same(t, "slices", []string{"web-remote", "web-remote-ipv6"}, f.storedNames())
	for _, object := range f.Hand.Slices() {
		if len(object.Endpoints) != 0 {
			t.Errorf("slice %s holds %d endpoints, want none", object.Name, len(object.Endpoints))
		}
	}
	if state := f.load(t); len(state.Slices) != 2 || state.Slices[0].Drift+state.Slices[1].Drift != "" {
		t.Errorf("got slices %v, want two without drift", state.Slices)
	}
	f.onlyWrites(t, "create", "update")
}

// onlyWrites checks that no request was of another verb than those that read
// and the ones given, and none for another resource than slices and Services.
func (f *Fixture) onlyWrites(t *testing.T, verbs ...string) {
	t.Helper()
	if f.Requests == nil {
		return
	}
	allowed := append([]string{"get", "list", "watch"}, verbs...)
	for _, request := range f.Requests() {
		reads := request.Verb == "get" || request.Verb == "list" || request.Verb == "watch"
		if !slices.Contains(allowed, request.Verb) || !reads && request.Resource != "endpointslices" {
			t.Errorf("%s %s %s, want only %v", request.Verb, request.Resource, request.Name, allowed)
		}
	}
}

func thousand(t *testing.T, f *Fixture) {
	f.withService(t)
	target := f.Target
	target.MaxEndpoints = 1000
	var want []inventory.Member
	for i := range 1000 {
		address := netip.AddrFrom4([4]byte{10, 0, byte(i / 250), byte(i%250 + 1)})
		want = append(want, inventory.Member{Address: address, State: inventory.StateReady, Zone: fmt.Sprint("zone-", i%3)})
	}
	writes := f.publishFor(t, target, want)
	same(t, "writes", 1, len(writes))
	same(t, "members", want, members(f.load(t)))
	want[17].State = inventory.StateDown
	same(t, "writes for one change", 1, len(f.publishFor(t, target, want)))
	same(t, "members after one change", want, members(f.load(t)))
}

func readYourWrites(t *testing.T, f *Fixture) {
	f.withService(t)
	for i := range 8 {
		want := ready(fmt.Sprintf("10.0.0.%d", i+1))
		f.publish(t, want)
		same(t, "members", want, members(f.load(t)))
	}
}

// answeredVersion writes one slice several times in a row and reads only at the
// end.
func answeredVersion(t *testing.T, f *Fixture) {
	f.withService(t)
	write := f.plan(t, f.Store, ready("10.0.0.1"))[0]
	for i := range 4 {
		version, err := f.send(t, f.Store, write)
		if err != nil {
			t.Fatalf("%s without a load in between: %v", write.Operation, err)
		}
		same(t, "version of the "+string(write.Operation), f.stored(t, "web-remote").ResourceVersion, version)
		write.Operation, write.Slice.Version = publish.Update, version
		write.Slice.Endpoints = ready("10.0.0.1", fmt.Sprintf("10.0.1.%d", i))
	}
	loaded := f.load(t).Slices[0]
	same(t, "version that Load says", write.Slice.Version, loaded.Version)
	same(t, "members", ready("10.0.0.1", "10.0.1.2"), loaded.Endpoints)
	same(t, "slices", []string{"web-remote"}, f.storedNames())
}

func deadline(t *testing.T, f *Fixture) {
	f.withService(t)
	write := f.plan(t, f.Store, ready("10.0.0.1"))[0]
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := f.Store.Load(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("load: got %v, want %v", err, context.Canceled)
	}
	if _, err := f.Store.Write(ctx, write); !errors.Is(err, context.Canceled) || errors.Is(err, publish.ErrConflict) {
		t.Errorf("write: got %v, want %v and no conflict", err, context.Canceled)
	}
	same(t, "slices", []string(nil), f.storedNames())
}

func concurrently(t *testing.T, f *Fixture) {
	f.withService(t)
	var wait sync.WaitGroup
	defer wait.Wait()
	stop := make(chan struct{})
	defer close(stop)
	wait.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if _, err := f.Store.Load(t.Context()); err != nil {
				t.Errorf("load: %v", err)
				return
			}
		}
	})
	for i := range 5 {
		f.publish(t, ready(fmt.Sprintf("10.0.0.%d", i+1)))
	}
}
