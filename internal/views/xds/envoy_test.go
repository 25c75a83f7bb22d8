package xds_test

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/cache"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

const clusters, endpoints, listeners, routes = envoyconfig.Clusters, envoyconfig.Endpoints, envoyconfig.Listeners, envoyconfig.Routes

// fleets makes the server use a file of fleets.
func fleets(t *testing.T, text string) (string, func(*xds.Options)) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fleets.yaml")
	write(t, path, text)
	return path, func(o *xds.Options) {
		var err error
		if o.Fleets, err = xds.ReadFleets(path); err != nil {
			t.Fatal(err)
		}
	}
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// twoServices have one endpoint each.
func twoServices(t *testing.T) *cluster {
	t.Helper()
	c := newCluster(t)
	for i, name := range []string{"api", "web"} {
		c.service("shop", name, port("http", 80))
		c.slice("shop", name+"-1", name, "http", 8080, ready("10.0.0."+string(rune('1'+i)))...)
	}
	return c
}

// everything asks for all, as an Envoy does that starts, and returns when it has it.
func (p *proxy) everything(services ...string) {
	p.t.Helper()
	p.ask(clusters)
	p.next()
	p.ask(endpoints, services...)
	p.next()
}

func TestContract65TheServerDoesNotListenBeforeTheFirstJoin(t *testing.T) {
	c := &cluster{Cache: cache.New(1)}
	told := make(chan struct{})
	c.service("shop", "web", port("http", 80))
	begin(t, c, func(o *xds.Options) { o.Listening = func(net.Addr) { close(told) } })
	c.slice("shop", "web-1", "web", "http", 8080, ready("10.0.0.1")...)
	select {
	case <-told:
		t.Fatal("the server listens, and its lists are not complete")
	case <-time.After(200 * time.Millisecond):
	}
	c.sync(t)
	select {
	case <-told:
	case <-time.After(waitLimit):
		t.Fatal("the server does not listen")
	}
}

func TestContract65AProxyThatReconnectsToAnotherReplicaIsSentNothingAgain(t *testing.T) {
	c := twoServices(t)
	one, other := start(t, c, nil), start(t, c, nil)
	p := connect(t, one, "a", "shop/edge", nil)
	p.everything("api.shop:80", "web.shop:80")
	again := connect(t, other, "a", "shop/edge", nil)
	again.has, again.raw = p.has, p.raw
	again.ask(clusters)
	if answer := again.next(); len(answer.GetResources())+len(answer.GetRemovedResources()) > 0 {
		t.Errorf("the other replica sends %v again", answer)
	}
	again.ask(endpoints, "api.shop:80", "web.shop:80")
	again.quiet("endpoints that the proxy has")
	c.slice("shop", "web-1", "web", "http", 8080, ready("10.0.0.9")...)
	again.next()
	if got := again.addresses(); !slices.Equal(got, []string{"10.0.0.9/HEALTHY"}) {
		t.Errorf("got %v", got)
	}
}

func TestContract65AClusterThatAnotherReplicaHadGoesOnlyAfterAWhile(t *testing.T) {
	p := connect(t, start(t, twoServices(t), nil), "a", "shop/edge", nil)
	p.has[clusters]["old.shop:80"], p.raw[clusters]["old.shop:80"] = "of another time", nil
	begun := time.Now()
	p.ask(clusters)
	p.next()
	if !slices.Contains(p.names(clusters), "old.shop:80") {
		t.Fatal("the cluster is gone at once; routes of the proxy may lead to it")
	}
	p.next()
	if slices.Contains(p.names(clusters), "old.shop:80") || time.Since(begun) < 4*time.Second {
		t.Errorf("after %s the proxy has %v", time.Since(begun), p.names(clusters))
	}
}

func TestContract66EndpointsAreSentAloneAndAtOnce(t *testing.T) {
	c := twoServices(t)
	p := connect(t, start(t, c, nil), "a", "shop/edge", nil)
	p.everything("api.shop:80", "web.shop:80")
	p.order = nil
	c.slice("shop", "web-1", "web", "http", 8080, append(ready("10.0.0.2"), draining("10.0.0.3"), down("10.0.0.4"))...)
	p.next()
	if diff := cmp.Diff([]string{"EDS +web.shop:80"}, p.order); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"10.0.0.2/HEALTHY", "10.0.0.3/DRAINING"}, p.addresses()); diff != "" {
		t.Error(diff)
	}
	c.slice("shop", "web-1", "web", "http", 8080)
	p.next()
	if got := p.addresses(); got == nil || len(got) > 0 {
		t.Errorf("a Service without endpoints is sent as %v, want an assignment without any", got)
	}
	p.quiet("nothing changed")
}

