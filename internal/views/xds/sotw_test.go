package xds_test

import (
	"context"
	"log/slog"
	"slices"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	listenerv3 "github.com/envoyproxy/go-control-plane/envoy/config/listener/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }

// world is a stream of the state of the world.
type world struct {
	t      *testing.T
	stream discoveryv3.AggregatedDiscoveryService_StreamAggregatedResourcesClient
	node   *corev3.Node
}

func ask(t *testing.T, s *server, agent string, creds credentials.TransportCredentials) *world {
	t.Helper()
	if creds == nil {
		creds = insecure.NewCredentials()
	}
	connection, err := grpc.NewClient(s.address, grpc.WithTransportCredentials(creds))
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), waitLimit)
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(connection).StreamAggregatedResources(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cancel(); _ = connection.Close() })
	return &world{t, stream, &corev3.Node{Id: "c", UserAgentName: agent}}
}

func (w *world) ask(typeURL string, names ...string) {
	w.t.Helper()
	if err := w.stream.Send(&discoveryv3.DiscoveryRequest{Node: w.node, TypeUrl: typeURL, ResourceNames: names}); err != nil {
		w.t.Log(err)
	}
}

// listeners are the names of the listeners of the next answer.
func (w *world) listeners() []string {
	w.t.Helper()
	answer, err := w.stream.Recv()
	if err != nil {
		w.t.Fatal(err)
	}
	names := []string{}
	for _, one := range answer.GetResources() {
		l := &listenerv3.Listener{}
		if err := one.UnmarshalTo(l); err != nil {
			w.t.Fatal(err)
		}
		names = append(names, l.GetName())
	}
	return sorted(names)
}

func TestContract67AClientOfGRPCGetsTheNamespacesOfTheListByName(t *testing.T) {
	s, a, _ := secured(t, foreign(t))
	for name, c := range map[string]struct {
		uri   string
		names []string
		want  []string
	}{
		"its namespace":              {"spiffe://cluster.local/ns/shop/client/caller", []string{"web.shop:80", "web.blog:80", "web.blog"}, []string{"web.shop:80"}},
		"a star is nothing":          {"spiffe://cluster.local/ns/shop/client/caller", []string{"*"}, nil},
		"an empty request is no all": {"spiffe://cluster.local/ns/shop/client/caller", nil, nil},
		"every namespace":            {"spiffe://cluster.local/ns/infra/client/all", []string{"web.shop", "web.blog:80"}, []string{"web.blog:80", "web.shop"}},
		"one that no list names":     {"spiffe://cluster.local/ns/shop/client/other", []string{"web.shop:80"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			w := ask(t, s, "gRPC Go", a.client(t, c.uri))
			w.ask(listeners.TypeURL(), c.names...)
			if got := w.listeners(); !slices.Equal(got, c.want) && len(got)+len(c.want) > 0 {
				t.Errorf("got %v, want %v", got, c.want)
			}
		})
	}
}

func TestContract67AStreamEndsWhenTheNamespacesOfItsClientChange(t *testing.T) {
	s, a, r := secured(t, foreign(t))
	w := ask(t, s, "gRPC Go", a.client(t, "spiffe://cluster.local/ns/shop/client/caller"))
	w.ask(listeners.TypeURL(), "web.shop:80")
	w.listeners()
	r.mu.Lock()
	r.namespaces["shop/caller"] = nil
	r.mu.Unlock()
	if _, err := w.stream.Recv(); status.Code(err) != codes.PermissionDenied {
		t.Errorf("got %v", err)
	}
}

func TestContract68ATypeThatIsNotServedEndsNoStream(t *testing.T) {
	c := twoServices(t)
	s := start(t, c, nil)
	w := ask(t, s, "gRPC Go", nil)
	w.ask("type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.Secret", "secret")
	w.ask(listeners.TypeURL(), "web.shop:80")
	if got := w.listeners(); !slices.Equal(got, []string{"web.shop:80"}) {
		t.Errorf("got %v", got)
	}
	p := connect(t, s, "a", "", nil)
	for range 12 { // as many as a stream has room for, and more
		p.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: "type.googleapis.com/another." + time.Now().String()})
	}
	p.ask(clusters)
	p.next()
	if got := p.names(clusters); !slices.Equal(got, []string{"api.shop:80", "web.shop:80"}) {
		t.Errorf("got %v", got)
	}
}

func TestContract68AnEnvoyThatAsksForTheStateOfTheWorldIsToldWhatToSet(t *testing.T) {
	w := ask(t, start(t, twoServices(t), nil), "envoy", nil)
	w.ask(envoyconfig.Clusters.TypeURL())
	if _, err := w.stream.Recv(); status.Code(err) != codes.InvalidArgument {
		t.Errorf("got %v", err)
	}
}

func TestContract67AStreamOfTheStateOfTheWorldThatChangesItsNodeEnds(t *testing.T) {
	s, a, _ := secured(t, foreign(t))
	for name, node := range map[string]*corev3.Node{"another name": {Id: "d"}, "another cluster": {Id: "c", Cluster: "blog/caller"}} {
		w := ask(t, s, "gRPC Go", a.client(t, "spiffe://cluster.local/ns/shop/client/caller"))
		w.ask(listeners.TypeURL(), "web.shop:80")
		w.listeners()
		w.node = node
		w.ask(clusters.TypeURL(), "web.blog:80")
		if _, err := w.stream.Recv(); status.Code(err) != codes.PermissionDenied {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

// TestContract67AClientOfGRPCGetsNothingForeignOfAnyKind: what a client may not see does
// not exist for it, whichever kind it asks for and whatever its node says.
func TestContract67AClientOfGRPCGetsNothingForeignOfAnyKind(t *testing.T) {
	s, a, _ := secured(t, foreign(t))
	for _, kind := range []envoyconfig.Kind{listeners, routes, clusters, endpoints} {
		for name, names := range map[string][]string{"by name": {"web.blog:80", "shared.blog:80"}, "by a star": {"*"}, "by no name": nil} {
			w := ask(t, s, "gRPC Go", a.client(t, "spiffe://cluster.local/ns/shop/client/caller"))
			w.node.Cluster = "blog/edge"
			w.request(kind, "", "", names...)
			if answer := w.answer(); len(answer.GetResources()) > 0 {
				t.Errorf("%s %s: got %v", kind, name, answer)
			}
		}
	}
}

func TestContract67TheStateOfTheWorldIsForCertificatesOfClientsOnly(t *testing.T) {
	s, a, _ := secured(t, foreign(t))
	for uri, want := range map[string]codes.Code{"spiffe://cluster.local/ns/shop/envoy/edge": codes.PermissionDenied, "spiffe://a/workload": codes.Unauthenticated} {
		w := ask(t, s, "gRPC Go", a.client(t, uri))
		w.ask(clusters.TypeURL(), "web.shop:80")
		if _, err := w.stream.Recv(); status.Code(err) != want {
			t.Errorf("%s: got %v, want %v", uri, err, want)
		}
	}
}
