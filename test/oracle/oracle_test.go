package oracle_test

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strconv"
	"testing"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/kubernetes/pkg/proxy"
	"pgregory.net/rapid"

	view "github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/join"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/pkg/views"
)

// orders is how often kube-proxy is asked: it goes over the slices of a Service in
// random order, which decides where an endpoint stands in two of them with different
// conditions.
const orders = 24

// TestContract38TheJoinIsKubeProxys: kube-proxy sends to exactly the endpoints that are ready
// in the views.
func TestContract38TheJoinIsKubeProxys(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		service, all := world(t)
		ours := usable(service, all)
		theirs := proxied(service, all)
		for range orders {
			shuffle(all)
			if !maps.EqualFunc(theirs, proxied(service, all), slices.Equal[[]string]) {
				return // it depends on chance; see the next test
			}
		}
		if !maps.EqualFunc(ours, theirs, slices.Equal[[]string]) {
			t.Fatalf("got  %v\nwant %v", ours, theirs)
		}
	})
}

// TestEachStateIsOneThatKubeProxyMayFind: if kube-proxy's answer depends on chance,
// ours is one of its answers, for each endpoint.
func TestEachStateIsOneThatKubeProxyMayFind(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		service, all := world(t)
		possible := map[string]map[views.State]bool{}
		for range orders {
			shuffle(all)
			for _, family := range service.Spec.IPFamilies {
				for name, endpoints := range known(all, family) {
					for _, e := range endpoints {
						key := name.Port + " " + e.String()
						if possible[key] == nil {
							possible[key] = map[views.State]bool{}
						}
						for _, state := range states(e) {
							possible[key][state] = true
						}
					}
				}
			}
		}
		for _, e := range join(service, all) {
			if !possible[key(e)][e.State] {
				t.Fatalf("%s: got %s, want one of %v", key(e), e.State, possible[key(e)])
			}
		}
	})
}

// states are those that an endpoint with these conditions may have; other conditions
// do not matter.
func states(e proxy.Endpoint) []views.State {
	switch {
	case e.IsReady():
		return []views.State{views.Ready}
	case e.IsServing() && e.IsTerminating():
		return []views.State{views.Draining, views.Ready}
	}
	return []views.State{views.Down}
}

func shuffle(all []*discoveryv1.EndpointSlice) {
	rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
}

// TestContract38EveryEndpointThatKubeProxyKnowsHasAView, once, with any conditions.
func TestContract38EveryEndpointThatKubeProxyKnowsHasAView(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		service, all := world(t)
		got := map[string]int{}
		for _, e := range join(service, all) {
			got[key(e)]++
		}
		want := map[string]int{}
		for _, family := range []corev1.IPFamily{corev1.IPv4Protocol, corev1.IPv6Protocol} {
			for name, endpoints := range known(all, family) {
				if !has(service, name) || !slices.Contains(service.Spec.IPFamilies, family) {
					continue
				}
				for _, e := range endpoints {
					want[name.Port+" "+e.String()]++
				}
			}
		}
		if !maps.Equal(got, want) {
			t.Fatalf("got %v\nwant %v", got, want)
		}
	})
}

// usable are the endpoints that are ready in the views, by port.
func usable(service *corev1.Service, all []*discoveryv1.EndpointSlice) map[string][]string {
	found := map[string][]string{}
	for _, e := range join(service, all) {
		if e.State == views.Ready {
			found[e.Port.Name] = append(found[e.Port.Name], netip.AddrPortFrom(e.Address, uint16(e.TargetPort)).String())
		}
	}
	for _, endpoints := range found {
		slices.Sort(endpoints)
	}
	return found
}

func join(service *corev1.Service, all []*discoveryv1.EndpointSlice) []view.Endpoint {
	var translated []*view.Slice
	for _, slice := range all {
		if one := view.ToSlice(slice); one != nil {
			translated = append(translated, one)
		}
	}
	return view.Join(view.ToService(service), translated)
}

func key(e view.Endpoint) string {
	return e.Port.Name + " " + netip.AddrPortFrom(e.Address, uint16(e.TargetPort)).String()
}

// proxied are the endpoints that kube-proxy sends to, by port.
func proxied(service *corev1.Service, all []*discoveryv1.EndpointSlice) map[string][]string {
	found := map[string][]string{}
	for _, family := range service.Spec.IPFamilies {
		for name, endpoints := range known(all, family) {
			if !has(service, name) {
				continue
			}
			cluster, _, _, _ := proxy.CategorizeEndpoints(endpoints, anywhere{}, "node", nil)
			for _, e := range cluster {
				found[name.Port] = append(found[name.Port], e.String())
			}
		}
	}
	for _, endpoints := range found {
		slices.Sort(endpoints)
	}
	return found
}

