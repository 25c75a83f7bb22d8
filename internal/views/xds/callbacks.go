package xds

import (
	"context"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/types/known/anypb"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

// OnDeltaStreamOpen, OnDeltaStreamClosed, OnStreamDeltaRequest and OnStreamDeltaResponse
// are called by the server of the delta protocol.
func (c *client) OnDeltaStreamOpen(context.Context, int64, string) error { return nil }

// OnDeltaStreamClosed is called at the end.
func (c *client) OnDeltaStreamClosed(int64, *corev3.Node) {}

// OnStreamDeltaRequest is called before a request is answered. The stream server is not given
// the names: it would keep them.
func (c *client) OnStreamDeltaRequest(_ int64, r *discoveryv3.DeltaDiscoveryRequest) error {
	c.handles(r)
	if err := c.admit(r.GetNode()); err != nil {
		return err
	}
	c.server.join(c)
	h := heard{
		typeURL: r.GetTypeUrl(), nonce: c.own(r.GetTypeUrl(), r.GetResponseNonce()), text: rejection(r.GetErrorDetail().GetMessage(), r.GetErrorDetail() != nil),
		wish: wish{more: r.GetResourceNamesSubscribe(), fewer: r.GetResourceNamesUnsubscribe(), has: r.GetInitialResourceVersions()},
	}
	r.TypeUrl, r.ResponseNonce = served(h.typeURL), h.nonce
	r.ResourceNamesSubscribe, r.ResourceNamesUnsubscribe, r.InitialResourceVersions = nil, nil, nil
	return c.hear(h)
}

// OnStreamDeltaResponse is called before an answer is sent.
func (c *client) OnStreamDeltaResponse(_ int64, _ *discoveryv3.DeltaDiscoveryRequest, r *discoveryv3.DeltaDiscoveryResponse) {
	a := answer{nonce: r.GetNonce(), put: make([]versioned, 0, len(r.GetResources())), removed: r.GetRemovedResources()}
	for _, one := range r.GetResources() {
		a.put = append(a.put, versioned{one.GetName(), one.GetVersion()})
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
	c.handles(r)
	defer c.handled(r) // from now on its names count for the account
	if err := c.admit(r.GetNode()); err != nil {
		return err
	}
	h := heard{
		typeURL: r.GetTypeUrl(), nonce: c.own(r.GetTypeUrl(), r.GetResponseNonce()), text: rejection(r.GetErrorDetail().GetMessage(), r.GetErrorDetail() != nil),
		wish: wish{more: r.GetResourceNames()}, whole: true,
	}
	r.TypeUrl, r.ResponseNonce = served(h.typeURL), h.nonce
	if r.TypeUrl == unserved {
		r.ResourceNames = nil
	}
	return c.hear(h)
}

// OnStreamResponse is called before an answer is sent.
func (c *client) OnStreamResponse(_ context.Context, _ int64, _ *discoveryv3.DiscoveryRequest, r *discoveryv3.DiscoveryResponse) {
	kind, _ := kindOf(r.GetTypeUrl())
	a := answer{
		nonce: r.GetNonce(), put: make([]versioned, 0, len(r.GetResources())),
		whole: kind == envoyconfig.Clusters || kind == envoyconfig.Listeners,
	}
	for _, one := range r.GetResources() {
		a.put = append(a.put, versioned{nameIn(one), r.GetVersionInfo()})
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
