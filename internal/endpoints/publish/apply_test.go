package publish_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

func TestContract20AWriteCarriesLabelsOwnerTriggerAndVersion(t *testing.T) {
	write := update(slice())
	write.Trigger = write.Trigger.In(time.FixedZone("CET", 3600))
	got := publish.Apply(nil, write, target())
	want := metav1.ObjectMeta{
		Name: "web-remote", Namespace: "default", ResourceVersion: "7",
		Labels: map[string]string{
			"kubernetes.io/service-name":             "web",
			"endpointslice.kubernetes.io/managed-by": "ionos-endpointslice-controller",
		},
		Annotations: map[string]string{
			"endpoints.kubernetes.io/last-change-trigger-time": "2026-01-02T03:04:05.000000678Z",
		},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: "web", UID: serviceUID}},
	}
	if diff := cmp.Diff(want, got.ObjectMeta); diff != "" {
		t.Errorf("metadata (-want +got):\n%s", diff)
	}
}

func TestContract19AnEndpointHasOneAddressAllConditionsAndNothingElse(t *testing.T) {
	yes, no := new(true), new(false)
	got := publish.Apply(nil, update(slice()), target())
	want := []discoveryv1.Endpoint{
		{Addresses: []string{"10.0.0.2"}, Conditions: conditions(yes, yes, no), Zone: new("zone-1")},
		{Addresses: []string{"10.0.0.10"}, Conditions: conditions(no, yes, yes)},
		{Addresses: []string{"10.0.0.11"}, Conditions: conditions(no, no, no), Zone: new("zone-2")},
	}
	if diff := cmp.Diff(want, got.Endpoints); diff != "" {
		t.Errorf("endpoints (-want +got):\n%s", diff)
	}
	ports := []discoveryv1.EndpointPort{{Name: new("http"), Protocol: new(corev1.ProtocolTCP), Port: new(int32(8080))}}
	if diff := cmp.Diff(ports, got.Ports); diff != "" {
		t.Errorf("ports (-want +got):\n%s", diff)
	}
	if got.AddressType != discoveryv1.AddressTypeIPv4 {
		t.Errorf("got addressType %s, want IPv4", got.AddressType)
	}
}

func TestACreateCarriesNoVersion(t *testing.T) {
	got := publish.Apply(nil, publish.Write{Operation: publish.Create, Slice: slice()}, target())
	if got.ResourceVersion != "" {
		t.Errorf("got resourceVersion %q, want none", got.ResourceVersion)
	}
	if len(got.Annotations) != 0 {
		t.Errorf("got annotations %v without a trigger, want none", got.Annotations)
	}
}

func TestContract23WhatIsForeignSurvivesAWriteAndTheBaseStays(t *testing.T) {
	base := adorned()
	base.OwnerReferences[1].UID, base.OwnerReferences[1].Controller = "uid-of-an-earlier-service", new(true)
	base.OwnerReferences = append(base.OwnerReferences, base.OwnerReferences[1])
	before := base.DeepCopy()

	got := publish.Apply(base, update(slice()), target())

	want := adorned()
	want.ManagedFields = nil
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("object (-want +got):\n%s", diff)
	}
	got.Labels["team"], got.Annotations["note"], got.Endpoints[0].Addresses[0] = "x", "x", "x"
	got.OwnerReferences[0].Name, got.Finalizers[0] = "x", "x"
	if diff := cmp.Diff(before, base); diff != "" {
		t.Errorf("the base moved:\n%s", diff)
	}
}

