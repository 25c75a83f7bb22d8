package envoyconfig_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	bootstrapv3 "github.com/envoyproxy/go-control-plane/envoy/config/bootstrap/v3"
	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	"google.golang.org/protobuf/encoding/protojson"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/yaml"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/join"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig/envoyconfigtest"
)

// secure is web whose port admin speaks TLS behind a PROXY header.
func secure() *join.Service {
	service := web()
	service.ProxyProtocol = join.ProxyV2
	service.Ports[2].AppProtocol = "https"
	service.TLS = join.TLS{Authorities: "a certificate"}
	return service
}

// full has every field.
func full() []envoyconfig.Listener {
	return []envoyconfig.Listener{
		{Address: netip.IPv6Unspecified(), Port: 443, Protocol: v1alpha1.ListenerHTTP, Certificates: []string{"shop", "blog"}, OnlyTLS13: true, ProxyProtocol: true, TrustedHops: 2, Routes: []envoyconfig.Route{
			{Hosts: []string{"shop.example.com", "*.example.com"}, Prefix: "/", Service: key},
			{Hosts: []string{"shop.example.com"}, Prefix: "/admin/", Service: key, ServicePort: 9000, RequestTimeout: ptr.To(time.Second), IdleTimeout: ptr.To(time.Duration(0))},
			{Prefix: "/none", Service: join.Key{Namespace: "shop", Name: "none"}},
		}},
		{Address: netip.IPv4Unspecified(), Port: 80, Protocol: v1alpha1.ListenerHTTP, RedirectPort: 8443},
		{Address: netip.IPv4Unspecified(), Port: 9000, Protocol: v1alpha1.ListenerTCP, Service: key, ServicePort: 9000, Certificates: []string{"shop"}},
	}
}

func TestContract91EveryFieldOfAListenerGivesValidResources(t *testing.T) {
	for _, which := range []v1alpha1.AccessLog{"", v1alpha1.AccessLogAll, v1alpha1.AccessLogNone} {
		s := envoyconfigtest.Defaults()
		s.AccessLog = which
		for _, set := range []envoyconfig.Set{envoyconfig.Fleet(full(), func(join.Key) *join.Service { return secure() }, s), envoyconfig.Envoy(secure(), nil, s)} {
			for kind := range set {
				for name, message := range set[kind] {
					if err := message.(validator).ValidateAll(); err != nil {
						t.Errorf("%s %s: %v", envoyconfig.Kind(kind), name, err)
					}
				}
			}
		}
	}
}

// hosts are the routes of a listener by host: path to cluster or answer.
func hosts(t *testing.T, l envoyconfig.Listener) map[string][]string {
	t.Helper()
	set := envoyconfig.Fleet([]envoyconfig.Listener{l}, func(k join.Key) *join.Service {
		if k == key {
			return secure()
		}
		return nil
	}, envoyconfigtest.Defaults())
	all := make(map[string][]string)
	for _, host := range set[envoyconfig.Routes][l.Name()].(*routev3.RouteConfiguration).GetVirtualHosts() {
		for _, r := range host.GetRoutes() {
			if len(r.GetMatch().GetHeaders()) > 0 {
				continue
			}
			to := r.GetRoute().GetCluster()
			if r.GetRedirect() != nil {
				to = "redirect"
			} else if code := r.GetDirectResponse().GetStatus(); code == 404 {
				to = "404"
			} else if code == 503 {
				to = "503"
			}
			all[host.GetName()] = append(all[host.GetName()], r.GetMatch().GetPrefix()+r.GetMatch().GetPathSeparatedPrefix()+" "+to)
		}
	}
	return all
}

func TestContract91TheLongestPathOfTheMostSpecificHostCounts(t *testing.T) {
	got := hosts(t, full()[0])
	for host, want := range map[string][]string{
		"shop.example.com": {"/admin web.shop:9000:tls", "/ web.shop:80", "/ 404"},
		"*.example.com":    {"/ web.shop:80", "/ 404"},
		"*":                {"/none 503", "/ 404"},
	} {
		if !slices.Equal(got[host], want) {
			t.Errorf("%s: got %v, want %v", host, got[host], want)
		}
	}
	if got := hosts(t, full()[1]); !slices.Equal(got["*"], []string{"/ redirect"}) {
		t.Errorf("got %v", got)
	}
}

