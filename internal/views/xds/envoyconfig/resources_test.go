package envoyconfig_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/join"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig/envoyconfigtest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/pkg/views"
)

var key = join.Key{Namespace: "shop", Name: "web"}

// web is a Service of both families with two ports of TCP and one of UDP.
func web() *join.Service {
	return &join.Service{Key: key, Type: corev1.ServiceTypeClusterIP, IPv4: true, IPv6: true, Ports: []join.Port{
		{Name: "dns", Number: 53, Protocol: corev1.ProtocolUDP}, {Name: "http", Number: 80, Protocol: corev1.ProtocolTCP}, {Name: "admin", Number: 9000, Protocol: corev1.ProtocolTCP},
	}}
}

// at is an endpoint of the port http.
func at(address, zone string, state views.State) join.Endpoint {
	return join.Endpoint{
		Service: "ClusterIP", Port: join.Port{Name: "http", Number: 80, Protocol: corev1.ProtocolTCP}, Address: netip.MustParseAddr(address), TargetPort: 8080, Zone: zone, State: state,
	}
}

// decoded is the resource as a proxy reads it.
func decoded(resource proto.Message) proto.Message {
	message := resource.ProtoReflect().New().Interface()
	if err := proto.Unmarshal(envoyconfig.Bytes(resource), message); err != nil || len(message.ProtoReflect().GetUnknown()) > 0 {
		panic(fmt.Sprintf("%v and %x in %v", err, message.ProtoReflect().GetUnknown(), message))
	}
	return message
}

// zones are the zones of an assignment: zone:weight, and its endpoints with their health.
func zones(assignment proto.Message) []string {
	all := []string{}
	for _, zone := range decoded(assignment).(*endpointv3.ClusterLoadAssignment).GetEndpoints() {
		text := fmt.Sprintf("%s:%d", zone.GetLocality().GetZone(), zone.GetLoadBalancingWeight().GetValue())
		for _, e := range zone.GetLbEndpoints() {
			address := e.GetEndpoint().GetAddress().GetSocketAddress()
			text += fmt.Sprintf(" %s@%d=%s", address.GetAddress(), address.GetPortValue(), e.GetHealthStatus())
		}
		all = append(all, text)
	}
	return all
}

func TestContract63EndpointsAreTranslatedByState(t *testing.T) {
	ipv6First := web()
	ipv6First.IPv6First = true
	for name, c := range map[string]struct {
		service   *join.Service
		endpoints []join.Endpoint
		want      []string
	}{
		"nothing is an empty assignment": {web(), nil, []string{}},
		"down is left out":               {web(), []join.Endpoint{at("10.0.0.1", "", views.Ready), at("10.0.0.2", "", views.Down)}, []string{":1 10.0.0.1@8080=HEALTHY"}},
		"only down":                      {web(), []join.Endpoint{at("10.0.0.1", "", views.Down)}, []string{}},
		"draining": {
			web(), []join.Endpoint{at("10.0.0.1", "", views.Ready), at("10.0.0.2", "", views.Draining)},
			[]string{":1 10.0.0.1@8080=HEALTHY 10.0.0.2@8080=DRAINING"},
		},
		"weights of zones": {
			web(), []join.Endpoint{at("10.0.0.1", "b", views.Ready), at("10.0.0.2", "a", views.Ready), at("10.0.0.3", "b", views.Ready), at("10.0.0.4", "c", views.Draining)},
			[]string{"a:1 10.0.0.2@8080=HEALTHY", "b:2 10.0.0.1@8080=HEALTHY 10.0.0.3@8080=HEALTHY"},
		},
		"the first family": {web(), []join.Endpoint{at("10.0.0.1", "", views.Ready), at("fd00::1", "", views.Ready)}, []string{":1 10.0.0.1@8080=HEALTHY"}},
		"IPv6 first":       {ipv6First, []join.Endpoint{at("10.0.0.1", "", views.Ready), at("fd00::1", "", views.Ready)}, []string{":1 fd00::1@8080=HEALTHY"}},
		"only the second family works": {
			web(), []join.Endpoint{at("10.0.0.1", "", views.Down), at("fd00::1", "", views.Ready)}, []string{":1 fd00::1@8080=HEALTHY"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, set := range []envoyconfig.Set{
				envoyconfig.GRPC(c.service, c.endpoints, envoyconfigtest.Defaults()), envoyconfig.Envoy(c.service, c.endpoints, envoyconfigtest.Defaults()),
			} {
				if diff := cmp.Diff(c.want, zones(set[envoyconfig.Endpoints]["web.shop:80"])); diff != "" {
					t.Error(diff)
				}
				if got := zones(set[envoyconfig.Endpoints]["web.shop:9000"]); len(got) > 0 {
					t.Errorf("the other port has %v", got)
				}
				if len(set[envoyconfig.Endpoints]) != 2 {
					t.Errorf("got assignments %v, want one for each port of TCP", set[envoyconfig.Endpoints])
				}
			}
		})
	}
}

