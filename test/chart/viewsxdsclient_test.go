package chart_test

import (
	"context"
	"encoding/json"
	"net"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	grpcpeer "google.golang.org/grpc/peer"
	grpcxds "google.golang.org/grpc/xds"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/stage"
)

// xdsServes: a client of gRPC and a proxy connect as the notes and the Service of the chart
// say, and follow. One replica takes over from the other.
func xdsServes(t *testing.T, c *cloud) {
	x := installXDS(t, c)
	backends := grpcBackends(t, 2)
	x.shows(t, "api", backends[0])
	x.shows(t, "web", backends[0])
	first := x.serve(t, 0)
	x.admitsClientsOfXDSAlone(t)

	call := x.caller(t)
	stage.Until(t, "the call comes to the first backend", func() bool { return call(t) == backends[0] })
	x.moves(t, "api", backends[1])
	stage.Until(t, "the call comes to the second backend", func() bool { return call(t) == backends[1] })
	x.proxyGetsItsListener(t)

	x.ends(t, 0, first)
	if got := call(t); got != backends[1] {
		t.Errorf("without a replica the call comes to %v, want %v", got, backends[1])
	}
	second := x.serve(t, 1)
	x.moves(t, "api", backends[0])
	stage.Until(t, "the call follows the other replica", func() bool { return call(t) == backends[0] })
	x.ends(t, 1, second)
	x.wasNeverDenied(t)
}

// grpcBackends are servers of gRPC.
func grpcBackends(t *testing.T, count int) []netip.AddrPort {
	t.Helper()
	var all []netip.AddrPort
	for _, address := range netns.Addresses(t, count) {
		listener, err := net.Listen("tcp", netip.AddrPortFrom(address, 9090).String())
		if err != nil {
			t.Fatal(err)
		}
		server := grpc.NewServer()
		healthv1.RegisterHealthServer(server, health.NewServer())
		go func() { _ = server.Serve(listener) }()
		t.Cleanup(server.Stop)
		all = append(all, netip.AddrPortFrom(address, 9090))
	}
	return all
}

// caller is grpc-go's own client, with a bootstrap as the how-to has it. A call returns the
// backend that answered.
func (x *xdsInstalled) caller(t *testing.T) func(*testing.T) netip.AddrPort {
	t.Helper()
	_, server := x.printed(t)
	files := folder(t, x.ca.client(t, "spiffe://cluster.local/ns/"+shopOfXDS+"/client/caller"))
	bootstrap, err := json.Marshal(map[string]any{
		"xds_servers": []any{map[string]any{"server_uri": server, "channel_creds": []any{map[string]any{"type": "tls", "config": map[string]any{
			"certificate_file": filepath.Join(files, "tls.crt"), "private_key_file": filepath.Join(files, "tls.key"), "ca_certificate_file": filepath.Join(files, "ca.crt"),
		}}}}},
		"node": map[string]any{"id": "caller-1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	resolver, err := grpcxds.NewXDSResolverWithConfigForTesting(bootstrap)
	if err != nil {
		t.Fatal(err)
	}
	connection, err := grpc.NewClient("xds:///api."+shopOfXDS+":80", grpc.WithTransportCredentials(insecure.NewCredentials()), grpc.WithResolvers(resolver))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	client := healthv1.NewHealthClient(connection)
	return func(t *testing.T) netip.AddrPort {
		t.Helper()
		ctx, cancel := context.WithTimeout(t.Context(), stage.WaitTimeout)
		defer cancel()
		var from grpcpeer.Peer
		if _, err := client.Check(ctx, &healthv1.HealthCheckRequest{}, grpc.Peer(&from), grpc.WaitForReady(true)); err != nil {
			t.Fatal(err)
		}
		return from.Addr.(*net.TCPAddr).AddrPort()
	}
}

// proxyGetsItsListener asks as the Envoy of the printed bootstrap does.
func (x *xdsInstalled) proxyGetsItsListener(t *testing.T) {
	t.Helper()
	_, server := x.printed(t)
	host, port, _ := net.SplitHostPort(server)
	for _, want := range []string{"address: " + host, "port_value: " + port, "cluster: " + shopOfXDS + "/edge"} {
		if text := x.bootstrap(t); !strings.Contains(text, want) {
			t.Errorf("bootstrap: got no %q in\n%s", want, text)
		}
	}
	connection, err := grpc.NewClient(server, grpc.WithTransportCredentials(credentials.NewTLS(x.tls(t, "envoy/edge"))))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(connection).DeltaAggregatedResources(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for kind, want := range map[string]string{"cluster.v3.Cluster": "web." + shopOfXDS + ":80", "listener.v3.Listener": "port-10080"} {
		request := &discoveryv3.DeltaDiscoveryRequest{Node: &corev3.Node{Id: "edge-1", Cluster: shopOfXDS + "/edge"}, TypeUrl: "type.googleapis.com/envoy.config." + kind}
		if err := stream.Send(request); err != nil {
			t.Fatal(err)
		}
		answer, err := stream.Recv()
		if err != nil {
			t.Fatal(err)
		}
		if len(answer.GetResources()) != 1 || answer.GetResources()[0].GetName() != want {
			t.Errorf("%s: got %v, want %s alone", kind, answer, want)
		}
	}
}

// admitsClientsOfXDSAlone: the NetworkPolicy opens the port that the Service leads to, for
// those that the values name.
func (x *xdsInstalled) admitsClientsOfXDSAlone(t *testing.T) {
	t.Helper()
	policy, err := x.Client.NetworkingV1().NetworkPolicies(x.namespace).Get(t.Context(), viewsRelease, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if !selects(t, &policy.Spec.PodSelector, x.replicas[0].Labels) || !slices.Contains(policy.Spec.PolicyTypes, networkingv1.PolicyTypeIngress) {
		t.Error("the policy does not hold for the connections to the Pods")
	}
	at := netip.MustParseAddrPort(x.ready("xds")[0])
	for namespace, want := range map[string]bool{shopOfXDS: true, "blog": false} {
		from := peer{netip.MustParseAddr("10.244.0.3"), labels.Set{"kubernetes.io/metadata.name": namespace}, labels.Set{"app": "edge"}}
		got := slices.ContainsFunc(policy.Spec.Ingress, func(rule networkingv1.NetworkPolicyIngressRule) bool {
			return slices.ContainsFunc(rule.Ports, func(p networkingv1.NetworkPolicyPort) bool {
				return *p.Protocol == corev1.ProtocolTCP && p.Port.IntValue() == int(at.Port())
			}) && slices.ContainsFunc(rule.From, func(p networkingv1.NetworkPolicyPeer) bool { return means(t, policy, p, from) })
		})
		if got != want {
			t.Errorf("the policy admits a Pod of %s to xDS: got %t, want %t", namespace, got, want)
		}
	}
}
