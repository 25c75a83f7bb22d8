package chart_test

import (
	"slices"
	"strings"
	"testing"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/stage"
)

// slice is one of our slices, as the daemon writes them.
func slice(name string, addresses ...string) *discoveryv1.EndpointSlice {
	port, portName := int32(8080), "http"
	s := &discoveryv1.EndpointSlice{
		ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{
			discoveryv1.LabelServiceName: "web", discoveryv1.LabelManagedBy: release,
		}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: &portName, Port: &port}},
	}
	for _, address := range addresses {
		s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{address}})
	}
	return s
}

// changed is a slice with one thing wrong.
func changed(s *discoveryv1.EndpointSlice, change func(*discoveryv1.EndpointSlice)) *discoveryv1.EndpointSlice {
	change(s)
	return s
}

// awaitPolicy waits until the policy is in force, which it is a moment after it
// was stored.
func (i *installation) awaitPolicy(t *testing.T) {
	t.Helper()
	daemon := i.daemon(t).DiscoveryV1().EndpointSlices(i.namespace)
	stage.Until(t, "the policy to be in force", func() bool {
		_, err := daemon.Create(t.Context(), slice("other", "10.0.0.11"), metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil && strings.Contains(err.Error(), "ValidatingAdmissionPolicy")
	})
}

func policyHolds(t *testing.T, i *installation) {
	daemon := i.daemon(t).DiscoveryV1().EndpointSlices(i.namespace)
	admin := i.Client.DiscoveryV1().EndpointSlices(i.namespace)
	const free = "web-remote-9"
	create := func(s *discoveryv1.EndpointSlice) error {
		_, err := daemon.Create(t.Context(), s, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	for name, c := range map[string]struct {
		slice *discoveryv1.EndpointSlice
		says  string
	}{
		"another name":       {slice("other", "10.0.0.11"), "not the name of a slice of web"},
		"a name beyond":      {slice("web-remote-21", "10.0.0.11"), "not the name of a slice of web"},
		"another Service":    {changed(slice(free, "10.0.0.11"), func(s *discoveryv1.EndpointSlice) { s.Labels[discoveryv1.LabelServiceName] = "api" }), "kubernetes.io/service-name"},
		"no Service":         {changed(slice(free, "10.0.0.11"), func(s *discoveryv1.EndpointSlice) { delete(s.Labels, discoveryv1.LabelServiceName) }), "kubernetes.io/service-name"},
		"no labels":          {changed(slice(free, "10.0.0.11"), func(s *discoveryv1.EndpointSlice) { s.Labels = nil }), "kubernetes.io/service-name"},
		"another manager":    {changed(slice(free, "10.0.0.11"), func(s *discoveryv1.EndpointSlice) { s.Labels[discoveryv1.LabelManagedBy] = "me" }), "managed-by"},
		"an address outside": {slice(free, "10.0.0.11", "192.168.1.1"), "every new address must be inside 10.0.0.0/16"},
		"one just outside":   {slice(free, "10.1.0.0"), "every new address must be inside 10.0.0.0/16"},
		"the second of two": {changed(slice(free, "10.0.0.11"), func(s *discoveryv1.EndpointSlice) {
			s.Endpoints[0].Addresses = append(s.Endpoints[0].Addresses, "1.1.1.1")
		}), "every new address"},
		"another family":       {changed(slice(free, "fd00::11"), func(s *discoveryv1.EndpointSlice) { s.AddressType = discoveryv1.AddressTypeIPv6 }), "every new address"},
		"a name as an address": {changed(slice(free, "example.com"), func(s *discoveryv1.EndpointSlice) { s.AddressType = discoveryv1.AddressTypeFQDN }), "addressType"},
		"another port":         {changed(slice(free, "10.0.0.11"), func(s *discoveryv1.EndpointSlice) { *s.Ports[0].Port = 22 }), "every port must be one of 8080"},
		"any port":             {changed(slice(free, "10.0.0.11"), func(s *discoveryv1.EndpointSlice) { s.Ports[0].Port = nil }), "every port must be one of 8080"},
	} {
		if err := create(c.slice); err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "ValidatingAdmissionPolicy") {
			t.Errorf("%s: got %v, want it refused with %q", name, err, c.says)
		}
	}
	for name, s := range map[string]*discoveryv1.EndpointSlice{
		"an empty one": slice(free), "a usual one": slice(free, "10.0.0.11"), "a full one": slice(free, many("10.0", 1000)...),
		"one without ports": changed(slice(free, "10.0.0.11"), func(s *discoveryv1.EndpointSlice) { s.Ports = nil }),
	} {
		if err := create(s); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// Others are not concerned.
	foreign := changed(slice(free, "192.168.1.1"), func(s *discoveryv1.EndpointSlice) { s.Labels[discoveryv1.LabelManagedBy] = "me" })
	foreign, err := admin.Create(t.Context(), foreign, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	update := func(s *discoveryv1.EndpointSlice) error {
		_, err := daemon.Update(t.Context(), s, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	taken := slice(free, "10.0.0.11")
	taken.ResourceVersion = foreign.ResourceVersion
	if err := update(taken); err == nil || !strings.Contains(err.Error(), "managed by another") {
		t.Errorf("a slice taken from another: got %v, want it refused", err)
	}
	stays := slice("web-remote-8", "192.168.1.1", "10.0.0.11")
	stays, err = admin.Create(t.Context(), stays, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	no := false
	stays.Endpoints[1].Conditions.Ready = &no
	if err := update(stays); err != nil {
		t.Errorf("a dead member beside one that is outside since the subnets were narrowed: %v", err)
	}
	crowd := slice("web-remote-7", many("192.168", 1000)...)
	crowd, err = admin.Create(t.Context(), crowd, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	crowd.Endpoints[7].Conditions.Ready = &no
	if err := update(crowd); err != nil {
		t.Errorf("a dead member of 1,000 that are outside since the subnets were narrowed: %v", err)
	}
	crowd.Endpoints = slices.Delete(crowd.Endpoints, 3, 4)
	if err := update(crowd); err != nil {
		t.Errorf("one less of 1,000 that are outside since the subnets were narrowed: %v", err)
	}
	former := changed(slice("former", many("10.0", 1000)...), func(s *discoveryv1.EndpointSlice) { s.Labels[discoveryv1.LabelServiceName] = "former" })
	former, err = admin.Create(t.Context(), former, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	former.Endpoints = slices.Delete(former.Endpoints, 3, 4)
	if err := update(former); err != nil {
		t.Errorf("one less of 1,000 of the Service of before: %v", err)
	}
	ofDB := changed(slice("db-1", "192.168.1.3"), func(s *discoveryv1.EndpointSlice) { s.Labels = map[string]string{discoveryv1.LabelServiceName: "db"} })
	ofDB, err = admin.Create(t.Context(), ofDB, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ofDB.Labels = slice(free).Labels
	if err := update(ofDB); err == nil || !strings.Contains(err.Error(), "kubernetes.io/service-name") {
		t.Errorf("the endpoints of another Service given to this one: got %v, want it refused", err)
	}
	stays.Endpoints[1].Addresses[0] = "192.168.1.2"
	if err := update(stays); err == nil || !strings.Contains(err.Error(), "every new address") {
		t.Errorf("another address outside beside it: got %v, want it refused", err)
	}
	own, err := admin.Get(t.Context(), "web-remote", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	own.Endpoints[0].Addresses[0] = "192.168.1.1"
	if err := update(own); err == nil || !strings.Contains(err.Error(), "every new address") {
		t.Errorf("an update with an address outside: got %v, want it refused", err)
	}
	own.Endpoints[0].Addresses[0] = "10.0.0.99"
	if err := update(own); err != nil {
		t.Errorf("an update of its own slice: %v", err)
	}
}