func TestContract63AClusterDoesNotDependOnEndpointsAndTheSameGivesTheSameBytes(t *testing.T) {
	s := envoyconfigtest.Defaults()
	empty := envoyconfig.Envoy(web(), nil, s)
	random := rand.New(rand.NewPCG(1, 2))
	for range 50 {
		var all []join.Endpoint
		for i := range random.IntN(20) {
			state := []views.State{views.Ready, views.Draining, views.Down}[random.IntN(3)]
			all = append(all, at(fmt.Sprintf("10.0.0.%d", i+1), []string{"a", "b", ""}[random.IntN(3)], state))
		}
		first, second := envoyconfig.Envoy(web(), all, s), envoyconfig.Envoy(web(), slices.Clone(all), s)
		for name, cluster := range first[envoyconfig.Clusters] {
			if !bytes.Equal(envoyconfig.Bytes(cluster), envoyconfig.Bytes(empty[envoyconfig.Clusters][name])) {
				t.Fatalf("%s is another cluster with the endpoints %v", name, all)
			}
			if !bytes.Equal(envoyconfig.Bytes(first[envoyconfig.Endpoints][name]), envoyconfig.Bytes(second[envoyconfig.Endpoints][name])) {
				t.Fatalf("%s has other bytes for the same endpoints", name)
			}
		}
	}
}

func TestContract66AnAssignmentIsAnotherOneWhenItsClusterIs(t *testing.T) {
	before := envoyconfig.Envoy(web(), nil, envoyconfigtest.Defaults())
	s := envoyconfigtest.Defaults()
	s.ConnectTimeout = time.Second
	after := envoyconfig.Envoy(web(), nil, s)
	if bytes.Equal(envoyconfig.Bytes(before[envoyconfig.Endpoints]["web.shop:80"]), envoyconfig.Bytes(after[envoyconfig.Endpoints]["web.shop:80"])) {
		t.Error("a proxy would wait for endpoints that it is not sent again")
	}
}

// TestContract69ATextThatIsNoUTF8IsNoneOfAResource: in the form of protobuf the API server takes such
// a zone.
func TestContract69ATextThatIsNoUTF8IsNoneOfAResource(t *testing.T) {
	text := "\xff"
	slice := join.ToSlice(&discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "shop", Name: "s", Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: ptr.To(int32(8080))}},
		Endpoints: []discoveryv1.Endpoint{{
			Addresses: []string{"10.0.0.1"}, Zone: &text, NodeName: &text, TargetRef: &corev1.ObjectReference{Kind: text, Namespace: text, Name: text},
		}},
	})
	all := join.Join(web(), []*join.Slice{slice})
	if len(all) != 1 || all[0].Zone != "?" || all[0].Node != "?" || all[0].Target != (views.TargetRef{Kind: "?", Namespace: "?", Name: "?"}) {
		t.Errorf("got %q, want one endpoint with texts in UTF-8", all)
	}
	for _, set := range []envoyconfig.Set{envoyconfig.GRPC(web(), all, envoyconfigtest.Defaults()), envoyconfig.Envoy(web(), all, envoyconfigtest.Defaults())} {
		if got := zones(set[envoyconfig.Endpoints]["web.shop:80"]); !slices.Equal(got, []string{"?:1 10.0.0.1@8080=HEALTHY"}) {
			t.Errorf("got %q", got)
		}
	}
}

