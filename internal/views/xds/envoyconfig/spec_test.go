package envoyconfig_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/join"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

func TestFleetsReportEveryMistakeWithItsRemedy(t *testing.T) {
	_, err := envoyconfig.FromFile([]byte(`
fleets:
- {name: edge}
- {name: shop/edge, listeners: [{port: 0, service: web}, {port: 80, service: Web}, {port: 81, service: web, protocol: UDP}, {port: 82, service: web}, {port: 82, service: web}]}
- {name: shop/edge}
`))
	if err == nil {
		t.Fatal("no mistake is reported")
	}
	for _, want := range []string{"NAMESPACE/NAME", "port 0", "port 80", "port 81", "port 82", "is there twice; write its listeners"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in: %v", want, err)
		}
	}
	if _, err := envoyconfig.FromFile([]byte("fleets: [{name: shop/edge, listener: []}]")); err == nil {
		t.Error("an unknown field is taken")
	}
}

const everyField = `
- {name: web, port: 443, tls: {secretNames: [shop-tls, blog-tls], minVersion: "1.3"}, proxyProtocol: Required, trustedHops: 2, routes: [
    {hosts: [shop.example.com, "*.shop.example.com"], service: web},
    {hosts: [shop.example.com], pathPrefix: /api, service: blog/api, servicePort: 8080, requestTimeout: 5s, idleTimeout: 0s}]}
- {name: plain, port: 80, httpsRedirectPort: 443, routes: [{pathPrefix: /.well-known/acme-challenge, service: acme}]}
- {name: db, port: 5432, protocol: TCP, service: db, servicePort: 5432}
`

// wantTraffic is what everyField says in a file of namespace shop.
func wantTraffic() []envoyconfig.Listener {
	shop := func(name string) join.Key { return join.Key{Namespace: "shop", Name: name} }
	return []envoyconfig.Listener{
		{Address: netip.IPv4Unspecified(), Port: 443, Protocol: v1alpha1.ListenerHTTP, Certificates: []string{"shop-tls", "blog-tls"}, OnlyTLS13: true, ProxyProtocol: true, TrustedHops: 2, Routes: []envoyconfig.Route{
			{Hosts: []string{"shop.example.com", "*.shop.example.com"}, Prefix: "/", Service: shop("web")},
			{Hosts: []string{"shop.example.com"}, Prefix: "/api", Service: join.Key{Namespace: "blog", Name: "api"}, ServicePort: 8080, RequestTimeout: ptr.To(5 * time.Second), IdleTimeout: ptr.To(time.Duration(0))},
		}},
		{Address: netip.IPv4Unspecified(), Port: 80, Protocol: v1alpha1.ListenerHTTP, RedirectPort: 443, Routes: []envoyconfig.Route{{Prefix: "/.well-known/acme-challenge", Service: shop("acme")}}},
		{Address: netip.IPv4Unspecified(), Port: 5432, Protocol: v1alpha1.ListenerTCP, Service: shop("db"), ServicePort: 5432},
	}
}

func TestContract91AFileAndAnObjectSayTheSame(t *testing.T) {
	want := wantTraffic()
	all, err := envoyconfig.FromFile([]byte("fleets:\n- name: shop/edge\n  accessLog: All\n  folder: /etc/proxy\n  listeners:\n" + indented(everyField)))
	if err != nil {
		t.Fatal(err)
	}
	addresses := cmpopts.EquateComparable(netip.Addr{})
	if diff := cmp.Diff(envoyconfig.Traffic{AccessLog: v1alpha1.AccessLogAll, Folder: "/etc/proxy", Listeners: want}, all["shop/edge"], addresses); diff != "" {
		t.Error(diff)
	}
	e := &v1alpha1.Envoy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "edge"}}
	if err := yaml.UnmarshalStrict([]byte("listeners:\n"+indented(everyField)), &e.Spec); err != nil {
		t.Fatal(err)
	}
	got, err := envoyconfig.FromObject(e)
	if err != nil {
		t.Fatal(err)
	}
	want[0].Port, want[1].Port = 8443, 8080
	for i := range want {
		want[i].Address = netip.IPv6Unspecified()
	}
	if diff := cmp.Diff(envoyconfig.Traffic{AccessLog: v1alpha1.AccessLogFailures, Listeners: want}, got, addresses); diff != "" {
		t.Error(diff)
	}
}

func indented(text string) string { return strings.ReplaceAll(text, "\n", "\n  ") }

