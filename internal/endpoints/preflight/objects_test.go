package preflight_test

import (
	"net/netip"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/preflight"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// target is the Service shop/web, whose port is called http.
func target() publish.Target {
	return publish.Target{
		Namespace: "shop", Service: "web", SliceName: "web-remote", ManagedBy: "us", MaxEndpoints: 100,
		Ports: []publish.Port{{Name: "http", Protocol: publish.TCP, Number: 8080}},
	}
}

// service is a right one with a change.
func service(change func(*corev1.Service)) *corev1.Service {
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", UID: "uid"},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeClusterIP, IPFamilies: []corev1.IPFamily{corev1.IPv4Protocol},
			Ports: []corev1.ServicePort{{Name: "http", Port: 80, Protocol: corev1.ProtocolTCP}},
		},
	}
	change(s)
	return s
}

// at makes an endpoint of each address.
func at(addresses ...string) []inventory.Candidate {
	var candidates []inventory.Candidate
	for _, a := range addresses {
		candidates = append(candidates, inventory.Candidate{Address: netip.MustParseAddr(a)})
	}
	return candidates
}

func TestAMistakeOfTheServiceIsFound(t *testing.T) {
	t.Parallel()
	now := metav1.NewTime(time.Unix(1, 0))
	candidates := at("10.0.0.1", "10.0.0.2")
	const valid = "ok service-valid"
	for _, test := range []struct {
		name       string
		change     func(*corev1.Service)
		candidates []inventory.Candidate
		want       []string
	}{
		{"right", func(*corev1.Service) {}, candidates, []string{valid}},
		{"going", func(s *corev1.Service) { s.DeletionTimestamp = &now }, candidates, []string{"fail service-valid"}},
		{"selector", func(s *corev1.Service) { s.Spec.Selector = map[string]string{"a": "b"} }, candidates, []string{"fail service-valid"}},
		{"port", func(s *corev1.Service) { s.Spec.Ports[0].Name = "x" }, candidates, []string{"fail service-valid"}},
		{"other protocol", func(s *corev1.Service) { s.Spec.Ports[0].Protocol = corev1.ProtocolUDP }, candidates, []string{"fail service-valid"}},
		{"external name", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeExternalName }, candidates, []string{"fail service-valid"}},
		{"no candidate", func(*corev1.Service) {}, nil, []string{valid}},
		{"one family too many", func(*corev1.Service) {}, at("10.0.0.1", "fd00::1"), []string{valid, "warn service-clients"}},
		{"the other family", func(*corev1.Service) {}, at("fd00::1"), []string{valid, "fail service-clients"}},
		{"both", func(s *corev1.Service) { s.Spec.IPFamilies = append(s.Spec.IPFamilies, corev1.IPv6Protocol) }, at("10.0.0.1", "fd00::1"), []string{valid}},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			want(t, preflight.JudgeService(publish.ServiceOf(service(test.change)), target(), test.candidates, nil), test.want...)
		})
	}
	want(t, preflight.JudgeService(publish.Service{}, target(), candidates, nil), "fail service-valid")
}

// Contract 232: check tells what keeps clients from the endpoints.
func TestContract232WhatTheDaemonTellsOfAServiceIsACheck(t *testing.T) {
	t.Parallel()
	for reason, found := range map[string]string{
		assign.TrafficPolicyLocal: "fail service-clients", assign.TopologyIgnored: "warn service-clients",
		assign.HeadlessPort: "warn service-clients", assign.BindingWins: "warn service-valid", assign.UnknownAnnotation: "warn service-valid",
	} {
		checks := preflight.JudgeService(publish.ServiceOf(service(func(*corev1.Service) {})), target(), nil, []assign.Notice{{Reason: reason, Message: "it is so; change it"}})
		want(t, checks, "ok service-valid", found)
		if c := checks[1]; c.Message != "it is so" || c.Remedy != "change it" || c.Reason != reason {
			t.Errorf("got %+v, want the words of the daemon", c)
		}
	}
}

// slice is one with a ready endpoint.
func slice(name, manager string) *discoveryv1.EndpointSlice {
	yes, no := true, false
	return &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: name, Labels: map[string]string{discoveryv1.LabelManagedBy: manager, discoveryv1.LabelServiceName: "web"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints: []discoveryv1.Endpoint{{
			Addresses: []string{"10.0.0.1"}, Conditions: discoveryv1.EndpointConditions{Ready: &yes, Serving: &yes, Terminating: &no},
		}},
	}
}

func TestWhatStandsBesideOurSlicesIsFoundWithARemedyThatIsSafe(t *testing.T) {
	t.Parallel()
	const mirroring = "endpointslicemirroring-controller.k8s.io"
	ours, mirrored := slice("web-remote", "us"), slice("web-abc", mirroring)
	empty := slice("web-abc", mirroring)
	empty.Endpoints = nil
	for _, test := range []struct {
		objects []*discoveryv1.EndpointSlice
		want    []string
		remedy  string
	}{
		{nil, []string{"skip slices-ours"}, ""},
		{[]*discoveryv1.EndpointSlice{ours, empty}, []string{"ok slices-ours"}, ""},
		{[]*discoveryv1.EndpointSlice{mirrored}, []string{"skip slices-ours", "fail slices-beside"}, "once "},
		{[]*discoveryv1.EndpointSlice{ours, slice("web-abc", "endpointslice-controller.k8s.io")}, []string{"ok slices-ours", "fail slices-beside"}, "once "},
		{[]*discoveryv1.EndpointSlice{ours, slice("web-abc", "others")}, []string{"ok slices-ours", "warn slices-beside"}, "once "},
		{[]*discoveryv1.EndpointSlice{ours, slice("old-name", "us")}, []string{"ok slices-ours", "warn slices-beside"}, "once "},
		{[]*discoveryv1.EndpointSlice{slice("web-remote", "others")}, []string{"fail slices-ours"}, ""},
	} {
		checks := preflight.JudgeSlices(publish.Service{UID: "uid"}, test.objects, []publish.Target{target()})
		want(t, checks, test.want...)
		if remedy := checks[len(checks)-1].Remedy; !strings.Contains(remedy, test.remedy) {
			t.Errorf("got the remedy %q, want %q in it", remedy, test.remedy)
		}
	}
}
