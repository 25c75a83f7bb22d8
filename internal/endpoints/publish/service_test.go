package publish_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// trouble is a Service that cannot be filled, and the message about it.
type trouble struct {
	service publish.Service
	want    publish.Kind
	says    string
}

// troubles lists every kind of trouble that web may have with its Service.
func troubles() map[string]trouble {
	with := func(change func(*publish.Service)) publish.Service {
		s := service()
		change(&s)
		return s
	}
	ports := func(ports ...publish.ServicePort) publish.Service {
		return with(func(s *publish.Service) { s.Ports = ports })
	}
	return map[string]trouble{
		"missing":      {publish.Service{}, publish.ServiceMissing, "create it without a selector, or correct TARGET_NAMESPACE and TARGET_SERVICE_NAME"},
		"deleting":     {with(func(s *publish.Service) { s.Deleting, s.HasSelector = true, true }), publish.ServiceDeleting, "is being deleted"},
		"selector":     {with(func(s *publish.Service) { s.HasSelector = true }), publish.ServiceHasSelector, "remove spec.selector"},
		"ExternalName": {with(func(s *publish.Service) { s.ExternalName = true }), publish.ServiceExternalName, "make it ClusterIP"},
		"no port":      {ports(), publish.PortMismatch, "Service default/web has no port, and a slice takes the names of its ports from there: no slice is created; give the Service a port, also where it is headless"},
		"none fits": {ports(publish.ServicePort{Name: "a", Protocol: publish.TCP, Port: 1, TargetPort: 2}, publish.ServicePort{Name: "b", Protocol: publish.TCP, Port: 3}),
			publish.PortMismatch, `fits 0 ports of Service default/web, which has "a" (1/TCP), "b" (3/TCP): no slice is created; set TARGET_PORTS=name=8080`},
		"two fit by targetPort": {ports(publish.ServicePort{Name: "a", Protocol: publish.TCP, Port: 1, TargetPort: 8080}, publish.ServicePort{Name: "b", Protocol: publish.UDP, Port: 1, TargetPort: 8080}),
			publish.PortMismatch, "fits 2 ports"},
		"two fit by port": {ports(publish.ServicePort{Name: "a", Protocol: publish.TCP, Port: 8080, TargetPort: 1}, publish.ServicePort{Name: "b", Protocol: publish.UDP, Port: 8080, TargetPort: 1}),
			publish.PortMismatch, "fits 2 ports"},
	}
}

func TestContract25EveryTroubleWithTheServiceHasItsKindAndRemedyAndNothingIsCreated(t *testing.T) {
	for name, test := range troubles() {
		t.Run(name, func(t *testing.T) {
			w := newWorld(100)
			w.state.Service = test.service
			desired, problem := publish.Desired(numbered(1, 3), w.state, w.target)
			if problem.Kind != test.want || !strings.Contains(problem.Message, test.says) || !strings.Contains(problem.Message, "default/web") {
				t.Errorf("got %s, %q; want %s, default/web and %q", problem.Kind, problem.Message, test.want, test.says)
			}
			if writes := publish.Diff(w.state.Slices, desired); len(writes) != 0 {
				t.Errorf("got writes %v, want none", writes)
			}
			w.state.Service = service()
			if writes := w.publish(numbered(1, 3)); len(writes) != 1 {
				t.Errorf("after the Service is corrected: got writes %v, want the create", writes)
			}
		})
	}
}

func TestContract25WithTroubleExistingSlicesAreStillUpdatedAndKeepTheirPorts(t *testing.T) {
	for name, test := range troubles() {
		t.Run(name, func(t *testing.T) {
			w := newWorld(10)
			w.publish(numbered(1, 8))
			ports := w.state.Slices[0].Ports
			w.state.Service = test.service
			w.state.Slices[0].Drift = "a label is missing"
			members := numbered(2, 20)
			members[0].State = inventory.StateDown
			writes := w.publish(members)
			if test.want == publish.ServiceMissing {
				if len(writes) != 0 {
					t.Errorf("there is no Service: got writes %v, want none", writes)
				}
				return
			}
			if diff := cmp.Diff(members[:10], w.published(), compareAddrs()); diff != "" {
				t.Errorf("published, as far as there is room (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(ports, w.state.Slices[0].Ports); diff != "" || len(w.state.Slices) != 1 {
				t.Errorf("got %d slices, want one whose ports stayed (-want +got):\n%s", len(w.state.Slices), diff)
			}
		})
	}
}

func TestContract25WithTroubleNoMemberIsDroppedBecauseASliceMayHoldFewer(t *testing.T) {
	w := newWorld(10)
	w.publish(numbered(1, 10))
	w.target.MaxEndpoints = 4
	w.state.Service.HasSelector = true
	w.publish(numbered(1, 12))
	if diff := cmp.Diff(numbered(1, 10), w.published(), compareAddrs()); diff != "" {
		t.Errorf("published while no slice may be made (-want +got):\n%s", diff)
	}
	w.state.Service.HasSelector = false
	w.publish(numbered(1, 12))
	if got := w.holding(publish.IPv4); got != 3 {
		t.Errorf("got %d slices after the selector is gone, want 3", got)
	}
}

func TestContract25WithTroubleEverySliceThatHasRoomIsFilled(t *testing.T) {
	w := newWorld(4)
	w.hold(numbered(1, 2), numbered(11, 12), nil)
	w.state.Service.HasSelector = true
	w.publish(numbered(1, 20))
	if got := len(w.published()); got != 12 {
		t.Errorf("got %d endpoints in three slices of 4, want 12", got)
	}
}

func TestContract25ThePortNameComesFromTheService(t *testing.T) {
	http := publish.ServicePort{Name: "http", Protocol: publish.TCP, Port: 80, TargetPort: 8080}
	other := publish.ServicePort{Name: "other", Protocol: publish.UDP, Port: 8080, TargetPort: 9090}
	tests := []struct {
		name  string
		ports []publish.ServicePort
		want  publish.Port
	}{
		{"the only port, whatever its number", []publish.ServicePort{{Protocol: publish.SCTP, Port: 1, TargetPort: 2}}, publish.Port{Protocol: publish.SCTP, Number: 8080}},
		{"by targetPort before port", []publish.ServicePort{other, http}, publish.Port{Name: "http", Protocol: publish.TCP, Number: 8080}},
		{"by port where no targetPort fits", []publish.ServicePort{{Name: "a", Protocol: publish.TCP, Port: 1}, other}, publish.Port{Name: "other", Protocol: publish.UDP, Number: 8080}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			w := newWorld(100)
			w.state.Service.Ports = test.ports
			writes := w.plan(numbered(1, 1))
			if len(writes) != 1 {
				t.Fatalf("got %v, want one create", writes)
			}
			if diff := cmp.Diff([]publish.Port{test.want}, writes[0].Slice.Ports); diff != "" {
				t.Errorf("ports (-want +got):\n%s", diff)
			}
		})
	}
}

