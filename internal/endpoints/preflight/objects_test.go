package preflight_test

import (
	"net/netip"
	"slices"
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

func TestEachMistakeOfTheServiceIsFoundBesideTheOthers(t *testing.T) {
	t.Parallel()
	right := []string{
		"ok service-present", "ok service-type", "ok service-selector", "ok service-ports", "ok service-traffic-policy", "ok service-families",
	}
	with := func(changed ...string) []string {
		all := append([]string{}, right...)
		for _, c := range changed {
			_, id, _ := strings.Cut(c, " ")
			for i := range all {
				if strings.HasSuffix(all[i], " "+id) {
					all[i] = c
				}
			}
		}
		return all
	}
	now := metav1.NewTime(time.Unix(1, 0))
	candidates := at("10.0.0.1", "10.0.0.2")
	for _, test := range []struct {
		name       string
		change     func(*corev1.Service)
		candidates []inventory.Candidate
		want       []string
	}{
		{"right", func(*corev1.Service) {}, candidates, right},
		{"going", func(s *corev1.Service) { s.DeletionTimestamp = &now }, candidates, []string{"fail service-present"}},
		{"selector and port", func(s *corev1.Service) { s.Spec.Selector = map[string]string{"a": "b"}; s.Spec.Ports[0].Name = "x" }, candidates,
			with("fail service-selector", "fail service-ports")},
		{"other protocol", func(s *corev1.Service) { s.Spec.Ports[0].Protocol = corev1.ProtocolUDP }, candidates, with("fail service-ports")},
		{"external name", func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeExternalName }, candidates, with("fail service-type")},
		{"no candidate", func(*corev1.Service) {}, nil, with("skip service-families")},
		{"one family too many", func(*corev1.Service) {}, at("10.0.0.1", "fd00::1"), with("warn service-families")},
		{"the other family", func(*corev1.Service) {}, at("fd00::1"), with("fail service-families")},
		{"both", func(s *corev1.Service) { s.Spec.IPFamilies = append(s.Spec.IPFamilies, corev1.IPv6Protocol) }, at("10.0.0.1", "fd00::1"), right},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			want(t, preflight.JudgeService(service(test.change), target(), test.candidates), test.want...)
		})
	}
	want(t, preflight.JudgeService(nil, target(), candidates), "fail service-present")
}

func TestWhatTheDaemonTellsOfAServiceIsACheck(t *testing.T) {
	t.Parallel()
	for reason, found := range map[string]string{
		assign.TrafficPolicyLocal: "fail service-traffic-policy", assign.TopologyIgnored: "warn service-topology",
		assign.HeadlessPort: "warn service-headless", assign.BindingWins: "warn service-annotations", assign.UnknownAnnotation: "warn service-annotations",
	} {
		checks := preflight.JudgeService(service(func(*corev1.Service) {}), target(), nil, assign.Notice{Reason: reason, Message: "it is so; change it"})
		i := slices.IndexFunc(checks, func(c preflight.Check) bool { return c.Message == "it is so" && c.Remedy == "change it" })
		if i < 0 || string(checks[i].Result)+" "+string(checks[i].ID) != found {
			t.Errorf("%s: got %+v, want %s", reason, checks, found)
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
		{nil, []string{"skip slices-ours", "ok slices-beside"}, ""},
		{[]*discoveryv1.EndpointSlice{ours, empty}, []string{"ok slices-ours", "ok slices-beside"}, ""},
		{[]*discoveryv1.EndpointSlice{mirrored}, []string{"skip slices-ours", "fail slices-beside"}, "not now: "},
		{[]*discoveryv1.EndpointSlice{ours, mirrored}, []string{"ok slices-ours", "fail slices-beside"}, "the slices of this program hold 1 ready endpoint now; "},
		{[]*discoveryv1.EndpointSlice{ours, slice("web-abc", "endpointslice-controller.k8s.io")}, []string{"ok slices-ours", "fail slices-beside"}, "once "},
		{[]*discoveryv1.EndpointSlice{ours, slice("web-abc", "others")}, []string{"ok slices-ours", "warn slices-beside"}, "once "},
		{[]*discoveryv1.EndpointSlice{ours, slice("old-name", "us")}, []string{"ok slices-ours", "warn slices-beside"}, "once "},
		{[]*discoveryv1.EndpointSlice{slice("web-remote", "others")}, []string{"fail slices-ours", "ok slices-beside"}, ""},
	} {
		checks := preflight.JudgeSlices(publish.Service{UID: "uid"}, test.objects, target())
		want(t, checks, test.want...)
		if remedy := checks[len(checks)-1].Remedy; !strings.Contains(remedy, test.remedy) {
			t.Errorf("got the remedy %q, want %q in it", remedy, test.remedy)
		}
	}
}