// validator has the checks that are generated for each message.
type validator interface{ ValidateAll() error }

func TestContract69EveryResourceIsValid(t *testing.T) {
	listeners := []envoyconfig.Listener{
		{Address: netip.IPv4Unspecified(), Port: 8080, Protocol: v1alpha1.ListenerHTTP, Service: key},
		{Address: netip.IPv6Unspecified(), Port: 8081, Protocol: v1alpha1.ListenerHTTP, Service: join.Key{Namespace: "shop", Name: "none"}},
		{Address: netip.IPv4Unspecified(), Port: 9000, Protocol: v1alpha1.ListenerTCP, Service: key, ServicePort: 9000},
		{Address: netip.IPv4Unspecified(), Port: 9001, Protocol: v1alpha1.ListenerTCP, Service: key, ServicePort: 9},
	}
	find := func(k join.Key) *join.Service {
		if k == key {
			return web()
		}
		return nil
	}
	s := envoyconfigtest.Defaults()
	s.TryTimeout = time.Second
	all := []join.Endpoint{at("10.0.0.1", "a", views.Ready), at("10.0.0.2", "b", views.Draining)}
	count := 0
	for _, set := range []envoyconfig.Set{envoyconfig.GRPC(web(), all, s), envoyconfig.Envoy(web(), all, s), envoyconfig.Fleet(listeners, find, s)} {
		for kind := range set {
			for name, message := range set[kind] {
				count++
				if err := decoded(message).(validator).ValidateAll(); err != nil {
					t.Errorf("%s %s: %v", envoyconfig.Kind(kind), name, err)
				}
			}
		}
	}
	if want := (2 + 2 + 2 + 3) + (2 + 2) + (3 + 2); count != want {
		t.Errorf("got %d resources, want %d", count, want)
	}
}

// retries are what a request of a method is repeated for.
func retries(t *testing.T, s envoyconfig.Settings, safe bool) *routev3.RouteAction {
	t.Helper()
	l := envoyconfig.Listener{Address: netip.IPv4Unspecified(), Port: 8080, Protocol: v1alpha1.ListenerHTTP, Service: key}
	set := envoyconfig.Fleet([]envoyconfig.Listener{l}, func(join.Key) *join.Service { return web() }, s)
	all := set[envoyconfig.Routes]["port-8080"].(*routev3.RouteConfiguration).GetVirtualHosts()[0].GetRoutes()
	if len(all) != 2 || len(all[0].GetMatch().GetHeaders()) != 1 || len(all[1].GetMatch().GetHeaders()) != 0 {
		t.Fatalf("got %v, want a route for methods that may be repeated, and one for the others", all)
	}
	if safe {
		return all[0].GetRoute()
	}
	return all[1].GetRoute()
}

func TestContract69OnlyWhatMayBeRepeatedIsRepeatedAfterItWasSent(t *testing.T) {
	s := envoyconfigtest.Defaults()
	s.RetryGatewayErrors, s.TryTimeout = true, time.Second
	safe, other := retries(t, s, true), retries(t, s, false)
	if got := strings.Split(safe.GetRetryPolicy().GetRetryOn(), ","); !slices.Contains(got, "reset") || !slices.Contains(got, "gateway-error") {
		t.Errorf("a GET is repeated on %v", got)
	}
	if got, want := other.GetRetryPolicy().GetRetryOn(), "connect-failure,refused-stream,reset-before-request"; got != want {
		t.Errorf("a POST is repeated on %s, want %s: its endpoint may have carried it out", got, want)
	}
	if safe.GetRetryPolicy().GetPerTryTimeout().AsDuration() != time.Second || other.GetRetryPolicy().GetPerTryTimeout() != nil {
		t.Error("the time of one attempt is for methods that may be repeated only")
	}
	if got := envoyconfigtest.Defaults(); retries(t, got, true).GetTimeout().AsDuration() != 0 || retries(t, got, true).GetTimeout() == nil {
		t.Error("a request is cut off by Envoy's default of 15 s")
	}
	s.Retries = 0
	if retries(t, s, true).GetRetryPolicy() != nil {
		t.Error("no retries are wanted, and there are some")
	}
}

