package xds_test

import (
	"slices"
	"strings"
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

// more asks for resources beside those that the proxy asks for already.
func (p *proxy) more(kind envoyconfig.Kind, names ...string) {
	p.t.Helper()
	p.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: kind.TypeURL(), ResourceNamesSubscribe: names})
}

// brings takes the next answer, which has these resources and says that those are gone.
func (p *proxy) brings(put, removed []string) {
	p.t.Helper()
	answer := p.next()
	var got []string
	for _, one := range answer.GetResources() {
		got = append(got, one.GetName())
	}
	if !slices.Equal(sorted(got), put) || !slices.Equal(answer.GetRemovedResources(), removed) {
		p.t.Fatalf("%s: got %v and without %v, want %v and without %v", kindOf(answer.GetTypeUrl()), got, answer.GetRemovedResources(), put, removed)
	}
}

// TestContract145ANameThatDoesNotExistIsAnsweredWithItsRemoval: with the first request, with a
// later one and beside everything, for each kind; and it is sent once it exists.
func TestContract145ANameThatDoesNotExistIsAnsweredWithItsRemoval(t *testing.T) {
	c := twoServices(t)
	s := start(t, c, nil)
	for kind := range envoyconfig.Kinds {
		p := connect(t, s, "a", "shop/edge", nil)
		p.ask(kind, "none.shop:80", "other.shop:80")
		p.brings(nil, []string{"none.shop:80", "other.shop:80"})
		p.more(kind, "third.shop:80")
		p.brings(nil, []string{"third.shop:80"})
		p.more(kind, "none.shop:80")
		p.brings(nil, []string{"none.shop:80"})
	}

	p := connect(t, s, "b", "shop/edge", nil)
	p.ask(clusters)
	p.brings([]string{"api.shop:80", "web.shop:80"}, nil)
	p.more(clusters, "late.shop:80")
	p.brings(nil, []string{"late.shop:80"})
	p.ask(endpoints, "web.shop:80", "late.shop:80")
	p.brings([]string{"web.shop:80"}, []string{"late.shop:80"})
	c.service("shop", "late", port("http", 80))
	until(t, "the proxy has what came late", func() bool {
		p.next()
		return p.has[clusters]["late.shop:80"] != "" && p.has[endpoints]["late.shop:80"] != ""
	})
}

// TestContract145ANameThatIsSaidTwiceIsAnsweredOnce: the answer names nothing else.
func TestContract145ANameThatIsSaidTwiceIsAnsweredOnce(t *testing.T) {
	p := connect(t, start(t, twoServices(t), nil), "a", "shop/edge", nil)
	p.ask(endpoints, "none.shop:80", "web.shop:80", "none.shop:80", "web.shop:80")
	p.brings([]string{"web.shop:80"}, []string{"none.shop:80"})
}

// TestContract145WhatIsAskedForAgainIsSentAgain: in the same version.
func TestContract145WhatIsAskedForAgainIsSentAgain(t *testing.T) {
	s := start(t, twoServices(t), nil)
	p := connect(t, s, "a", "shop/edge", nil)
	web := []string{"web.shop:80"}
	p.ask(endpoints, web...)
	p.brings(web, nil)
	version := p.has[endpoints]["web.shop:80"]
	p.more(endpoints, web...)
	p.brings(web, nil)
	p.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: endpoints.TypeURL(), ResourceNamesUnsubscribe: web})
	p.more(endpoints, web...)
	p.brings(web, nil)
	if got := p.has[endpoints]["web.shop:80"]; got != version {
		t.Errorf("got version %s, want %s", got, version)
	}

	// A proxy that has everything is sent it too, also when it gives up the name alone.
	p.ask(clusters)
	p.brings([]string{"api.shop:80", "web.shop:80"}, nil)
	p.more(clusters, append(web, "*")...)
	p.brings(web, nil)
	p.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusters.TypeURL(), ResourceNamesUnsubscribe: web})
	p.brings(web, nil)
}

// TestContract145AFirstRequestWithoutANodeIsRefused: by both protocols, with the remedy.
func TestContract145AFirstRequestWithoutANodeIsRefused(t *testing.T) {
	s := start(t, twoServices(t), nil)
	p := connect(t, s, "a", "shop/edge", nil)
	p.node = nil
	p.ask(clusters)
	w := ask(t, s, "gRPC Go", nil)
	w.node = nil
	w.ask(listeners.TypeURL(), "web.shop:80")
	_, ofWorld := w.stream.Recv()
	for protocol, err := range map[string]error{"delta": p.ends(), "the state of the world": ofWorld} {
		if status.Code(err) != codes.InvalidArgument || !strings.Contains(err.Error(), "set node.id") {
			t.Errorf("%s: got %v", protocol, err)
		}
	}
}
