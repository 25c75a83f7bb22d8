package publish_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

var equateAddresses = cmpopts.EquateComparable(netip.Addr{})

func TestASliceThatWasWrittenReadsBackAsItself(t *testing.T) {
	got, refusal := publish.ToSlice(object(), target())
	if refusal != nil {
		t.Fatalf("refused: %s", refusal.Message)
	}
	if diff := cmp.Diff(slice(), got, equateAddresses); diff != "" {
		t.Errorf("slice (-want +got):\n%s", diff)
	}
}

func TestWhatOthersAddToASliceIsNoDrift(t *testing.T) {
	got, _ := publish.ToSlice(adorned(), target())
	if diff := cmp.Diff(slice(), got, equateAddresses); diff != "" {
		t.Errorf("slice (-want +got):\n%s", diff)
	}
}

func TestConditionsReadAsTheNearestStateAndOddOnesAreDrift(t *testing.T) {
	yes, no := new(true), new(false)
	tests := []struct {
		conditions discoveryv1.EndpointConditions
		want       inventory.State
		clean      bool
	}{
		{conditions(yes, yes, no), inventory.StateReady, true},
		{conditions(no, yes, yes), inventory.StateDraining, true},
		{conditions(no, no, no), inventory.StateDown, true},
		{conditions(nil, nil, nil), inventory.StateReady, false},
		{conditions(yes, nil, nil), inventory.StateReady, false},
		{conditions(nil, no, yes), inventory.StateReady, false},
		{conditions(yes, yes, yes), inventory.StateReady, false},
		{conditions(yes, no, no), inventory.StateReady, false},
		{conditions(no, nil, yes), inventory.StateDraining, false},
		{conditions(no, nil, nil), inventory.StateDown, false},
		{conditions(no, yes, no), inventory.StateDown, false},
		{conditions(no, no, yes), inventory.StateDown, false},
	}
	for _, test := range tests {
		o := object()
		endpoint(o, "10.0.0.2").Conditions = test.conditions
		got, _ := publish.ToSlice(o, target())
		if got.Endpoints[0].State != test.want || (got.Drift == "") != test.clean {
			t.Errorf("%s: got state %v, drift %q; want state %v, drift %v",
				test.conditions.String(), got.Endpoints[0].State, got.Drift, test.want, !test.clean)
		}
	}
}