func TestContract66EndpointsFollowAClusterThatChanged(t *testing.T) {
	c := twoServices(t)
	p := connect(t, start(t, c, nil), "a", "shop/edge", nil)
	p.everything("api.shop:80", "web.shop:80")
	p.order = nil
	h2c := port("http", 80)
	protocol := "kubernetes.io/h2c"
	h2c.AppProtocol = &protocol
	c.service("shop", "web", h2c)
	p.next()
	p.next()
	if diff := cmp.Diff([]string{"CDS +web.shop:80", "EDS +web.shop:80"}, p.order); diff != "" {
		t.Errorf("a proxy that has not got its endpoints again waits for them: %s", diff)
	}
}

const webListener = "fleets: [{name: shop/edge, listeners: [{port: 8080, service: web}]}]"

// listening is a proxy with everything of its listener.
func listening(t *testing.T, s *server, node string) *proxy {
	t.Helper()
	p := connect(t, s, node, "shop/edge", nil)
	p.everything("web.shop:80")
	p.ask(listeners)
	p.next()
	p.ask(routes, "port-8080")
	p.next()
	p.order = nil
	return p
}

func TestContract66RoutesComeAfterTheirClusterAndClustersGoAfterTheirRoutes(t *testing.T) {
	c := twoServices(t)
	path, withFleets := fleets(t, webListener)
	s := start(t, c, withFleets)
	first, second := listening(t, s, "a"), listening(t, s, "b")
	if got := first.names(clusters); !slices.Equal(got, []string{"web.shop:80"}) {
		t.Errorf("the fleet has one listener and gets the clusters %v", got)
	}
	write(t, path, strings.ReplaceAll(webListener, "web}", "api}"))
	for _, p := range []*proxy{first, second} {
		p.next()
		p.ask(endpoints, "api.shop:80")
	}
	first.next()
	first.quiet("the routes wait until the other proxy has the endpoints of the cluster, too")
	second.next()
	for _, p := range []*proxy{first, second} {
		p.apply(p.take()) // and says nothing
		if diff := cmp.Diff([]string{"CDS +api.shop:80", "EDS +api.shop:80", "RDS +port-8080"}, p.order); diff != "" {
			t.Error(diff)
		}
		p.quiet("the old cluster stays until the routes are acknowledged")
		if got := p.names(clusters); !slices.Equal(got, []string{"api.shop:80", "web.shop:80"}) {
			t.Errorf("got clusters %v", got)
		}
	}
}

func TestContract66AClusterGoesWhenEveryProxyHasAcknowledgedTheRoutes(t *testing.T) {
	c := twoServices(t)
	_, withFleets := fleets(t, webListener)
	s := start(t, c, withFleets)
	p := listening(t, s, "a")
	c.noService("web")
	for range 3 {
		p.next()
	}
	want := []string{"RDS +port-8080", "CDS -web.shop:80", "EDS -web.shop:80"}
	if diff := cmp.Diff(want, p.order); diff != "" {
		t.Error(diff)
	}
	if late := s.Stats().Unacknowledged; late > 0 {
		t.Error("the acknowledgement did not count: the step was made without it")
	}
}

func TestContract66AProxyThatSaysNothingDelaysAStepFor5Seconds(t *testing.T) {
	c := twoServices(t)
	_, withFleets := fleets(t, webListener)
	s := start(t, c, withFleets)
	p, silent := listening(t, s, "a"), listening(t, s, "b")
	begun := time.Now()
	c.noService("web")
	silent.apply(silent.take())
	for range 3 {
		p.next()
	}
	if took := time.Since(begun); took < 4*time.Second {
		t.Errorf("the cluster went after %s, and a proxy may still use it", took)
	}
	if late := s.Stats().Unacknowledged; late == 0 {
		t.Error("the step without an acknowledgement is not counted")
	}
}

func TestContract66AListenerWithoutItsServiceAnswers503AndOneOfTCPGoes(t *testing.T) {
	c := twoServices(t)
	_, withFleets := fleets(t, "fleets: [{name: shop/edge, listeners: [{port: 8080, service: web}, {port: 9000, service: api, protocol: TCP}]}]")
	p := connect(t, start(t, c, withFleets), "a", "shop/edge", nil)
	p.everything("api.shop:80", "web.shop:80")
	p.ask(listeners)
	p.next()
	if got := p.names(listeners); !slices.Equal(got, []string{"port-8080", "port-9000"}) {
		t.Fatalf("got listeners %v", got)
	}
	c.noService("api")
	p.next()
	if got := p.names(listeners); !slices.Equal(got, []string{"port-8080"}) {
		t.Errorf("got listeners %v", got)
	}
}
