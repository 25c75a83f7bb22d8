package xds_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/cache"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/join"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

// hidden writes a Service that is not shown.
func (c *cluster) hidden(namespace, name string) {
	c.revision++
	c.Set(0, cache.Services, cache.Input{Key: join.Key{Namespace: namespace, Name: name}, Revision: c.revision, Hidden: true})
}

// leading is a server to which objects say these listeners of fleet shop/edge.
func leading(t *testing.T, c *cluster, all ...envoyconfig.Listener) (*server, *xds.Fleets) {
	t.Helper()
	fleets := xds.NewFleets()
	fleets.Replace(map[string]xds.Object{"shop/edge": {Traffic: envoyconfig.Traffic{Generation: 7, Listeners: all}}})
	return start(t, c, func(o *xds.Options) { o.Fleets = fleets }), fleets
}

func to(service string, port int32) envoyconfig.Listener {
	namespace, name, _ := strings.Cut(service, "/")
	return envoyconfig.Listener{Port: 8080, Protocol: v1alpha1.ListenerHTTP, Service: join.Key{Namespace: namespace, Name: name}, ServicePort: port}
}

func TestContract152AListenerThatLeadsNowhereIsNamedWithTheRemedy(t *testing.T) {
	c := newCluster(t)
	c.service("shop", "web", port("http", 80)) // without any endpoint
	c.hidden("shop", "hidden")
	c.hidden("blog", "hidden")
	c.service("blog", "foreign", port("http", 80))
	c.serviceOf(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "blog", Name: "ours", Annotations: map[string]string{join.FleetsAnnotation: "shop/edge"}},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{port("http", 80)}},
	})
	c.serviceOf(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "headless"}, Spec: corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone}})
	c.serviceOf(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "tls"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "https", Port: 443, AppProtocol: ptr.To("https")}}},
	})
	tcp := to("shop/hidden", 0)
	tcp.Protocol = v1alpha1.ListenerTCP
	for name, one := range map[string]struct {
		listener     envoyconfig.Listener
		reason, text string
	}{
		"the first port":               {listener: to("shop/web", 0)},
		"a port by its number":         {listener: to("shop/web", 80)},
		"a Service that names it":      {listener: to("blog/ours", 80)},
		"another port":                 {to("shop/web", 81), "PortNotFound", "Service shop/web has no port 81 of TCP; add it"},
		"no port at all":               {to("shop/headless", 0), "PortNotFound", "Service shop/headless has no port of TCP; add one"},
		"another port elsewhere":       {to("blog/ours", 81), "PortNotFound", "Service blog/ours has no port 81"},
		"no Service":                   {to("shop/none", 0), "BackendNotFound", "there is no Service shop/none; create it"},
		"a Service that is not shown":  {to("shop/hidden", 0), "NotShown", "it needs the annotation endpoints.ablmnzde.github.io/views=true"},
		"the same for bytes":           {tcp, "NotShown", "Service shop/hidden is not shown"},
		"TLS without a word":           {to("shop/tls", 0), "UnsupportedProtocol", "port 443 of Service shop/tls speaks TLS"},
		"a Service of another team":    {to("blog/foreign", 0), "RefNotPermitted", "endpoints.ablmnzde.github.io/fleets=shop/edge"},
		"one that is not shown there":  {to("blog/hidden", 0), "RefNotPermitted", "endpoints.ablmnzde.github.io/fleets=shop/edge"},
		"one that is not there at all": {to("blog/none", 0), "RefNotPermitted", "endpoints.ablmnzde.github.io/fleets=shop/edge"},
	} {
		s, _ := leading(t, c, one.listener)
		got := s.Objects()
		if len(got) != 1 || got[0].Client != "shop/edge" || got[0].Generation != 7 {
			t.Fatalf("%s: got %+v", name, got)
		}
		switch all := got[0].Unresolved; {
		case one.reason == "" && len(all) == 0:
		case len(all) != 1 || all[0].Port != 8080 || all[0].Route != 0 || all[0].Reason != one.reason || !strings.Contains(all[0].Text, one.text):
			t.Errorf("%s: got %+v, want %s with %q", name, all, one.reason, one.text)
		}
		s.stop()
	}
}

// A team must not learn by its own listeners which Services another one has.
func TestContract152OfAnotherNamespaceTheWordsAreTheSame(t *testing.T) {
	c := newCluster(t)
	c.service("blog", "one", port("http", 80))
	c.hidden("blog", "two")
	s, _ := leading(t, c, to("blog/one", 81), to("blog/two", 81), to("blog/six", 81))
	texts := make(map[string]bool)
	for _, one := range s.Objects()[0].Unresolved {
		texts[one.Reason+strings.NewReplacer("blog/one", "", "blog/two", "", "blog/six", "").Replace(one.Text)] = true
	}
	if len(texts) != 1 {
		t.Errorf("got %v, want one text for all", texts)
	}
}

