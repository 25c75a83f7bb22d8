package xds

import (
	"maps"
	"strings"

	"github.com/envoyproxy/go-control-plane/pkg/cache/v3"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/xds/resources"
)

// CreateDeltaWatch answers a request of Envoy from what its fleet is sent, and one for a
// type that is not served never.
func (c *client) CreateDeltaWatch(r *cache.DeltaRequest, sub cache.Subscription, out chan cache.DeltaResponse) (func(), error) {
	kind, served := kindOf(r.GetTypeUrl())
	if !served {
		return nil, nil
	}
	if kind == resources.Clusters || kind == resources.Listeners {
		sub = keeping{sub, c, kind}
	}
	return c.fleet.sent[kind].delta(r, sub, out), nil
}

// keeping is a subscription to resources of a client that is told later of those to
// remove.
type keeping struct {
	cache.Subscription

	client *client
	kind   resources.Kind
}

// ReturnedResources implements cache.Subscription.
func (k keeping) ReturnedResources() map[string]string {
	all := k.Subscription.ReturnedResources()
	k.client.mu.Lock()
	defer k.client.mu.Unlock()
	kept, owed := k.client.kept[k.kind], k.client.owed[k.kind]
	if len(kept) == 0 && len(owed) == 0 {
		return all
	}
	rest := maps.Clone(all)
	for name := range kept {
		delete(rest, name)
	}
	for name := range owed {
		rest[name] = "" // of no version, so that it counts as known and as old
	}
	return rest
}

// CreateWatch answers a request of a client of gRPC from what all these clients are sent,
// as far as it may see it.
func (c *client) CreateWatch(r *cache.Request, sub cache.Subscription, out chan cache.Response) (func(), error) {
	kind, served := kindOf(r.GetTypeUrl())
	if !served {
		return nil, nil
	}
	return c.server.shared[kind].world(r, newAllowed(sub, c.sees), out), nil
}

// sees reports whether a client of gRPC may see a resource: web.shop:80 is of namespace
// shop.
func (c *client) sees(name string) bool {
	if c.identity.trusted() {
		return true
	}
	name, _, _ = strings.Cut(name, ":")
	_, namespace, _ := strings.Cut(name, ".")
	for _, one := range c.namespaces {
		if one == namespace || one == allNamespaces {
			return true
		}
	}
	return false
}

// allNamespaces in a list of namespaces stands for every one.
const allNamespaces = "*"

// allowed is a subscription without what the client may not see. Everything is nothing:
// clients of gRPC ask by name.
type allowed struct {
	cache.Subscription

	names map[string]struct{}
}

func newAllowed(sub cache.Subscription, sees func(string) bool) allowed {
	a := allowed{sub, make(map[string]struct{}, len(sub.SubscribedResources()))}
	for name := range sub.SubscribedResources() {
		if sees(name) {
			a.names[name] = struct{}{}
		}
	}
	return a
}

// SubscribedResources implements cache.Subscription.
func (a allowed) SubscribedResources() map[string]struct{} { return a.names }

// IsWildcard implements cache.Subscription.
func (a allowed) IsWildcard() bool { return false }