func TestContract91EveryMistakeOfAListenerIsNamedWithItsRemedy(t *testing.T) {
	for text, want := range map[string]string{
		"{port: 70000, service: web}":                       "write a number from 1 to 65535",
		"{port: 80, service: web, protocol: UDP}":           "write HTTP or TCP",
		"{port: 80, service: web, proxyProtocol: required}": "write Required or None",
		"{port: 80}": "leads nowhere; write service, routes or httpsRedirectPort",
		"{port: 80, service: web, httpsRedirectPort: 443}":                                      "write either service, or routes and httpsRedirectPort",
		"{port: 80, servicePort: 80, httpsRedirectPort: 443}":                                   "write service, or remove servicePort",
		"{port: 80, protocol: TCP, service: web, trustedHops: 1}":                               "write protocol HTTP",
		"{port: 80, httpsRedirectPort: 443, tls: {secretNames: [a]}}":                           "remove httpsRedirectPort",
		"{port: 80, httpsRedirectPort: 0}":                                                      "httpsRedirectPort 0",
		"{port: 80, service: web, trustedHops: 17}":                                             "from 0 to 16",
		"{port: 80, service: web, tls: {secretNames: []}}":                                      "write secretNames",
		"{port: 80, service: web, tls: {secretNames: [../../etc]}}":                             "no name of a Secret",
		"{port: 80, service: web, tls: {secretNames: [a], minVersion: \"1.0\"}}":                `write "1.2" or "1.3"`,
		"{port: 80, service: a/b/c}":                                                            "NAMESPACE/NAME",
		"{port: 80, service: web, servicePort: 70000}":                                          "servicePort 70000",
		"{port: 80, routes: [{hosts: [Shop.example.com], service: web}]}":                       "in small letters without a port",
		"{port: 80, routes: [{hosts: [\"*\"], service: web}]}":                                  "in small letters without a port",
		"{port: 80, routes: [{pathPrefix: api, service: web}]}":                                 "write a path without a query",
		"{port: 80, routes: [{service: web, requestTimeout: -1s}]}":                             "0s is no bound",
		"{port: 80, routes: [{service: web}, {pathPrefix: /, service: api}]}":                   "like another route",
		"{port: 80, routes: [{pathPrefix: /a, service: web}, {pathPrefix: /a/, service: web}]}": "like another route",
		"{port: 80, routes: [{service: Web}]}":                                                  "in route 1, which has service",
		"{port: 80, service: web, address: here}":                                               "write an IP address",
	} {
		_, err := envoyconfig.FromFile([]byte("fleets: [{name: shop/edge, listeners: [" + text + "]}]"))
		if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `fleet "shop/edge": listener of port`) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string]string{"folder: etc": "begins with /", "accessLog: Some": "write Failures, All or None"} {
		if _, err := envoyconfig.FromFile([]byte("fleets: [{name: shop/edge, " + text + ", listeners: []}]")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
	}
}

func TestContract91TwoPortsOfAnObjectThatAreOneInThePodAreAMistake(t *testing.T) {
	e := &v1alpha1.Envoy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "edge"}, Spec: v1alpha1.EnvoySpec{Listeners: []v1alpha1.Listener{
		{Name: "a", Port: 80, Service: "web"}, {Name: "b", Port: 8080, Service: "web"},
	}}}
	if _, err := envoyconfig.FromObject(e); err == nil || !strings.Contains(err.Error(), `listener "b" has the same port in the Pod`) {
		t.Errorf("got %v", err)
	}
}

func TestContract151AnObjectSaysEveryMistake(t *testing.T) {
	for text, want := range map[string]string{
		"xds: {name: a, host: no host !, port: 1}":                                                         "xds has host",
		"xds: {name: a, host: \"1:2:3\", port: 1}":                                                         "xds has host",
		"xds: {name: a, host: b, port: 70000}":                                                             "xds has port 70000",
		"listeners: [{name: a, port: 9902, service: web}]":                                                 `listener "a" has port 9902`,
		"listeners: [{name: a, port: 80, routes: [{service: web, requestTimeout: soon}]}]":                 "spec.listeners cannot be read",
		"podTemplate: {resources: {limits: {cpu: 1e1.5}}}\nlisteners: [{name: a, port: 80, service: web}]": "spec.podTemplate cannot be read",
		"listeners: [{name: a, port: 80, routes: [{service: web, hosts: [a.example.com, b.example.com]}, {service: api, hosts: [b.example.com]}]}]": `in route 2, which is for host "b.example.com"`,
	} {
		e := &v1alpha1.Envoy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "edge", Generation: 7}}
		if err := yaml.Unmarshal([]byte(text), &e.Spec); err != nil {
			t.Fatal(err)
		}
		traffic, err := envoyconfig.FromObject(e)
		if err == nil || !strings.Contains(err.Error(), want) || traffic.Generation != 7 {
			t.Errorf("%s: got %v of generation %d, want %q", text, err, traffic.Generation, want)
		}
	}
	for _, host := range []string{"xds.infra", "xds.infra.", "10.0.0.1", "fd00::1", "my_host.infra"} {
		e := &v1alpha1.Envoy{Spec: v1alpha1.EnvoySpec{XDS: &v1alpha1.EnvoyXDS{Name: "a", Host: host, Port: 1}}}
		if _, err := envoyconfig.FromObject(e); err != nil {
			t.Errorf("%s: %v", host, err)
		}
	}
}