func TestContract69TheDefaultsOfEnvoyThatLoseRequestsAreNotUsed(t *testing.T) {
	c := envoyconfig.Envoy(web(), nil, envoyconfigtest.Defaults())[envoyconfig.Clusters]["web.shop:80"].(*clusterv3.Cluster)
	limit := c.GetCircuitBreakers().GetThresholds()[0]
	if limit.GetMaxRequests().GetValue() < 100_000 || limit.GetMaxConnections().GetValue() < 100_000 || limit.GetMaxPendingRequests().GetValue() < 100_000 {
		t.Errorf("got bounds %v", limit)
	}
	if budget := limit.GetRetryBudget(); budget.GetMinRetryConcurrency().GetValue() < 1024 || budget.GetBudgetPercent().GetValue() != 100 {
		t.Errorf("got %v", budget)
	}
	out := c.GetOutlierDetection()
	if !out.GetAlwaysEjectOneHost().GetValue() || out.GetMaxEjectionTime().AsDuration() > time.Minute || out.GetEnforcingConsecutive_5Xx().GetValue() != 0 || !out.GetSplitExternalLocalOriginErrors() {
		t.Errorf("got %v", out)
	}
	if wait := c.GetEdsClusterConfig().GetEdsConfig().GetInitialFetchTimeout(); wait == nil || wait.AsDuration() == 0 {
		t.Error("a cluster may wait for its endpoints for ever")
	}
	if c.GetCommonLbConfig().GetUpdateMergeWindow() == nil || c.GetCommonLbConfig().GetHealthyPanicThreshold().GetValue() == 0 {
		t.Errorf("got %v", c.GetCommonLbConfig())
	}
}

func TestBootstrapNamesItsMistakesAndHasItsFiles(t *testing.T) {
	sound := envoyconfig.Bootstrap{Fleet: "shop/edge", Host: "views.infra", Port: 18000, Admin: netip.MustParseAddrPort("127.0.0.1:9901")}
	files, err := sound.Files()
	if err != nil || len(files) != 1 {
		t.Fatalf("got %d files, %v", len(files), err)
	}
	for _, text := range []string{"cluster: shop/edge", "DELTA_GRPC", "STRICT_DNS", "address: views.infra", "port_value: 18000"} {
		if !strings.Contains(string(files[envoyconfig.BootstrapFile]), text) {
			t.Errorf("%q is missing in\n%s", text, files[envoyconfig.BootstrapFile])
		}
	}
	sound.CertificateFolder, sound.SecretsFolder = "/tls", "/etc/envoy"
	if files, err = sound.Files(); err != nil || len(files) != 3 {
		t.Fatalf("got %d files, %v", len(files), err)
	}
	if text := string(files[envoyconfig.CertificateFile]); !strings.Contains(text, "/tls/tls.crt") || !strings.Contains(text, "watched_directory") {
		t.Errorf("got %s", text)
	}
	for name, b := range map[string]envoyconfig.Bootstrap{
		"no fleet":  {Fleet: "edge", Host: "h", Port: 1},
		"no server": {Fleet: "shop/edge"},
		"no folder": {Fleet: "shop/edge", Host: "h", Port: 1, CertificateFolder: "/tls"},
	} {
		if _, err := b.Files(); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}