func TestContract152TheFirstFiveAreNamed(t *testing.T) {
	c := newCluster(t)
	c.service("shop", "web", port("http", 80))
	l := envoyconfig.Listener{Port: 8443, Protocol: v1alpha1.ListenerHTTP}
	for i := range 9 {
		l.Routes = append(l.Routes, envoyconfig.Route{Prefix: fmt.Sprintf("/%d", i), Service: join.Key{Namespace: "shop", Name: []string{"web", "gone"}[min(1, i%4)]}})
	}
	s, fleets := leading(t, c, l)
	got := s.Objects()[0]
	var routes []int
	for _, one := range got.Unresolved {
		routes = append(routes, one.Route)
	}
	if fmt.Sprint(routes) != "[2 3 4 6 7]" || got.More != 1 {
		t.Errorf("got routes %v and %d more, want the first five of six", routes, got.More)
	}
	// What changes is seen at once, in both directions.
	c.service("shop", "gone", port("http", 80))
	until(t, "all lead somewhere", func() bool { return len(s.Objects()[0].Unresolved) == 0 })
	c.noService("web")
	until(t, "three lead nowhere", func() bool { return len(s.Objects()[0].Unresolved) == 3 })
	fleets.Replace(map[string]xds.Object{"shop/edge": {Traffic: envoyconfig.Traffic{Generation: 8}, Problem: errors.New("two routes")}})
	if got := s.Objects()[0]; got.Generation != 8 || got.Problem != "two routes" || len(got.Unresolved) != 0 {
		t.Errorf("got %+v, want why generation 8 is not in effect", got)
	}
}

func TestContract152BeforeTheServicesAreKnownNothingIsSaid(t *testing.T) {
	c := &cluster{Cache: cache.New(1)}
	fleets := xds.NewFleets()
	fleets.Replace(map[string]xds.Object{"shop/edge": {Traffic: envoyconfig.Traffic{Generation: 7, Listeners: []envoyconfig.Listener{to("shop/web", 0)}}}})
	s := begin(t, c, func(o *xds.Options) { o.Fleets = fleets })
	if got := s.Objects(); len(got) != 0 {
		t.Errorf("got %+v before the first list", got)
	}
	c.service("shop", "web", port("http", 80))
	c.sync(t)
	until(t, "the fleet is told", func() bool { return len(s.Objects()) == 1 })
}

func TestContract153WhatAServiceSaysAndProxiesDoNotHeedIsTold(t *testing.T) {
	c := newCluster(t)
	c.serviceOf(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: corev1.ServiceSpec{
		Ports: []corev1.ServicePort{port("http", 80)}, SessionAffinity: corev1.ServiceAffinityClientIP,
		TrafficDistribution: ptr.To("PreferClose"), InternalTrafficPolicy: ptr.To(corev1.ServiceInternalTrafficPolicyLocal),
	}})
	l := to("shop/web", 0)
	l.Routes = []envoyconfig.Route{{Prefix: "/again", Service: l.Service}}
	s, _ := leading(t, c, l)
	want := []string{
		"sessionAffinity of Service shop/web has no effect behind Envoys",
		"trafficDistribution of Service shop/web has no effect behind Envoys",
		"internalTrafficPolicy of Service shop/web has no effect behind Envoys",
	}
	if diff := cmp.Diff(want, s.Objects()[0].Notes); diff != "" {
		t.Error(diff)
	}
	c.serviceOf(&corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: corev1.ServiceSpec{
		Ports: []corev1.ServicePort{port("http", 80)}, SessionAffinity: corev1.ServiceAffinityNone, InternalTrafficPolicy: ptr.To(corev1.ServiceInternalTrafficPolicyCluster),
	}})
	until(t, "nothing is told any more", func() bool { return len(s.Objects()[0].Notes) == 0 })
}

// Contract 148: whoever wrote the listener learns why it leads nowhere.
func TestContract148AServiceThatThereIsNoRoomForIsNamed(t *testing.T) {
	c := newCluster(t)
	many := make([]corev1.ServicePort, 256)
	for i := range many {
		many[i] = corev1.ServicePort{Name: fmt.Sprint("p", i), Port: int32(i + 1), AppProtocol: ptr.To(strings.Repeat("q", 250))}
	}
	for i := range 100 {
		c.service("shop", fmt.Sprint("crowd-", i), many...)
	}
	c.service("shop", "web", many...)
	s, _ := leading(t, c, to("shop/web", 1))
	if all := s.Objects()[0].Unresolved; len(all) != 1 || all[0].Reason != "NotShown" || !strings.Contains(all[0].Text, "Service shop/web is not shown: the Services of its namespace take more memory than") {
		t.Errorf("got %+v, want the reason and the remedy", all)
	}
}

// TestContract233TheOperatorIsToldAsMuchOfAMistakeAsItQuotes.
func TestContract233TheOperatorIsToldAsMuchOfAMistakeAsItQuotes(t *testing.T) {
	fleets := xds.NewFleets()
	fleets.Replace(map[string]xds.Object{"shop/edge": {Problem: errors.New("no port " + strings.Repeat("<", 8000))}})
	s := start(t, newCluster(t), func(o *xds.Options) { o.Fleets = fleets })
	if got := s.Objects()[0].Problem; len(got) > 1000 || !strings.HasPrefix(got, "no port") {
		t.Errorf("got %d bytes, want 1000 at most", len(got))
	}
}
