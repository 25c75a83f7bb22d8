package xds

import (
	"context"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/xds/resources"
)

// OnDeltaStreamOpen, OnDeltaStreamClosed, OnStreamDeltaRequest and OnStreamDeltaResponse
// are called by the server of the delta protocol.
func (c *client) OnDeltaStreamOpen(context.Context, int64, string) error { return nil }

// OnDeltaStreamClosed is called at the end.
func (c *client) OnDeltaStreamClosed(int64, *corev3.Node) {}

// OnStreamDeltaRequest is called before a request is answered.
func (c *client) OnStreamDeltaRequest(_ int64, r *discoveryv3.DeltaDiscoveryRequest) error {
	if err := c.admit(r.GetNode()); err != nil {
		return err
	}
	c.server.join(c)
	r.ResponseNonce = c.own(r.GetTypeUrl(), r.GetResponseNonce())
	var gone map[string]struct{}
	if kind, served := kindOf(r.GetTypeUrl()); served && len(r.GetInitialResourceVersions()) > 0 {
		gone = c.server.gone(c.fleet, kind, r.GetInitialResourceVersions())
	}
	return c.hear(heard{gone: gone,
		typeURL: r.GetTypeUrl(), nonce: r.GetResponseNonce(), text: rejection(r.GetErrorDetail().GetMessage(), r.GetErrorDetail() != nil),
		more: r.GetResourceNamesSubscribe(), fewer: r.GetResourceNamesUnsubscribe(), has: r.GetInitialResourceVersions(),
	})
}

// OnStreamDeltaResponse is called before an answer is sent.
func (c *client) OnStreamDeltaResponse(_ int64, _ *discoveryv3.DeltaDiscoveryRequest, r *discoveryv3.DeltaDiscoveryResponse) {
	a := answer{nonce: r.GetNonce(), put: make(map[string]string, len(r.GetResources())), removed: r.GetRemovedResources()}
	for _, one := range r.GetResources() {
		a.put[one.GetName()] = one.GetVersion()
	}
	c.sends(r.GetTypeUrl(), a)
	r.Nonce = c.nonces + r.GetNonce()
}

// OnStreamOpen, OnStreamClosed, OnStreamRequest and OnStreamResponse are called by the
// server of the state of the world.
func (c *client) OnStreamOpen(context.Context, int64, string) error { return nil }

// OnStreamClosed is called at the end.
func (c *client) OnStreamClosed(int64, *corev3.Node) {}

// OnStreamRequest is called before a request is answered.
func (c *client) OnStreamRequest(_ int64, r *discoveryv3.DiscoveryRequest) error {
	if err := c.admit(r.GetNode()); err != nil {
		return err
	}
	r.ResponseNonce = c.own(r.GetTypeUrl(), r.GetResponseNonce())
	return c.hear(heard{
		typeURL: r.GetTypeUrl(), nonce: r.GetResponseNonce(), text: rejection(r.GetErrorDetail().GetMessage(), r.GetErrorDetail() != nil),
		more: r.GetResourceNames(), whole: true,
	})
}

// OnStreamResponse is called before an answer is sent.
func (c *client) OnStreamResponse(_ context.Context, _ int64, _ *discoveryv3.DiscoveryRequest, r *discoveryv3.DiscoveryResponse) {
	kind, _ := kindOf(r.GetTypeUrl())
	a := answer{
		nonce: r.GetNonce(), put: make(map[string]string, len(r.GetResources())),
		whole: kind == resources.Clusters || kind == resources.Listeners,
	}
	for _, one := range r.GetResources() {
		a.put[nameIn(one)] = r.GetVersionInfo()
	}
	c.sends(r.GetTypeUrl(), a)
	r.Nonce = c.nonces + r.GetNonce()
}

// nameIn is the name of a resource: the first field of each kind that is served.
func nameIn(resource *anypb.Any) string {
	text := resource.GetValue()
	number, kind, n := protowire.ConsumeTag(text)
	if n < 0 || number != 1 || kind != protowire.BytesType {
		return ""
	}
	name, m := protowire.ConsumeBytes(text[n:])
	if m < 0 {
		return ""
	}
	return string(name)
}
