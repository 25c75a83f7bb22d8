package preflight_test

import (
	"context"
	"net/netip"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents/environment"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/preflight"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// poolOf is the pool of the variables, with its defaults.
func poolOf(c settings.Config) *v1alpha1.EndpointPool {
	pool, _ := environment.Documents(c)
	pool.SetDefaults()
	return pool
}

// world is the one Service of the variables, whose source answers read and whose endpoints
// answer probe.
func world(t *testing.T, c settings.Config, read func(context.Context) ([]inventory.Node, error), probe func(netip.Addr) inventory.Result, secrets ...string) preflight.Options {
	t.Helper()
	_, binding := environment.Documents(c)
	binding.SetDefaults()
	var subnets []netip.Prefix
	for _, subnet := range c.Secured.Subnets {
		subnets = append(subnets, netip.MustParsePrefix(subnet))
	}
	return preflight.Options{
		Config: c, Documents: documents.OfVariables(poolOf(c), binding),
		Source: func(*v1alpha1.EndpointPool) (preflight.Origin, error) {
			return preflight.Origin{Rules: filter.Rules{Subnets: subnets}, Read: read, Secrets: secrets}, nil
		},
		Checker: func(*v1alpha1.EndpointPool, assign.Check) func(context.Context, netip.Addr) inventory.Result {
			return func(_ context.Context, addr netip.Addr) inventory.Result { return probe(addr) }
		},
	}
}

// passes is what an endpoint answers that passes.
func passes(addr netip.Addr) inventory.Result {
	return inventory.Result{Address: addr, Outcome: inventory.Pass, Reason: inventory.Ready, Message: "fine"}
}
