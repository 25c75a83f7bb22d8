package publish_test

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	discoveryv1 "k8s.io/api/discovery/v1"
	"pgregory.net/rapid"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

func TestContract19WithPublishNotReadyAllAreReadyAndServingSaysWhatPasses(t *testing.T) {
	yes, no := new(true), new(false)
	s := slice()
	s.PublishNotReady = true
	got := publish.Apply(object(), update(s), target())
	want := []discoveryv1.Endpoint{
		{Addresses: []string{"10.0.0.2"}, Conditions: conditions(yes, yes, no), Zone: new("zone-1")},
		{Addresses: []string{"10.0.0.10"}, Conditions: conditions(yes, yes, yes)},
		{Addresses: []string{"10.0.0.11"}, Conditions: conditions(yes, no, no), Zone: new("zone-2")},
	}
	if diff := cmp.Diff(want, got.Endpoints); diff != "" {
		t.Errorf("endpoints (-want +got):\n%s", diff)
	}
	if got.Annotations[notReadyToo] != "true" {
		t.Errorf("got annotations %v, want one that says how to read them", got.Annotations)
	}
	off := publish.Apply(got, update(slice()), target())
	if diff := cmp.Diff(object(), off); diff != "" {
		t.Errorf("switched off again (-want +got):\n%s", diff)
	}
}

func TestWithPublishNotReadyOddConditionsReadByServing(t *testing.T) {
	yes, no := new(true), new(false)
	for _, test := range []struct {
		conditions discoveryv1.EndpointConditions
		want       inventory.State
		clean      bool
	}{
		{conditions(yes, yes, no), inventory.StateReady, true},
		{conditions(yes, yes, yes), inventory.StateDraining, true},
		{conditions(yes, no, no), inventory.StateDown, true},
		{conditions(nil, nil, nil), inventory.StateReady, false},
		{conditions(no, yes, no), inventory.StateReady, false},
		{conditions(no, no, no), inventory.StateDown, false},
		{conditions(no, yes, yes), inventory.StateDraining, false},
		{conditions(yes, no, yes), inventory.StateDown, false},
	} {
		o := object()
		o.Endpoints = o.Endpoints[:1]
		o.Annotations[notReadyToo] = "true"
		o.Endpoints[0].Conditions = test.conditions
		got, _ := publish.ToSlice(o, target())
		if got.Endpoints[0].State != test.want || (got.Drift == "") != test.clean || !got.PublishNotReady {
			t.Errorf("%s: got state %v, drift %q; want state %v, drift %t",
				test.conditions.String(), got.Endpoints[0].State, got.Drift, test.want, !test.clean)
		}
	}
}

// anySlice draws a slice as plan may ask for it.
func anySlice(t *rapid.T) publish.Slice {
	s := publish.Slice{
		Name: "web-remote", Owner: rapid.SampledFrom([]string{serviceUID, "another"}).Draw(t, "owner"), Version: "7",
		PublishNotReady: rapid.Bool().Draw(t, "publishNotReady"),
	}
	for _, n := range rapid.SliceOfDistinct(rapid.Byte(), rapid.ID[byte]).Draw(t, "addresses") {
		s.Endpoints = append(s.Endpoints, inventory.Member{
			Address: netip.AddrFrom4([4]byte{10, 0, 0, n}),
			State:   rapid.SampledFrom([]inventory.State{inventory.StateReady, inventory.StateDraining, inventory.StateDown}).Draw(t, "state"),
			Zone:    rapid.SampledFrom([]string{"", "zone-1"}).Draw(t, "zone"),
		})
	}
	slices.SortFunc(s.Endpoints, inventory.CompareMembers)
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"", "dns", "http"}), 1, 3, rapid.ID[string]).Draw(t, "ports") {
		s.Ports = append(s.Ports, publish.Port{
			Name: name, Protocol: rapid.SampledFrom([]publish.Protocol{publish.TCP, publish.UDP}).Draw(t, "protocol"),
			Number:      rapid.Uint16Min(1).Draw(t, "number"),
			AppProtocol: rapid.SampledFrom([]string{"", "http", "kubernetes.io/h2c"}).Draw(t, "appProtocol"),
		})
	}
	slices.SortFunc(s.Ports, publish.ComparePorts)
	return s
}

func TestContract18AnySliceReadsBackAsItselfWhateverWasWrittenBefore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before, want := anySlice(t), anySlice(t)
		base := publish.Apply(nil, publish.Write{Operation: publish.Create, Slice: before}, target())
		base.ResourceVersion = "7"
		got, refusal := publish.ToSlice(publish.Apply(base, publish.Write{Operation: publish.Update, Slice: want}, target()), target())
		if refusal != nil {
			t.Fatalf("refused: %s", refusal.Message)
		}
		if !got.SameVersion(want) {
			t.Errorf("slice (-want +got):\n%s", cmp.Diff(want, got, equateAddresses))
		}
	})
}

// TestContract28ARestartWhileTheFieldIsSwitchedChangesNoState: what was published
// with the field is read with it, also when the Service has no such field by then.
func TestContract28ARestartWhileTheFieldIsSwitchedChangesNoState(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		published := anySlice(t)
		published.Owner = serviceUID
		object := publish.Apply(nil, publish.Write{Operation: publish.Create, Slice: published}, target())
		object.ResourceVersion = "7"
		service := publish.Service{UID: serviceUID, PublishNotReady: !published.PublishNotReady}
		service.Ports = []publish.ServicePort{{Name: "http", Protocol: publish.TCP, Port: 80}}
		state := publish.StateOf(service, []*discoveryv1.EndpointSlice{object}, target())
		recovered := publish.Published(state)
		if diff := cmp.Diff(published.Endpoints, recovered, equateAddresses); diff != "" && len(recovered)+len(published.Endpoints) > 0 {
			t.Fatalf("members (-published +recovered):\n%s", diff)
		}
		bigger := target()
		bigger.MaxEndpoints = 256
		desired, _ := publish.Desired(recovered, state, bigger)
		writes := publish.Diff(state.Slices, desired)
		if len(writes) != 1 || len(writes[0].Added)+len(writes[0].Removed)+len(writes[0].Changed) != 0 {
			t.Errorf("got writes %+v, want one that changes no member", writes)
		}
	})
}
