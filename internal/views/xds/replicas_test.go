package xds_test

import (
	"net"
	"slices"
	"strconv"
	"sync/atomic"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	healthv1 "google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/join"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

// detour is what twoServices are, by another history: replicas see different ones.
func detour(t *testing.T) *cluster {
	t.Helper()
	c := newCluster(t)
	for i := range 5 {
		c.slice("shop", "web-1", "web", "http", 8080, ready("10.9.9."+strconv.Itoa(i+1))...)
		c.service("shop", "gone", port("http", int32(80+i)))
	}
	c.noService("gone")
	for i, name := range []string{"web", "api"} {
		c.service("shop", name, port("http", 80))
		c.slice("shop", name+"-1", name, "http", 8080, ready("10.0.0."+strconv.Itoa(2-i))...)
	}
	return c
}

// request asks for resources with what the client had at last; an answer is acknowledged by
// its nonce.
func (w *world) request(kind envoyconfig.Kind, version, nonce string, names ...string) {
	w.t.Helper()
	if err := w.stream.Send(&discoveryv3.DiscoveryRequest{Node: w.node, TypeUrl: kind.TypeURL(), VersionInfo: version, ResponseNonce: nonce, ResourceNames: names}); err != nil {
		w.t.Log(err)
	}
}

func (w *world) answer() *discoveryv3.DiscoveryResponse {
	w.t.Helper()
	answer, err := w.stream.Recv()
	if err != nil {
		w.t.Fatal(err)
	}
	return answer
}

// values are those of the resources of an answer.
func values(answer *discoveryv3.DiscoveryResponse) [][]byte {
	var all [][]byte
	for _, one := range answer.GetResources() {
		all = append(all, one.GetValue())
	}
	return all
}

func TestContract99AClientOfGRPCThatComesFromAnotherReplicaMissesNothing(t *testing.T) {
	names := []string{"api.shop:80", "web.shop:80"}
	for _, kind := range []envoyconfig.Kind{listeners, routes, clusters, endpoints} {
		t.Run(kind.String(), func(t *testing.T) {
			first := ask(t, start(t, twoServices(t), nil), "gRPC Go", nil)
			first.request(kind, "", "", names...)
			had := first.answer()
			second := ask(t, start(t, detour(t), nil), "gRPC Go", nil)
			second.request(kind, had.GetVersionInfo(), "", names...)
			same := second.answer()
			if !slices.EqualFunc(values(had), values(same), slices.Equal) || had.GetVersionInfo() != same.GetVersionInfo() {
				t.Errorf("the same state of another replica has other bytes or another version: %q and %q", had.GetVersionInfo(), same.GetVersionInfo())
			}
		})
	}
	t.Run("a change", func(t *testing.T) {
		first := ask(t, start(t, twoServices(t), nil), "gRPC Go", nil)
		first.request(endpoints, "", "", names...)
		had := first.answer()
		c := detour(t)
		c.slice("shop", "web-1", "web", "http", 8080, ready("10.0.0.77")...)
		second := ask(t, start(t, c, nil), "gRPC Go", nil)
		second.request(endpoints, had.GetVersionInfo(), "", names...)
		if now := second.answer(); now.GetVersionInfo() == had.GetVersionInfo() || slices.EqualFunc(values(had), values(now), slices.Equal) {
			t.Errorf("the other replica does not send what changed: %v", now)
		}
	})
}

func TestContract99AClientOfGRPCThatComesBackIsToldWhatIsGone(t *testing.T) {
	c := twoServices(t)
	s := start(t, c, nil)
	first := ask(t, s, "gRPC Go", nil)
	first.request(clusters, "", "", "web.shop:80")
	had := first.answer()
	c.noService("web")
	first.request(clusters, had.GetVersionInfo(), had.GetNonce(), "web.shop:80")
	if now := first.answer(); len(now.GetResources()) > 0 {
		t.Fatalf("got %v", now)
	}
	again := ask(t, s, "gRPC Go", nil)
	again.request(clusters, had.GetVersionInfo(), "", "web.shop:80")
	if now := again.answer(); len(now.GetResources()) > 0 {
		t.Errorf("got %v", now)
	}
}

func TestContract99OneChangeOf1000ServicesSendsAClientOfGRPCOneResource(t *testing.T) {
	c := newCluster(t)
	var names []string
	for i := range 1000 {
		name := "s" + strconv.Itoa(i)
		names = append(names, name+".shop:80")
		c.service("shop", name, port("http", 80))
		c.slice("shop", name+"-1", name, "http", 8080, ready("10.0.0.1")...)
	}
	w := ask(t, start(t, c, nil), "gRPC Go", nil)
	w.request(endpoints, "", "", names...)
	all := w.answer()
	w.request(endpoints, all.GetVersionInfo(), all.GetNonce(), names...)
	c.slice("shop", "s500-1", "s500", "http", 8080, ready("10.0.0.2")...)
	if one := w.answer(); len(all.GetResources()) != 1000 || len(one.GetResources()) != 1 {
		t.Errorf("got %d resources and after the change %d, want 1,000 and 1", len(all.GetResources()), len(one.GetResources()))
	}
}

// countListener is a listener that counts connections.
type countListener struct {
	net.Listener

	count *atomic.Int64
}

func (c countListener) Accept() (net.Conn, error) {
	connection, err := c.Listener.Accept()
	if err == nil {
		c.count.Add(1)
	}
	return connection, err
}

func TestContract99GRPCClientsKeepTheirConnectionsWhenAnotherReplicaServesThem(t *testing.T) {
	var count atomic.Int64
	var config net.ListenConfig
	listener, err := config.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	backend, served := grpc.NewServer(), make(chan error, 1)
	healthv1.RegisterHealthServer(backend, health.NewServer())
	go func() { served <- backend.Serve(countListener{listener, &count}) }()
	t.Cleanup(func() { backend.Stop(); <-served })
	number := int32(listener.Addr().(*net.TCPAddr).Port)
	replica := func(c *cluster) *server {
		c.service("shop", "web", port("http", 80))
		c.slice("shop", "web-1", "web", "http", number, local(0))
		return start(t, c, nil)
	}
	first, second := replica(twoServices(t)), replica(detour(t))
	forward := newForward(t, first.address)
	client := dialer(t, forward.address)("web.shop:80")
	calls(t, client, 10)
	forward.to(second.address)
	first.stop()
	until(t, "the other replica has sent its endpoints, and they are acknowledged", func() bool {
		for _, one := range second.Stats().Kinds {
			if one.Protocol == xds.GRPC && one.Kind == endpoints {
				return one.Acks > 0
			}
		}
		return false
	})
	calls(t, client, 10)
	if got := count.Load(); got != 1 {
		t.Errorf("the client has connected %d times to a backend of which nothing changed", got)
	}
}

func TestContract99AReplicaWithAnotherHistorySendsAProxyOnlyWhatDiffers(t *testing.T) {
	p := connect(t, start(t, twoServices(t), nil), "a", "shop/edge", nil)
	p.everything("api.shop:80", "web.shop:80")
	c := detour(t)
	again := connect(t, start(t, c, nil), "a", "shop/edge", nil)
	again.has, again.raw = p.has, p.raw
	again.ask(clusters)
	if answer := again.next(); len(answer.GetResources())+len(answer.GetRemovedResources()) > 0 {
		t.Errorf("the other replica sends %v again", answer)
	}
	again.ask(endpoints, "api.shop:80", "web.shop:80")
	c.slice("shop", "api-1", "api", "http", 8080, ready("10.0.0.9")...)
	if answer := again.next(); len(answer.GetResources()) != 1 || answer.GetResources()[0].GetName() != "api.shop:80" {
		t.Errorf("got %v, want api.shop:80 alone", answer)
	}
}

// TestContract65AReplicaThatIsCutOffTakesNothingFromClientsOfAnother: what it knows is an hour old,
// and all of that may be dead. A client that has nothing is better off with it than without.
func TestContract65AReplicaThatIsCutOffTakesNothingFromClientsOfAnother(t *testing.T) {
	p := connect(t, start(t, twoServices(t), nil), "a", "shop/edge", nil)
	p.everything("api.shop:80", "web.shop:80")
	c, blind := detour(t), atomic.Bool{}
	c.slice("shop", "web-1", "web", "http", 8080, ready("10.9.9.9")...)
	blind.Store(true)
	cut := start(t, c, func(o *xds.Options) { o.Blind = blind.Load })

	again := connect(t, cut, "a", "shop/edge", nil)
	again.has, again.raw = p.has, p.raw
	again.ask(clusters)
	if err := again.ends(); status.Code(err) != codes.Unavailable {
		t.Errorf("a proxy that has something: got %v, want Unavailable", err)
	}
	w := ask(t, cut, "gRPC Go", nil)
	w.request(endpoints, "of another replica", "", "web.shop:80")
	if answer, err := w.stream.Recv(); status.Code(err) != codes.Unavailable {
		t.Errorf("a client of gRPC that has something: got %v, %v, want Unavailable", answer, err)
	}

	fresh := connect(t, cut, "b", "shop/edge", nil)
	fresh.everything("api.shop:80", "web.shop:80")
	first := ask(t, cut, "gRPC Go", nil)
	first.request(endpoints, "", "", "web.shop:80")
	if got := len(first.answer().GetResources()); got != 1 || !slices.Equal(fresh.addresses(), []string{"10.9.9.9/HEALTHY"}) {
		t.Errorf("clients that have nothing get %d resources and %v", got, fresh.addresses())
	}

	blind.Store(false)
	back := connect(t, cut, "a", "shop/edge", nil)
	back.has, back.raw = p.has, p.raw
	back.ask(endpoints, "api.shop:80", "web.shop:80")
	back.next()
	if got := back.addresses(); !slices.Equal(got, []string{"10.9.9.9/HEALTHY"}) {
		t.Errorf("a replica that is current again: got %v", got)
	}
}

func TestContract99ARejectedKindStopsNoOther(t *testing.T) {
	c := twoServices(t)
	p := connect(t, start(t, c, nil), "a", "shop/edge", nil)
	p.everything("api.shop:80", "web.shop:80")
	c.service("shop", "new", port("http", 80))
	p.reject(p.take(), "no such cluster, please")
	for _, address := range []string{"10.0.0.5", "10.0.0.6"} {
		c.slice("shop", "web-1", "web", "http", 8080, ready(address)...)
		p.next()
		if got := p.addresses(); !slices.Equal(got, []string{address + "/HEALTHY"}) {
			t.Errorf("got %v", got)
		}
	}
}

func TestContract99ARequestForEndpointsWithoutNamesIsNotForAll(t *testing.T) {
	p := connect(t, start(t, twoServices(t), nil), "a", "shop/edge", nil)
	p.ask(endpoints)
	p.ask(clusters)
	if answer := p.next(); answer.GetTypeUrl() != clusters.TypeURL() {
		t.Errorf("got %v", answer)
	}
	p.quiet("a request for no endpoints")
}

func TestContract99WhatNoClientNeedsIsNotMade(t *testing.T) {
	for name, c := range map[string]struct {
		open        func(*testing.T, *server)
		grpc, envoy bool
	}{
		"no client": {func(*testing.T, *server) {}, false, false},
		"an Envoy": {func(t *testing.T, s *server) {
			p := connect(t, s, "a", "shop/edge", nil)
			p.ask(endpoints, "web.shop:80")
			p.next()
		}, false, true},
		"a client of gRPC": {func(t *testing.T, s *server) {
			w := ask(t, s, "gRPC Go", nil)
			w.request(endpoints, "", "", "web.shop:80")
			answer := w.answer()
			w.request(endpoints, answer.GetVersionInfo(), answer.GetNonce(), "web.shop:80")
		}, true, false},
	} {
		t.Run(name, func(t *testing.T) {
			world := twoServices(t)
			s := start(t, world, nil)
			c.open(t, s)
			before := pushes(s)
			for _, service := range []string{"api", "web"} {
				world.slice("shop", service+"-1", service, "http", 8080, ready("10.0.0.50")...)
			}
			want := before
			if c.grpc || c.envoy {
				want++
			}
			until(t, "the change is sent to who asked for it", func() bool { return pushes(s) == want })
			if grpc, envoy := s.Made(join.Key{Namespace: "shop", Name: "web"}); grpc != c.grpc || envoy != c.envoy {
				t.Errorf("web: made for gRPC %t, for Envoy %t, want %t, %t", grpc, envoy, c.grpc, c.envoy)
			}
			if grpc, envoy := s.Made(join.Key{Namespace: "shop", Name: "api"}); grpc || envoy {
				t.Errorf("api: made for gRPC %t, for Envoy %t, and no client asked for it", grpc, envoy)
			}
		})
	}
}
