package publish_test

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

func TestContract19TheAppProtocolIsTheServicesAndAChangeIsOneWriteForEachSlice(t *testing.T) {
	for name, named := range map[string]bool{"TARGET_PORT": false, "TARGET_PORTS": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(2)
			if named {
				w.target.PortFromService = false
				w.target.Ports = []publish.Port{{Name: "http", Protocol: publish.TCP, Number: 8080}}
			}
			w.publish(numbered(1, 5))
			for _, want := range []string{"kubernetes.io/h2c", "http", ""} {
				w.state.Service.Ports[0].AppProtocol = want
				writes := w.publish(numbered(1, 5))
				if len(writes) != 3 {
					t.Errorf("%q: got %d writes, want one for each of 3 slices", want, len(writes))
				}
				for _, write := range writes {
					if len(write.Added)+len(write.Removed)+len(write.Changed) != 0 {
						t.Errorf("%q: got %+v, want no endpoint to change", want, write)
					}
				}
				ports := []publish.Port{{Name: "http", Protocol: publish.TCP, Number: 8080, AppProtocol: want}}
				for _, s := range w.state.Slices {
					if diff := cmp.Diff(ports, s.Ports); diff != "" {
						t.Errorf("%q: ports of %s (-want +got):\n%s", want, s.Name, diff)
					}
				}
				if again := w.publish(numbered(1, 5)); len(again) != 0 {
					t.Errorf("%q: got writes %v in a second pass, want none", want, again)
				}
			}
			if named && w.target.Ports[0].AppProtocol != "" {
				t.Error("the target moved")
			}
		})
	}
}

func TestContract19SwitchingPublishNotReadyIsOneWriteForEachSliceAndChangesNoMember(t *testing.T) {
	members := numbered(1, 5)
	members[1].State, members[2].State = inventory.StateDown, inventory.StateDraining
	w := newWorld(2)
	w.publish(members)
	for _, on := range []bool{true, false} {
		w.state.Service.PublishNotReady = on
		writes := w.publish(members)
		if len(writes) != 3 {
			t.Errorf("%t: got %d writes, want one for each of 3 slices", on, len(writes))
		}
		for _, write := range writes {
			if write.Slice.PublishNotReady != on || len(write.Added)+len(write.Removed)+len(write.Changed) != 0 {
				t.Errorf("%t: got %+v, want the same members", on, write)
			}
		}
		if diff := cmp.Diff(members, w.published(), compareAddrs()); diff != "" {
			t.Errorf("%t: published (-want +got):\n%s", on, diff)
		}
		if again := w.publish(members); len(again) != 0 {
			t.Errorf("%t: got writes %v in a second pass, want none", on, again)
		}
	}
	w.state.Service.PublishNotReady = true
	for _, write := range w.publish(numbered(1, 9)) {
		if !write.Slice.PublishNotReady {
			t.Errorf("got %s of %s without the field", write.Operation, write.Slice.Name)
		}
	}
}

func TestSlicesAreTheSameOnlyIfEverythingButTheVersionIs(t *testing.T) {
	slice := func() publish.Slice {
		return publish.Slice{
			Name: "web-remote", Endpoints: numbered(1, 2), Owner: "uid-1", Version: "7",
			Ports: []publish.Port{{Name: "http", Protocol: publish.TCP, Number: 8080}},
		}
	}
	if !slice().Same(slice()) || !slice().SameVersion(slice()) {
		t.Error("a slice is not the same as itself")
	}
	for name, change := range map[string]func(*publish.Slice){
		"name":            func(s *publish.Slice) { s.Name = "web-remote-2" },
		"family":          func(s *publish.Slice) { s.Family = publish.IPv6 },
		"an endpoint":     func(s *publish.Slice) { s.Endpoints = numbered(1, 3) },
		"a state":         func(s *publish.Slice) { s.Endpoints[0].State = inventory.StateDown },
		"a zone":          func(s *publish.Slice) { s.Endpoints[0].Zone = "z" },
		"a port":          func(s *publish.Slice) { s.Ports[0].Number = 1 },
		"an appProtocol":  func(s *publish.Slice) { s.Ports[0].AppProtocol = "http" },
		"publishNotReady": func(s *publish.Slice) { s.PublishNotReady = true },
		"owner":           func(s *publish.Slice) { s.Owner = "uid-2" },
		"drift":           func(s *publish.Slice) { s.Drift = "a label is missing" },
	} {
		other := slice()
		change(&other)
		if slice().Same(other) || slice().SameVersion(other) {
			t.Errorf("%s: got the same, want a difference", name)
		}
	}
	other := slice()
	other.Version = "8"
	if !slice().Same(other) || slice().SameVersion(other) {
		t.Error("version: want the same slice and another version")
	}
}

func TestServicesAreTheSameOnlyIfEverythingIs(t *testing.T) {
	for name, change := range map[string]func(*publish.Service){
		"uid":             func(s *publish.Service) { s.UID = "uid-2" },
		"deleting":        func(s *publish.Service) { s.Deleting = true },
		"selector":        func(s *publish.Service) { s.HasSelector = true },
		"external name":   func(s *publish.Service) { s.ExternalName = true },
		"publishNotReady": func(s *publish.Service) { s.PublishNotReady = true },
		"an appProtocol":  func(s *publish.Service) { s.Ports[0].AppProtocol = "http" },
		"a port less":     func(s *publish.Service) { s.Ports = nil },
	} {
		other := service()
		change(&other)
		if service().Same(other) || !service().Same(service()) {
			t.Errorf("%s: got the same, want a difference", name)
		}
	}
}

// TestPublishedIsEachAddressOnceInTheStateThatServesMore compares with what a reader
// of the slices would count by hand. The order of the slices does not matter.
func TestPublishedIsEachAddressOnceInTheStateThatServesMore(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		states := []inventory.State{inventory.StateReady, inventory.StateDraining, inventory.StateDown}
		best := map[netip.Addr]inventory.State{}
		var state publish.State
		for range rapid.IntRange(0, 4).Draw(t, "slices") {
			var endpoints []inventory.Member
			for _, n := range rapid.SliceOfDistinct(rapid.IntRange(1, 8), rapid.ID[int]).Draw(t, "addresses") {
				m := inventory.Member{Address: v4(n), State: rapid.SampledFrom(states).Draw(t, "state")}
				if rapid.Bool().Draw(t, "v6") {
					m.Address = v6(n)
				}
				if have, twice := best[m.Address]; !twice || m.State < have {
					best[m.Address] = m.State
				}
				endpoints = append(endpoints, m)
			}
			state.Slices = append(state.Slices, publish.Slice{Endpoints: endpoints})
		}
		got := publish.Published(state)
		if !slices.IsSortedFunc(got, inventory.CompareMembers) || len(got) != len(best) {
			t.Fatalf("got %v, want %d members, sorted", got, len(best))
		}
		for _, m := range got {
			if best[m.Address] != m.State {
				t.Errorf("%s: got %v, want %v", m.Address, m.State, best[m.Address])
			}
		}
	})
}