func TestContract25ThePortsFollowTheService(t *testing.T) {
	w := newWorld(2)
	w.publish(numbered(1, 3))
	w.state.Service.Ports[0].Name = "web"
	writes := w.publish(numbered(1, 4))
	if len(writes) != 2 || len(w.state.Slices) != 2 {
		t.Fatalf("got writes %v, want both slices", writes)
	}
	for _, s := range w.state.Slices {
		if diff := cmp.Diff([]publish.Port{{Name: "web", Protocol: publish.TCP, Number: 8080}}, s.Ports); diff != "" {
			t.Errorf("ports of %s (-want +got):\n%s", s.Name, diff)
		}
	}
}

func TestContract25NamedPortsHaveToFitTheServicesByNameAndProtocol(t *testing.T) {
	w := newWorld(100)
	w.target.PortFromService = false
	w.target.Ports = []publish.Port{{Name: "http", Protocol: publish.TCP, Number: 8080}, {Name: "dns", Protocol: publish.UDP, Number: 53}}
	w.state.Service.Ports = []publish.ServicePort{{Name: "dns", Protocol: publish.TCP, Port: 53}, {Name: "http", Protocol: publish.TCP, Port: 80}}
	_, problem := publish.Desired(numbered(1, 1), w.state, w.target)
	want := publish.Problem{Kind: publish.PortMismatch, Message: `Service default/web has no port named "dns" with protocol UDP, only "dns" (53/TCP), "http" (80/TCP): no slice is created; correct TARGET_PORTS or the Service`}
	if diff := cmp.Diff(want, problem); diff != "" {
		t.Errorf("problem (-want +got):\n%s", diff)
	}
	w.state.Service.Ports[0].Protocol = publish.UDP
	writes := w.plan(numbered(1, 1))
	if len(writes) != 1 {
		t.Fatalf("got %v, want one create", writes)
	}
	ports := []publish.Port{{Name: "dns", Protocol: publish.UDP, Number: 53}, {Name: "http", Protocol: publish.TCP, Number: 8080}}
	if diff := cmp.Diff(ports, writes[0].Slice.Ports); diff != "" {
		t.Errorf("contract 17: ports by name (-want +got):\n%s", diff)
	}
}

func TestAProblemIsEmptyWhereNothingStandsInTheWay(t *testing.T) {
	w := newWorld(100)
	if _, problem := publish.Desired(numbered(1, 1), w.state, w.target); problem != (publish.Problem{}) {
		t.Errorf("got %+v, want none", problem)
	}
}

// TestContract25AServiceWithoutPortsIsToldToGetOne: headless or not, and however the ports
// are given. Another remedy would lead in a circle.
func TestContract25AServiceWithoutPortsIsToldToGetOne(t *testing.T) {
	for name, aim := range map[string]publish.Target{
		"TARGET_PORT":  {Namespace: "default", Service: "web", PortFromService: true, Ports: []publish.Port{{Number: 8080, Protocol: publish.TCP}}},
		"TARGET_PORTS": {Namespace: "default", Service: "web", Ports: []publish.Port{{Name: "http", Number: 8080, Protocol: publish.TCP}}},
	} {
		_, problem := publish.ResolvePorts(publish.Service{UID: "1"}, aim)
		if problem.Kind != publish.PortMismatch || !strings.Contains(problem.Message, "give the Service a port, also where it is headless") {
			t.Errorf("%s: got %+v, want that the Service needs a port", name, problem)
		}
	}
}

// TestContract170AMessageNamesAFewPorts: a Service may have hundreds.
func TestContract170AMessageNamesAFewPorts(t *testing.T) {
	service := publish.Service{UID: "1"}
	for i := range uint16(256) {
		service.Ports = append(service.Ports, publish.ServicePort{Name: strings.Repeat("p", 60), Protocol: publish.TCP, Port: i + 1})
	}
	_, problem := publish.ResolvePorts(service, publish.Target{Service: "web", Ports: []publish.Port{{Name: "x", Number: 8080, Protocol: publish.TCP}}})
	if len(problem.Message) > 2000 || !strings.Contains(problem.Message, " and 240 more") {
		t.Errorf("got %d bytes: %.300s", len(problem.Message), problem.Message)
	}
}