// A value that nobody can read, which the API server lets pass, takes no other Envoy away.
func TestContract151OneSpecThatCannotBeReadTakesNoOtherAway(t *testing.T) {
	list := &v1alpha1.EnvoyList{}
	err := yaml.Unmarshal([]byte(`
items:
- metadata: {name: bad}
  spec: {configMapName: files, drainTimeout: soon, name: front, replicas: 7, podTemplate: {resources: {limits: {cpu: 1e1.5}}}}
- metadata: {name: good}
  spec: {name: good, drainTimeout: 30s}
`), list)
	if err != nil || len(list.Items) != 2 {
		t.Fatalf("got %d, %v, want both", len(list.Items), err)
	}
	bad, good := list.Items[0].Spec, list.Items[1].Spec
	if bad.Name != "front" || bad.ConfigMapName != "files" || *bad.Replicas != 7 {
		t.Errorf("got %+v, want the fields that can be read", bad)
	}
	if !strings.Contains(bad.Unread, "spec.drainTimeout cannot be read") || !strings.Contains(bad.Unread, "spec.podTemplate cannot be read") {
		t.Errorf("got %q, want both fields", bad.Unread)
	}
	if good.Unread != "" || good.DrainTimeout.Duration != 30*time.Second {
		t.Errorf("got %+v", good)
	}
}

func TestContract151AnObjectWithTheProxyProtocolAsATruthValueIsNotTaken(t *testing.T) {
	var e v1alpha1.Envoy
	if err := json.Unmarshal([]byte(`{"spec":{"listeners":[{"name":"a","port":80,"service":"web","proxyProtocol":true}]}}`), &e); err != nil {
		t.Fatal(err)
	}
	if _, err := envoyconfig.FromObject(&e); err == nil || !strings.Contains(err.Error(), "spec.listeners cannot be read") || !strings.Contains(err.Error(), "proxyProtocol") {
		t.Errorf("got %v, want a mistake that names the field", err)
	}
}

// TestContract86TheMistakesOfARouteAreSaidInOneOrder: or the status of an Envoy changes at each look.
func TestContract86TheMistakesOfARouteAreSaidInOneOrder(t *testing.T) {
	const text = "fleets: [{name: shop/edge, listeners: [{port: 80, routes: [{service: web, idleTimeout: -1s, requestTimeout: -2s}]}]}]"
	_, first := envoyconfig.FromFile([]byte(text))
	if first == nil || !strings.Contains(first.Error(), "idleTimeout -1s") || !strings.Contains(first.Error(), "requestTimeout -2s") {
		t.Fatalf("got %v, want both mistakes", first)
	}
	for range 100 {
		if _, err := envoyconfig.FromFile([]byte(text)); err.Error() != first.Error() {
			t.Fatalf("got %v, and before %v", err, first)
		}
	}
}

// mistaken are listeners with 6,900 mistakes, each of which repeats a long path.
func mistaken() []v1alpha1.Listener {
	route := v1alpha1.Route{PathPrefix: "/" + strings.Repeat("<", 1023), Service: "web"}
	for i := range 16 {
		route.Hosts = append(route.Hosts, fmt.Sprint("h", i))
	}
	var all []v1alpha1.Listener
	for port := range int32(4) {
		all = append(all, v1alpha1.Listener{Name: fmt.Sprint("l", port), Port: 8000 + port, Routes: slices.Repeat([]v1alpha1.Route{route}, 109)})
	}
	return all
}

// TestContract91WhatIsToldOfMistakesIsBounded: they may repeat what is written many times.
func TestContract91WhatIsToldOfMistakesIsBounded(t *testing.T) {
	e := &v1alpha1.Envoy{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "edge"}, Spec: v1alpha1.EnvoySpec{Listeners: mistaken()}}
	_, object := envoyconfig.FromObject(e)
	e.Spec.Unread = "spec.listeners cannot be read: " + strings.Repeat("<", 1<<20)
	_, unread := envoyconfig.FromObject(e)
	text, err := json.Marshal(map[string]any{"fleets": []any{map[string]any{"name": "shop/edge", "listeners": mistaken()}}})
	if err != nil {
		t.Fatal(err)
	}
	_, file := envoyconfig.FromFile(text)
	_, none := envoyconfig.FromFile([]byte("fleets: [{" + strings.Repeat("<", 1<<20) + ": 1}]"))
	for what, err := range map[string]error{"an object": object, "an object that cannot be read": unread, "a file": file, "a file that cannot be read": none} {
		if err == nil || len(err.Error()) > 8000 {
			t.Errorf("%s: got %.100v of %d bytes, want 8000 at most", what, err, len(fmt.Sprint(err)))
		}
	}
	if !strings.Contains(object.Error(), "remove one of the two") || !strings.HasSuffix(object.Error(), " ...") {
		t.Errorf("got %.2000v, want the first mistakes, and that there are more", object)
	}
}