// known are the endpoints that kube-proxy of that family has in its cache.
func known(all []*discoveryv1.EndpointSlice, family corev1.IPFamily) proxy.EndpointsMap {
	tracker := proxy.NewEndpointsChangeTracker(family, "node", nil, nil)
	for _, slice := range all {
		tracker.EndpointSliceUpdate(slice, false)
	}
	endpoints := proxy.EndpointsMap{}
	endpoints.Update(tracker)
	return endpoints
}

// has reports whether the Service has the port: kube-proxy looks endpoints up by its
// name and protocol.
func has(service *corev1.Service, name proxy.ServicePortName) bool {
	return slices.ContainsFunc(service.Spec.Ports, func(p corev1.ServicePort) bool {
		return p.Name == name.Port && p.Protocol == name.Protocol
	})
}

// anywhere is a Service port without a policy for local endpoints.
type anywhere struct{ proxy.ServicePort }

func (anywhere) UsesClusterEndpoints() bool { return true }
func (anywhere) UsesLocalEndpoints() bool   { return false }
func (anywhere) String() string             { return "anywhere" }

// world draws a Service and its slices, small enough that everything collides.
func world(t *rapid.T) (*corev1.Service, []*discoveryv1.EndpointSlice) {
	families := rapid.SampledFrom([][]corev1.IPFamily{
		{corev1.IPv4Protocol}, {corev1.IPv6Protocol}, {corev1.IPv4Protocol, corev1.IPv6Protocol},
	}).Draw(t, "families")
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeClusterIP, IPFamilies: families},
	}
	for _, name := range rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"", "http"}), 1, 2, rapid.ID).Draw(t, "ports") {
		service.Spec.Ports = append(service.Spec.Ports, corev1.ServicePort{Name: name, Port: 80, Protocol: protocols().Draw(t, "protocol")})
	}
	var all []*discoveryv1.EndpointSlice
	for i := range rapid.IntRange(1, 4).Draw(t, "slices") {
		all = append(all, slice(t, "web-"+strconv.Itoa(i)))
	}
	return service, all
}

func slice(t *rapid.T, name string) *discoveryv1.EndpointSlice {
	family := rapid.SampledFrom([]discoveryv1.AddressType{discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6, discoveryv1.AddressTypeFQDN}).Draw(t, "type")
	one := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: name, Namespace: "shop", Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
		AddressType: family,
	}
	if rapid.IntRange(0, 19).Draw(t, "label") == 0 {
		one.Labels = nil
	}
	for range rapid.IntRange(1, 2).Draw(t, "ports") {
		protocol := protocols().Draw(t, "protocol")
		port := discoveryv1.EndpointPort{Name: new(string), Port: new(int32(8080)), Protocol: &protocol}
		*port.Name = rapid.SampledFrom([]string{"", "http"}).Draw(t, "name")
		switch rapid.IntRange(0, 9).Draw(t, "odd") {
		case 9:
			port.Name = nil
		case 8:
			port.Port = nil
		case 7:
			*port.Port = 0
		case 6:
			*port.Port = 8081
		}
		one.Ports = append(one.Ports, port)
	}
	for range rapid.IntRange(0, 4).Draw(t, "endpoints") {
		one.Endpoints = append(one.Endpoints, endpoint(t, family))
	}
	return one
}

func endpoint(t *rapid.T, family discoveryv1.AddressType) discoveryv1.Endpoint {
	texts := map[discoveryv1.AddressType][]string{
		discoveryv1.AddressTypeIPv4: {"10.0.0.1", "10.0.0.2", "010.0.0.1"},
		discoveryv1.AddressTypeIPv6: {"fd00::1", "FD00:0:0::1"},
		discoveryv1.AddressTypeFQDN: {"a.example.org"},
	}[family]
	e := discoveryv1.Endpoint{Addresses: rapid.SliceOfN(rapid.SampledFrom(texts), 0, 3).Draw(t, "addresses")}
	e.Conditions = discoveryv1.EndpointConditions{Ready: maybe(t, rapid.Bool()), Serving: maybe(t, rapid.Bool()), Terminating: maybe(t, rapid.Bool())}
	return e
}

func maybe[T any](t *rapid.T, values *rapid.Generator[T]) *T {
	return rapid.Ptr(values, true).Draw(t, fmt.Sprintf("maybe %T", *new(T)))
}

func protocols() *rapid.Generator[corev1.Protocol] {
	return rapid.SampledFrom([]corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolTCP, corev1.ProtocolUDP})
}
