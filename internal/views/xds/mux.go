package xds

import (
	"slices"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"
)

// CreateDeltaWatch answers a request of Envoy from what its fleet is sent, and one for a
// type that is not served never.
func (c *client) CreateDeltaWatch(r *cache.DeltaRequest, _ cache.Subscription, out chan cache.DeltaResponse) (func(), error) {
	defer c.handled(r)
	kind, served := kindOf(r.GetTypeUrl())
	if !served {
		return nil, nil
	}
	w := c.wish
	c.wish = wish{}
	if len(w.gone) > 0 {
		defer transport.Signal(c.server.news)
	}
	return c.fleet.sent[kind].delta(c.wants[kind], w, r, out)
}

// CreateWatch answers a request of a client of gRPC from what all these clients are sent,
// as far as it may see it.
func (c *client) CreateWatch(r *cache.Request, sub cache.Subscription, out chan cache.Response) (func(), error) {
	kind, served := kindOf(r.GetTypeUrl())
	if !served {
		return nil, nil
	}
	names := sub.SubscribedResources() // everything is nothing: clients of gRPC ask by name
	wants := func(name string) bool { _, named := names[name]; return named && c.sees(name) }
	return c.server.shared[kind].world(r, wants, sub.ReturnedResources(), out), nil
}

// sees reports whether a client of gRPC may see a resource: web.shop:80 is of namespace
// shop.
func (c *client) sees(name string) bool {
	name, _, _ = strings.Cut(name, ":")
	_, namespace, _ := strings.Cut(name, ".")
	return c.identity.trusted() || slices.Contains(c.namespaces, namespace) || slices.Contains(c.namespaces, allNamespaces)
}

// allNamespaces in a list of namespaces stands for every one.
const allNamespaces = "*"