func TestContract91TimesOfARouteCountInPlaceOfTheSettings(t *testing.T) {
	set := envoyconfig.Fleet(full(), func(join.Key) *join.Service { return secure() }, envoyconfigtest.Defaults())
	for _, host := range set[envoyconfig.Routes]["port-443"].(*routev3.RouteConfiguration).GetVirtualHosts() {
		for _, r := range host.GetRoutes() {
			if r.GetRoute() == nil {
				continue
			}
			request, idle := time.Duration(0), time.Hour
			if r.GetMatch().GetPathSeparatedPrefix() == "/admin" {
				request, idle = time.Second, 0
			}
			if a := r.GetRoute(); a.GetTimeout().AsDuration() != request || a.GetIdleTimeout() == nil || a.GetIdleTimeout().AsDuration() != idle {
				t.Errorf("%v: got %v and %v, want %v and %v", r.GetMatch(), a.GetTimeout(), a.GetIdleTimeout(), request, idle)
			}
		}
	}
}

// Envoys older than 1.33 trust private addresses, unless something else is said.
func TestContract91NoClientIsTrustedByItsAddress(t *testing.T) {
	set := envoyconfig.Fleet(full(), func(join.Key) *join.Service { return secure() }, envoyconfigtest.Defaults())
	manager := &hcmv3.HttpConnectionManager{}
	if err := set[envoyconfig.Listeners]["port-443"].(*listenerv3.Listener).GetFilterChains()[0].GetFilters()[0].GetTypedConfig().UnmarshalTo(manager); err != nil {
		t.Fatal(err)
	}
	if of := manager.GetInternalAddressConfig(); of == nil || len(of.GetCidrRanges()) > 0 || !manager.GetUseRemoteAddress().GetValue() {
		t.Errorf("got %v", of)
	}
}

func TestContract91APortThatSpeaksTLSHasAClusterForEachWay(t *testing.T) {
	set := envoyconfig.Envoy(secure(), nil, envoyconfigtest.Defaults())
	for name, want := range map[string]string{"web.shop:9000": "RawBuffer", "web.shop:9000:tls": "UpstreamTlsContext", "web.shop:80": "RawBuffer"} {
		c, _ := set[envoyconfig.Clusters][name].(*clusterv3.Cluster)
		if text := protojson.Format(c.GetTransportSocket()); !strings.Contains(text, want) || !strings.Contains(text, `"V2"`) {
			t.Errorf("%s: got %s, want %s behind a PROXY header of version 2", name, text, want)
		}
		if set[envoyconfig.Endpoints][name] == nil {
			t.Errorf("%s has no assignment", name)
		}
	}
	if len(set[envoyconfig.Clusters]) != 3 {
		t.Errorf("got %d clusters, want 3", len(set[envoyconfig.Clusters]))
	}
	c := envoyconfig.Envoy(web(), nil, envoyconfigtest.Defaults())[envoyconfig.Clusters]["web.shop:80"].(*clusterv3.Cluster)
	if c.GetTransportSocket() != nil {
		t.Error("a port without TLS and header has a transport of its own")
	}
}

func TestContract92ABootstrapBoundsConnectionsAndMemory(t *testing.T) {
	b := envoyconfig.Bootstrap{
		Fleet: "shop/edge", Host: "views.infra", Port: 18000, Admin: netip.MustParseAddrPort("127.0.0.1:9901"), Health: netip.MustParseAddrPort("0.0.0.0:9902"),
		MaxConnections: 50, MaxHeapBytes: 1 << 28,
	}
	read := func() *bootstrapv3.Bootstrap {
		files, err := b.Files()
		if err != nil {
			t.Fatal(err)
		}
		text, err := yaml.YAMLToJSON(files[envoyconfig.BootstrapFile])
		if err != nil {
			t.Fatal(err)
		}
		message := &bootstrapv3.Bootstrap{}
		if err := protojson.Unmarshal(text, message); err != nil {
			t.Fatal(err)
		}
		return message
	}
	got := read()
	if err := got.ValidateAll(); err != nil {
		t.Error(err)
	}
	if len(got.GetOverloadManager().GetResourceMonitors()) != 2 || len(got.GetOverloadManager().GetActions()) != 3 || !got.GetAdmin().GetIgnoreGlobalConnLimit() {
		t.Errorf("got %v", got.GetOverloadManager())
	}
	b.MaxConnections, b.MaxHeapBytes = 0, 0
	if got := read().GetOverloadManager(); got != nil {
		t.Errorf("got %v where nothing is to be bounded", got)
	}
}
