package preflight_test

import (
	"context"
	"net/netip"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/config"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/documents/variables"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/preflight"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/resolve"
)

// poolOf is the pool of the variables, with its defaults.
func poolOf(c config.Config) *v1alpha1.EndpointPool {
	pool, _ := variables.Documents(c)
	pool.SetDefaults()
	return pool
}

// world is the one Service of the variables, whose source answers read and whose endpoints
// answer probe.
func world(t *testing.T, c config.Config, read func(context.Context) ([]inventory.Node, error), probe func(netip.Addr) inventory.Result, secrets ...string) preflight.Options {
	t.Helper()
	_, binding := variables.Documents(c)
	binding.SetDefaults()
	return preflight.Options{
		Config: c, Documents: documents.OfVariables(poolOf(c), binding),
		Source: func(*v1alpha1.EndpointPool) (preflight.Origin, error) {
			return preflight.Origin{Rules: filter.Rules{Subnets: c.Secured.Subnets}, Read: read, Secrets: secrets}, nil
		},
		Checker: func(*v1alpha1.EndpointPool, resolve.Check) func(context.Context, netip.Addr) inventory.Result {
			return func(_ context.Context, addr netip.Addr) inventory.Result { return probe(addr) }
		},
	}
}

// passes is what an endpoint answers that passes.
func passes(addr netip.Addr) inventory.Result {
	return inventory.Result{Address: addr, Outcome: inventory.Pass, Reason: inventory.Ready, Message: "fine"}
}