func TestWhatWeWouldNotWriteIsNamedAsDrift(t *testing.T) {
	first := func(edit func(*discoveryv1.Endpoint)) func(*discoveryv1.EndpointSlice) {
		return func(o *discoveryv1.EndpointSlice) { edit(endpoint(o, "10.0.0.2")) }
	}
	owner := func(edit func(*metav1.OwnerReference)) func(*discoveryv1.EndpointSlice) {
		return func(o *discoveryv1.EndpointSlice) { edit(&o.OwnerReferences[0]) }
	}
	tests := []struct {
		name string
		edit func(*discoveryv1.EndpointSlice)
		want string
	}{
		{"hostname", first(func(e *discoveryv1.Endpoint) { e.Hostname = new("a") }), "10.0.0.2 has a hostname"},
		{"nodeName", first(func(e *discoveryv1.Endpoint) { e.NodeName = new("a") }), "10.0.0.2 has a nodeName"},
		{"targetRef", first(func(e *discoveryv1.Endpoint) { e.TargetRef = &corev1.ObjectReference{} }), "a targetRef"},
		{"hints", first(func(e *discoveryv1.Endpoint) { e.Hints = &discoveryv1.EndpointHints{} }), "has hints"},
		{"topology", first(func(e *discoveryv1.Endpoint) { e.DeprecatedTopology = map[string]string{} }), "deprecatedTopology"},
		{"empty zone", first(func(e *discoveryv1.Endpoint) { e.Zone = new("") }), "an empty zone"},
		{"two addresses", first(func(e *discoveryv1.Endpoint) { e.Addresses = []string{"10.0.0.2", "10.0.0.3"} }), "2 addresses"},
		{"no address", first(func(e *discoveryv1.Endpoint) { e.Addresses = nil }), "0 addresses"},
		{"not an address", first(func(e *discoveryv1.Endpoint) { e.Addresses = []string{"web.local"} }), `"web.local" is not an IPv4 address`},
		{"other family", first(func(e *discoveryv1.Endpoint) { e.Addresses = []string{"fd00::1"} }), `"fd00::1" is not an IPv4 address`},
		{"mapped", first(func(e *discoveryv1.Endpoint) { e.Addresses = []string{"::ffff:10.0.0.2"} }), "is not an IPv4 address"},
		{"twice", first(func(e *discoveryv1.Endpoint) { e.Addresses = []string{"10.0.0.10"} }), "address 10.0.0.10 is listed twice"},
		{"order", first(func(e *discoveryv1.Endpoint) { e.Addresses = []string{"10.0.0.99"} }), "the endpoints are not sorted"},
		{"empty service label", func(o *discoveryv1.EndpointSlice) { o.Labels[discoveryv1.LabelServiceName] = "" }, `service-name is "", not "web"`},
		{"no service label", func(o *discoveryv1.EndpointSlice) { delete(o.Labels, discoveryv1.LabelServiceName) }, `service-name is "", not "web"`},
		{"no owner", func(o *discoveryv1.EndpointSlice) { o.OwnerReferences = nil }, "0 ownerReferences to Service web"},
		{"two owners", func(o *discoveryv1.EndpointSlice) {
			o.OwnerReferences = append(o.OwnerReferences, o.OwnerReferences[0])
		}, "2 ownerReferences to Service web"},
		{"other owner", owner(func(r *metav1.OwnerReference) { r.Name = "shop" }), "0 ownerReferences to Service web"},
		{"blocking owner", owner(func(r *metav1.OwnerReference) { r.BlockOwnerDeletion = new(true) }), "has blockOwnerDeletion=true"},
		{"controlling owner", owner(func(r *metav1.OwnerReference) { r.Controller = new(true) }), "has controller=true"},
		{"port without number", func(o *discoveryv1.EndpointSlice) { o.Ports[0].Port = nil }, "a port has no usable number"},
		{"port out of range", func(o *discoveryv1.EndpointSlice) { o.Ports[0].Port = new(int32(70000)) }, "a port has no usable number"},
		{"port without name", func(o *discoveryv1.EndpointSlice) { o.Ports[0].Name = nil }, "port 8080 has no name"},
		{"empty appProtocol", func(o *discoveryv1.EndpointSlice) { o.Ports[0].AppProtocol = new("") }, "port 8080 has an empty appProtocol"},
		{"publishNotReady said otherwise", func(o *discoveryv1.EndpointSlice) { o.Annotations[notReadyToo] = "false" }, `publish-not-ready-addresses is "false", not "true"`},
		{"publishNotReady, written otherwise", func(o *discoveryv1.EndpointSlice) { o.Annotations[notReadyToo] = "true" },
			"conditions of 10.0.0.10 are ready false, serving true, terminating true"},
		{"port order", func(o *discoveryv1.EndpointSlice) {
			o.Ports = append(o.Ports, discoveryv1.EndpointPort{Name: new("a"), Protocol: new(corev1.ProtocolTCP), Port: new(int32(1))})
		}, "the ports are not sorted"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := object()
			test.edit(o)
			before := o.DeepCopy()
			got, refusal := publish.ToSlice(o, target())
			if refusal != nil || !strings.Contains(got.Drift, test.want) {
				t.Errorf("got drift %q, refusal %v; want drift with %q", got.Drift, refusal, test.want)
			}
			if diff := cmp.Diff(before, o); diff != "" {
				t.Errorf("the input moved:\n%s", diff)
			}
			readsTheSame(t, o)
		})
	}
}