func TestAWriteWithoutATriggerKeepsTheOldOne(t *testing.T) {
	write := update(slice())
	write.Trigger = time.Time{}
	got := publish.Apply(object(), write, target()).Annotations[corev1.EndpointsLastChangeTriggerTime]
	if want := "2026-01-02T03:04:05.000000678Z"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestContract17TheSameStateGivesTheSameBytes(t *testing.T) {
	shuffled := slice()
	shuffled.Ports = []publish.Port{{Name: "z", Protocol: publish.TCP, Number: 2}, {Name: "a", Protocol: publish.TCP, Number: 1}}
	sorted := shuffled
	sorted.Ports = slices.Clone(shuffled.Ports)
	slices.Reverse(sorted.Ports)
	shuffled.Endpoints = []inventory.Member{slice().Endpoints[2], slice().Endpoints[0], slice().Endpoints[1]}
	inputs := slices.Clone(shuffled.Endpoints)

	want := mustYAML(t, publish.Apply(nil, update(sorted), target()))
	got := mustYAML(t, publish.Apply(nil, update(shuffled), target()))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("YAML (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(inputs, shuffled.Endpoints, equateAddresses); diff != "" {
		t.Errorf("the input moved:\n%s", diff)
	}
}

func TestYAMLShowsTheSliceAndNotTheServersBookkeeping(t *testing.T) {
	o := adorned()
	o.Endpoints = o.Endpoints[:1]
	before := o.DeepCopy()
	want := `addressType: IPv4
apiVersion: discovery.k8s.io/v1
endpoints:
- addresses:
  - 10.0.0.2
  conditions:
    ready: true
    serving: true
    terminating: false
  zone: zone-1
kind: EndpointSlice
metadata:
  annotations:
    endpoints.kubernetes.io/last-change-trigger-time: "2026-01-02T03:04:05.000000678Z"
    note: hands off
  finalizers:
  - example.org/keep
  labels:
    endpointslice.kubernetes.io/managed-by: ionos-endpointslice-controller
    kubernetes.io/service-name: web
    team: edge
  name: web-remote
  namespace: default
  ownerReferences:
  - apiVersion: example.org/v1
    controller: true
    kind: Gateway
    name: web
    uid: g-1
  - apiVersion: v1
    kind: Service
    name: web
    uid: 6f6f2a0e-0001
ports:
- name: http
  port: 8080
  protocol: TCP
`
	if diff := cmp.Diff(want, mustYAML(t, o)); diff != "" {
		t.Errorf("YAML (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, o); diff != "" {
		t.Errorf("the input moved:\n%s", diff)
	}
}

func TestAnEmptiedSliceHasAnEmptyListOfEndpoints(t *testing.T) {
	o := object()
	o.Endpoints = nil // as protobuf decodes an empty list
	if got := mustYAML(t, o); !strings.Contains(got, "endpoints: []\n") {
		t.Errorf("got:\n%s", got)
	}
}

func TestContract21AWriteIsFencedByWhatIsKnown(t *testing.T) {
	foreign := object()
	foreign.Labels[discoveryv1.LabelManagedBy] = "somebody"
	shop := object()
	shop.Labels[discoveryv1.LabelServiceName] = "shop"
	other := update(slice())
	other.Slice.Name = "someones-slice"
	unversioned := update(slice())
	unversioned.Slice.Version = ""
	create := publish.Write{Operation: publish.Create, Slice: slice()}
	newer := object()
	newer.ResourceVersion = "8"
	tests := []struct {
		name     string
		base     *discoveryv1.EndpointSlice
		write    publish.Write
		ok       bool
		conflict bool
	}{
		{"update of what was read", object(), update(slice()), true, false},
		{"create of what is not there", nil, create, true, false},
		{"update of what changed", newer, update(slice()), false, true},
		{"update of what is gone", nil, update(slice()), false, true},
		{"create of what is there", object(), create, false, true},
		{"update without a version", object(), unversioned, false, false},
		{"update of somebody else's", foreign, update(slice()), false, false},
		{"update of another Service's", shop, update(slice()), false, false},
		{"a name that is not ours", nil, other, false, false},
		{"no operation", nil, publish.Write{Slice: slice()}, false, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			err := publish.Fence(test.base, test.write, target())
			if (err == nil) != test.ok || errors.Is(err, publish.ErrConflict) != test.conflict {
				t.Errorf("got %v; want ok %v, conflict %v", err, test.ok, test.conflict)
			}
		})
	}
}

func TestContract25WhatMattersOfAServiceIsTold(t *testing.T) {
	deleted := metav1.NewTime(time.Unix(1, 0))
	o := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{UID: serviceUID, DeletionTimestamp: &deleted},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeExternalName, Selector: map[string]string{"app": "web"}, PublishNotReadyAddresses: true,
			Ports: []corev1.ServicePort{
				{Name: "http", Protocol: corev1.ProtocolUDP, Port: 80, TargetPort: intstr.FromInt32(8080), AppProtocol: new("kubernetes.io/h2c")},
				{Name: "named", Port: 81, TargetPort: intstr.FromString("web")},
				servicePort("odd", 70000),
			},
		},
	}
	want := publish.Service{
		UID: serviceUID, Deleting: true, HasSelector: true, ExternalName: true, PublishNotReady: true,
		Ports: []publish.ServicePort{
			{Name: "http", Protocol: publish.UDP, Port: 80, TargetPort: 8080, AppProtocol: "kubernetes.io/h2c"},
			{Name: "named", Protocol: publish.TCP, Port: 81},
			{Name: "odd", Protocol: publish.TCP},
		},
	}
	if diff := cmp.Diff(want, publish.ServiceOf(o)); diff != "" {
		t.Errorf("service (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(publish.Service{}, publish.ServiceOf(nil)); diff != "" {
		t.Errorf("no service (-want +got):\n%s", diff)
	}
}

func mustYAML(t *testing.T, object *discoveryv1.EndpointSlice) string {
	t.Helper()
	out, err := publish.YAML(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}
