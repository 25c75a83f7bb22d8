//go:build lab

package envoy_test

import (
	"bytes"
	"context"
	"log/slog"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	clusterv3 "github.com/envoyproxy/go-control-plane/envoy/config/cluster/v3"
	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	endpointv3 "github.com/envoyproxy/go-control-plane/envoy/config/endpoint/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	routev3 "github.com/envoyproxy/go-control-plane/envoy/config/route/v3"
	hcmv3 "github.com/envoyproxy/go-control-plane/envoy/extensions/filters/network/http_connection_manager/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/types/known/anypb"
	"google.golang.org/protobuf/types/known/durationpb"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/cache"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/cli"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/join"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig/envoyconfigtest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/envoy"
)

// fleets have a listener of each kind, and one whose Service is missing.
const fleets = `fleets:
- name: shop/edge
  listeners:
  - {port: 8080, service: web}
  - {port: 8081, service: h2c}
  - {port: 8082, service: missing}
  - {port: 8083, service: web, address: "::1"}
  - {port: 5432, service: web, servicePort: 5432, protocol: TCP}
`

// TestContract69EnvoyTakesEveryConfigurationThatIsGenerated asks the server for everything
// as an Envoy does, and gives it to one as a file: what is sent is what is judged.
func TestContract69EnvoyTakesEveryConfigurationThatIsGenerated(t *testing.T) {
	other := envoyconfigtest.Defaults()
	other.RequestTimeout, other.TryTimeout, other.StreamIdleTimeout = 1e9, 5e8, 1e9
	other.Retries, other.RetryGatewayErrors, other.EjectAfter, other.MaxEjectionPercent, other.PanicPercent = 0, true, 0, 100, 100
	most := envoyconfigtest.Defaults()
	most.Retries, most.EjectAfter, most.EjectionTime, most.BufferBytes, most.MaxRequests = 20, 100, 3600e9, 64<<20, 1_000_000_000
	for name, settings := range map[string]envoyconfig.Settings{"defaults": envoyconfigtest.Defaults(), "others": other, "the most": most} {
		t.Run(name, func(t *testing.T) {
			sent := everything(t, settings)
			for kind, count := range map[envoyconfig.Kind]int{envoyconfig.Clusters: 3, envoyconfig.Endpoints: 3, envoyconfig.Listeners: 5, envoyconfig.Routes: 4} {
				if len(sent[kind]) != count {
					t.Errorf("got %d resources of %s, want %d: %v", len(sent[kind]), kind, count, slices.Sorted(maps.Keys(sent[kind])))
				}
			}
			if err := envoy.Validate(t, file(t, sent)); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestContract69EnvoyTakesTheBootstrap judges both forms.
func TestContract69EnvoyTakesTheBootstrap(t *testing.T) {
	if err := envoy.Validate(t, bootstrap(t)); err != nil {
		t.Error(err)
	}
	out := t.TempDir()
	bootstrap(t, "--certificates", "/tls", "--out", out)
	text, err := os.ReadFile(filepath.Join(out, envoyconfig.BootstrapFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := envoy.Validate(t, string(text)); err != nil {
		t.Error(err)
	}
}

// bootstrap is what the program prints for an Envoy.
func bootstrap(t *testing.T, more ...string) string {
	t.Helper()
	var out, failed bytes.Buffer
	if code := (cli.Program{Stdout: &out, Stderr: &failed}).Run(t.Context(), append([]string{"bootstrap", "shop/edge", "--node", "edge-1"}, more...)); code != 0 {
		t.Fatalf("exit status %d: %s", code, &failed)
	}
	return out.String()
}

// views are two Services with endpoints of each state, in two zones and none, and one
// without endpoints.
func views(t *testing.T) *cache.Cache {
	t.Helper()
	views := cache.New(1)
	for _, kind := range []cache.Kind{cache.Services, cache.Slices} {
		if err := views.Replace(0, kind, nil, 1); err != nil {
			t.Fatal(err)
		}
	}
	h2c, revision := "kubernetes.io/h2c", cache.Revision(1)
	for name, ports := range map[string][]corev1.ServicePort{
		"web": {{Name: "http", Port: 80}, {Name: "sql", Port: 5432}, {Name: "dns", Port: 53, Protocol: corev1.ProtocolUDP}},
		"h2c": {{Name: "grpc", Port: 80, AppProtocol: &h2c}},
	} {
		object := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: name}, Spec: corev1.ServiceSpec{Ports: ports}}
		revision++
		views.Set(0, cache.Services, cache.Input{Key: join.Key{Namespace: "shop", Name: name}, Revision: revision, Service: join.ToService(object)})
	}
	yes, no, portName, number, zones := true, false, "http", int32(8080), []string{"a", "b"}
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "shop", Name: "web-1", Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: &portName, Port: &number}},
		Endpoints: []discoveryv1.Endpoint{
			{Addresses: []string{"10.0.0.1"}, Zone: &zones[0]}, {Addresses: []string{"10.0.0.2"}, Zone: &zones[1]}, {Addresses: []string{"10.0.0.3"}},
			{Addresses: []string{"10.0.0.4"}, Zone: &zones[0], Conditions: discoveryv1.EndpointConditions{Ready: &no, Serving: &yes, Terminating: &yes}},
		},
	}
	views.Set(0, cache.Slices, cache.Input{Key: join.Key{Namespace: "shop", Name: "web-1"}, Revision: revision + 1, Slice: join.ToSlice(slice)})
	return views
}

// serve runs a server of xDS until the test ends, and returns its address.
func serve(t *testing.T, settings envoyconfig.Settings) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fleets.yaml")
	if err := os.WriteFile(path, []byte(fleets), 0o600); err != nil {
		t.Fatal(err)
	}
	read, err := xds.ReadFleets(path)
	if err != nil {
		t.Fatal(err)
	}
	listening := make(chan net.Addr, 1)
	server, err := xds.New(xds.Options{
		Address: netip.MustParseAddrPort("127.0.0.1:0"), Cache: views(t), Fleets: read, Settings: settings, MostClients: 10, MostOfOne: 10,
		Listening: func(at net.Addr) { listening <- at }, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	var running sync.WaitGroup
	running.Go(func() {
		if err := server.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	return (<-listening).String()
}

// everything is what an Envoy of the fleet is sent, by kind and name.
func everything(t *testing.T, settings envoyconfig.Settings) map[envoyconfig.Kind]map[string]*anypb.Any {
	t.Helper()
	connection, err := grpc.NewClient(serve(t, settings), grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(connection).DeltaAggregatedResources(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[envoyconfig.Kind]map[string]*anypb.Any)
	// Endpoints are asked for by the names of clusters, routes by those of listeners.
	namedBy := map[envoyconfig.Kind]envoyconfig.Kind{envoyconfig.Endpoints: envoyconfig.Clusters, envoyconfig.Routes: envoyconfig.Listeners}
	for _, kind := range []envoyconfig.Kind{envoyconfig.Clusters, envoyconfig.Endpoints, envoyconfig.Listeners, envoyconfig.Routes} {
		var names []string
		if by, named := namedBy[kind]; named {
			names = slices.Collect(maps.Keys(all[by]))
		}
		all[kind] = ask(t, stream, kind, names)
	}
	return all
}

// ask asks for resources, and acknowledges the answer.
func ask(t *testing.T, stream discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesClient, kind envoyconfig.Kind, names []string) map[string]*anypb.Any {
	t.Helper()
	request := &discoveryv3.DeltaDiscoveryRequest{Node: &corev3.Node{Id: "edge-1", Cluster: "shop/edge"}, TypeUrl: kind.TypeURL(), ResourceNamesSubscribe: names}
	if err := stream.Send(request); err != nil {
		t.Fatal(err)
	}
	answer, err := stream.Recv()
	if err != nil {
		t.Fatal(err)
	}
	if err := stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: kind.TypeURL(), ResponseNonce: answer.GetNonce()}); err != nil {
		t.Fatal(err)
	}
	got := make(map[string]*anypb.Any)
	for _, one := range answer.GetResources() {
		got[one.GetName()] = one.GetResource()
	}
	return got
}

// file is a bootstrap that has everything in it: listeners with their routes, clusters, and
// for each assignment a cluster with these endpoints.
func file(t *testing.T, sent map[envoyconfig.Kind]map[string]*anypb.Any) string {
	t.Helper()
	var clusters, listeners []any
	for _, one := range sent[envoyconfig.Clusters] {
		clusters = append(clusters, plain(t, decode(t, one, &clusterv3.Cluster{})))
	}
	for name, one := range sent[envoyconfig.Endpoints] {
		clusters = append(clusters, plain(t, &clusterv3.Cluster{
			Name: "endpoints of " + name, ClusterDiscoveryType: &clusterv3.Cluster_Type{Type: clusterv3.Cluster_STATIC}, ConnectTimeout: durationpb.New(1e9),
			LoadAssignment: decode(t, one, &endpointv3.ClusterLoadAssignment{}),
		}))
	}
	for _, one := range sent[envoyconfig.Listeners] {
		listener := decode(t, one, &listenerv3.Listener{})
		inline(t, listener, sent[envoyconfig.Routes])
		listeners = append(listeners, plain(t, listener))
	}
	var config map[string]any
	if err := yaml.Unmarshal([]byte(bootstrap(t)), &config); err != nil {
		t.Fatal(err)
	}
	static := config["static_resources"].(map[string]any)
	static["clusters"] = append(static["clusters"].([]any), clusters...)
	static["listeners"] = listeners
	text, err := yaml.Marshal(config)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// inline puts the routes of a listener of HTTP into it, so that they are judged too.
func inline(t *testing.T, listener *listenerv3.Listener, routes map[string]*anypb.Any) {
	t.Helper()
	for _, chain := range listener.GetFilterChains() {
		for _, filter := range chain.GetFilters() {
			if !strings.HasSuffix(filter.GetTypedConfig().GetTypeUrl(), "HttpConnectionManager") {
				continue
			}
			manager := decode(t, filter.GetTypedConfig(), &hcmv3.HttpConnectionManager{})
			manager.RouteSpecifier = &hcmv3.HttpConnectionManager_RouteConfig{RouteConfig: decode(t, routes[manager.GetRds().GetRouteConfigName()], &routev3.RouteConfiguration{})}
			packed, err := anypb.New(manager)
			if err != nil {
				t.Fatal(err)
			}
			filter.ConfigType = &listenerv3.Filter_TypedConfig{TypedConfig: packed}
		}
	}
}

// decode is a message of what was sent.
func decode[M proto.Message](t *testing.T, from *anypb.Any, to M) M {
	t.Helper()
	if err := proto.Unmarshal(from.GetValue(), to); err != nil {
		t.Fatal(err)
	}
	return to
}

// plain is a message as YAML has it.
func plain(t *testing.T, message proto.Message) any {
	t.Helper()
	text, err := protojson.MarshalOptions{UseProtoNames: true}.Marshal(message)
	if err != nil {
		t.Fatal(err)
	}
	var value any
	if err := yaml.Unmarshal(text, &value); err != nil {
		t.Fatal(err)
	}
	return value
}