// readsTheSame checks that what is kept of a slice says the same.
func readsTheSame(t *testing.T, o *discoveryv1.EndpointSlice) {
	t.Helper()
	kept := publish.OwnFields(o)
	kept.Endpoints = o.DeepCopy().Endpoints
	publish.Reduce(kept.Endpoints)
	want, refused := publish.ToSlice(o, target())
	got, refusal := publish.ToSlice(kept, target())
	if diff := cmp.Diff(want, got, equateAddresses); diff != "" {
		t.Errorf("of what is kept (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(refused, refusal); diff != "" {
		t.Errorf("the refusal of what is kept (-want +got):\n%s", diff)
	}
}

func TestContract57WhatIsKeptOfASliceReadsTheSame(t *testing.T) {
	for name, edit := range map[string]func(*discoveryv1.EndpointSlice){
		"as others changed it": func(*discoveryv1.EndpointSlice) {},
		"of another manager":   func(o *discoveryv1.EndpointSlice) { o.Labels[discoveryv1.LabelManagedBy] = "theirs" },
		"of no manager":        func(o *discoveryv1.EndpointSlice) { delete(o.Labels, discoveryv1.LabelManagedBy) },
		"of another Service":   func(o *discoveryv1.EndpointSlice) { o.Labels[discoveryv1.LabelServiceName] = "other" },
		"of another family":    func(o *discoveryv1.EndpointSlice) { o.AddressType = discoveryv1.AddressTypeIPv6 },
	} {
		t.Run(name, func(t *testing.T) {
			o := adorned()
			edit(o)
			readsTheSame(t, o)
			if kept := publish.OwnFields(o); len(kept.Labels) > len(o.Labels)-1 || kept.Annotations["note"] != "" || len(kept.Finalizers)+len(kept.ManagedFields) > 0 {
				t.Errorf("got %+v, want nothing of what others added", kept.ObjectMeta)
			}
		})
	}
}

func TestAMappedIPv4AddressIsNoMemberOfAnIPv6Slice(t *testing.T) {
	o := object()
	o.Name, o.AddressType = "web-remote-ipv6", discoveryv1.AddressTypeIPv6
	o.Endpoints = o.Endpoints[:1]
	o.Endpoints[0].Addresses[0] = "::ffff:10.0.0.2"
	got, _ := publish.ToSlice(o, target())
	if want := `"::ffff:10.0.0.2" is not an IPv6 address`; len(got.Endpoints) != 0 || got.Drift != want {
		t.Errorf("got endpoints %v, drift %q; want none, %q", got.Endpoints, got.Drift, want)
	}
}

func TestANonCanonicalAddressIsReadAndIsDrift(t *testing.T) {
	s := publish.Slice{Name: "web-remote-ipv6", Family: publish.IPv6, Owner: serviceUID, Ports: target().Ports,
		Endpoints: []inventory.Member{member("fd00::1", inventory.StateReady, "")}}
	o := publish.Apply(nil, publish.Write{Operation: publish.Create, Slice: s}, target())
	o.Endpoints[0].Addresses[0] = "FD00:0::1"
	got, _ := publish.ToSlice(o, target())
	if diff := cmp.Diff(s.Endpoints, got.Endpoints, equateAddresses); diff != "" {
		t.Errorf("endpoints (-want +got):\n%s", diff)
	}
	if want := `address "FD00:0::1" is not in canonical form`; got.Drift != want {
		t.Errorf("got drift %q, want %q", got.Drift, want)
	}
}

func TestAnAddressListedTwiceKeepsTheStateThatServesMore(t *testing.T) {
	o := object()
	down := *endpoint(o, "10.0.0.11")
	down.Addresses = []string{"10.0.0.2"}
	o.Endpoints = append([]discoveryv1.Endpoint{down}, o.Endpoints...)
	got, _ := publish.ToSlice(o, target())
	if diff := cmp.Diff(slice().Endpoints, got.Endpoints, equateAddresses); diff != "" {
		t.Errorf("endpoints (-want +got):\n%s", diff)
	}
}

func TestTheTextOfADriftIsBounded(t *testing.T) {
	o := object()
	o.Endpoints[0].Addresses[0] = strings.Repeat("x", 5000)
	for i := range 1000 {
		o.Endpoints = append(o.Endpoints, discoveryv1.Endpoint{Addresses: []string{fmt.Sprint("node-", i)}})
	}
	got, _ := publish.ToSlice(o, target())
	if len(got.Drift) > 500 || !strings.HasSuffix(got.Drift, "; and 998 more") {
		t.Errorf("got a drift of %d bytes: %s", len(got.Drift), got.Drift)
	}
}

func TestContract23ASliceThatIsNotOursIsRefusedWithTheRemedy(t *testing.T) {
	tests := []struct {
		name string
		edit func(*discoveryv1.EndpointSlice)
		want []string
	}{
		{"managed by another", func(o *discoveryv1.EndpointSlice) { o.Labels[discoveryv1.LabelManagedBy] = "somebody" },
			[]string{`default/web-remote is managed by "somebody"`, "TARGET_ENDPOINTSLICE_NAME"}},
		{"without a manager", func(o *discoveryv1.EndpointSlice) { delete(o.Labels, discoveryv1.LabelManagedBy) },
			[]string{"has no label endpointslice.kubernetes.io/managed-by", "delete it"}},
		{"of another Service", func(o *discoveryv1.EndpointSlice) { o.Labels[discoveryv1.LabelServiceName] = "shop" },
			[]string{`default/web-remote has the managed-by label of this daemon, but belongs to Service "shop", not to "web"`, "it is left alone",
				"set TARGET_ENDPOINTSLICE_NAME", "TARGET_SERVICE_NAME was changed", `"kubectl -n default delete endpointslice web-remote"`}},
		{"other addressType", func(o *discoveryv1.EndpointSlice) { o.AddressType = discoveryv1.AddressTypeIPv6 },
			[]string{"addressType IPv6 instead of IPv4", "delete the slice"}},
		{"names", func(o *discoveryv1.EndpointSlice) { o.AddressType = discoveryv1.AddressTypeFQDN },
			[]string{"addressType FQDN instead of IPv4"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			o := object()
			test.edit(o)
			_, refusal := publish.ToSlice(o, target())
			if refusal == nil {
				t.Fatal("got no refusal")
			}
			if refusal.Name != "web-remote" {
				t.Errorf("got name %q, want web-remote", refusal.Name)
			}
			for _, want := range test.want {
				if !strings.Contains(refusal.Message, want) {
					t.Errorf("got %q, want it to say %q", refusal.Message, want)
				}
			}
		})
	}
}

func TestTheStateHoldsOurNamesOnlyAndIsSorted(t *testing.T) {
	named := func(name string, family discoveryv1.AddressType) *discoveryv1.EndpointSlice {
		o := object()
		o.Name, o.AddressType, o.Endpoints = name, family, nil
		return o
	}
	foreign := named("web-remote-3", discoveryv1.AddressTypeIPv4)
	foreign.Labels[discoveryv1.LabelManagedBy] = "somebody"
	got := publish.StateOf(publish.Service{UID: serviceUID}, []*discoveryv1.EndpointSlice{
		named("web-remote-ipv6", discoveryv1.AddressTypeIPv6), named("web-remote-10", discoveryv1.AddressTypeIPv4),
		foreign, named("web-x7f2k", discoveryv1.AddressTypeIPv4), named("web-remote-2", discoveryv1.AddressTypeIPv4),
	}, target())
	var names []string
	for _, s := range got.Slices {
		names = append(names, s.Name)
	}
	if diff := cmp.Diff([]string{"web-remote-2", "web-remote-10", "web-remote-ipv6"}, names); diff != "" {
		t.Errorf("slices (-want +got):\n%s", diff)
	}
	if len(got.Refused) != 1 || got.Refused[0].Name != "web-remote-3" || got.Service.UID != serviceUID {
		t.Errorf("got refused %v, service %v", got.Refused, got.Service)
	}
}
