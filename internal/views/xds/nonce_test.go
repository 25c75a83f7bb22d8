package xds_test

import (
	"testing"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	rpcstatus "google.golang.org/genproto/googleapis/rpc/status"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds"
)

// old is what a client says to an answer that is not the newest: it acknowledges it again,
// and rejects it.
var old = []*rpcstatus.Status{nil, {Code: 3, Message: "this was said to an older answer"}}

// wantNothingSaid fails the test if the newest endpoints count as acknowledged or rejected.
func wantNothingSaid(t *testing.T, s *server, node string, protocol xds.Protocol, acknowledged uint64) {
	t.Helper()
	one := sent(s, node, "EDS")
	if len(one.Resources) != 1 || one.Resources[0].AcknowledgedAt != nil || one.Rejected != nil {
		t.Errorf("what was said to an older answer counts for the newest: %+v", one)
	}
	for _, kind := range s.Stats().Kinds {
		if kind.Protocol == protocol && kind.Kind == endpoints && (kind.Acks != acknowledged || kind.Rejections != 0) {
			t.Errorf("got %d acknowledgements and %d rejections, want %d and none", kind.Acks, kind.Rejections, acknowledged)
		}
	}
}

// acknowledged waits until the newest endpoints count as acknowledged.
func acknowledged(t *testing.T, s *server, node string) {
	t.Helper()
	until(t, "the answer is acknowledged", func() bool {
		one := sent(s, node, "EDS")
		return len(one.Resources) == 1 && one.Resources[0].AcknowledgedAt != nil
	})
}

func TestContract120WhatAnEnvoySaysToAnOlderAnswerSaysNothingOfTheNewest(t *testing.T) {
	c := twoServices(t)
	s := start(t, c, nil)
	p := connect(t, s, "a", "shop/edge", nil)
	p.ask(endpoints, "web.shop:80")
	first := p.next()
	c.slice("shop", "web-1", "web", "http", 8080, ready("10.0.0.9")...)
	second := p.take()
	p.says(first.GetNonce())
	p.ask(clusters)
	if answer := p.take(); answer.GetTypeUrl() != clusters.TypeURL() {
		t.Errorf("got %v, want what was asked for last", answer)
	}
	wantNothingSaid(t, s, "a", xds.Envoy, 1)
	p.acknowledge(second)
	acknowledged(t, s, "a")
}

// says acknowledges and rejects the endpoints of a nonce.
func (p *proxy) says(nonce string) {
	p.t.Helper()
	for _, detail := range old {
		p.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: endpoints.TypeURL(), ResponseNonce: nonce, ErrorDetail: detail})
	}
}

func TestContract120WhatAnEnvoySaysToAnotherStreamSaysNothingOfThisOne(t *testing.T) {
	s := start(t, twoServices(t), nil)
	before := connect(t, s, "before", "shop/edge", nil)
	before.ask(endpoints, "web.shop:80")
	first := before.next()
	acknowledged(t, s, "before")

	p := connect(t, s, "a", "shop/edge", nil)
	p.ask(endpoints, "web.shop:80")
	newest := p.take()
	p.says(first.GetNonce())
	p.ask(clusters)
	p.take()
	wantNothingSaid(t, s, "a", xds.Envoy, 1)
	p.acknowledge(newest)
	acknowledged(t, s, "a")
}

func TestContract120AnEnvoyThatBeginsWithANonceOfAnotherStreamIsAnswered(t *testing.T) {
	s := start(t, twoServices(t), nil)
	before := connect(t, s, "before", "shop/edge", nil)
	before.ask(clusters)
	first := before.next()

	p := connect(t, s, "a", "shop/edge", nil)
	p.has = before.has
	p.send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: clusters.TypeURL(), ResponseNonce: first.GetNonce(), InitialResourceVersions: before.has[clusters]})
	if answer := p.take(); len(answer.GetResources()) > 0 {
		t.Errorf("got %v, want an answer that nothing has changed: without one an Envoy waits for ever", answer)
	}
}

// says acknowledges and rejects the endpoints of a nonce.
func (w *world) says(nonce string) {
	w.t.Helper()
	for _, detail := range old {
		request := &discoveryv3.DiscoveryRequest{Node: w.node, TypeUrl: endpoints.TypeURL(), ResourceNames: []string{"web.shop:80"}, ResponseNonce: nonce, ErrorDetail: detail}
		if err := w.stream.Send(request); err != nil {
			w.t.Log(err)
		}
	}
}

func TestContract120WhatAClientOfGRPCSaysToAnOlderAnswerSaysNothingOfTheNewest(t *testing.T) {
	c := twoServices(t)
	s := start(t, c, nil)
	w := ask(t, s, "gRPC Go", nil)
	w.request(endpoints, "", "", "web.shop:80")
	first := w.answer()
	w.request(endpoints, first.GetVersionInfo(), first.GetNonce(), "web.shop:80")
	c.slice("shop", "web-1", "web", "http", 8080, ready("10.0.0.9")...)
	second := w.answer()
	w.says(first.GetNonce())
	w.request(clusters, "", "", "web.shop:80")
	if answer := w.answer(); answer.GetTypeUrl() != clusters.TypeURL() {
		t.Errorf("got %v, want what was asked for last", answer)
	}
	wantNothingSaid(t, s, "c", xds.GRPC, 1)
	w.request(endpoints, second.GetVersionInfo(), second.GetNonce(), "web.shop:80")
	acknowledged(t, s, "c")
	// Changes follow as before.
	c.slice("shop", "web-1", "web", "http", 8080, ready("10.0.0.10")...)
	if answer := w.answer(); answer.GetTypeUrl() != endpoints.TypeURL() || len(answer.GetResources()) != 1 {
		t.Errorf("got %v", answer)
	}
}

func TestContract120WhatAClientOfGRPCSaysToAnotherStreamSaysNothingOfThisOne(t *testing.T) {
	s := start(t, twoServices(t), nil)
	before := ask(t, s, "gRPC Go", nil)
	before.request(endpoints, "", "", "web.shop:80")
	first := before.answer()
	if err := before.stream.CloseSend(); err != nil {
		t.Fatal(err)
	}
	until(t, "the first stream has ended", func() bool { return len(s.Streams()) == 0 })

	w := ask(t, s, "gRPC Go", nil)
	// It begins with what it said at last, and asks for a Service that is not there.
	w.request(clusters, first.GetVersionInfo(), first.GetNonce(), "gone.shop:80")
	if answer := w.answer(); len(answer.GetResources()) > 0 {
		t.Errorf("got %v, want an answer that there is nothing", answer)
	}
	w.request(endpoints, "", "", "web.shop:80")
	newest := w.answer()
	w.says(first.GetNonce())
	w.request(listeners, "", "", "web.shop:80")
	w.answer()
	wantNothingSaid(t, s, "c", xds.GRPC, 0)
	w.request(endpoints, newest.GetVersionInfo(), newest.GetNonce(), "web.shop:80")
	acknowledged(t, s, "c")
}
