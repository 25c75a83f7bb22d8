package cli

import (
	"cmp"
	"context"
	"sync"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/config"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/preflight"
)

// reach is what a command that looks at sources once has of each carrier: the documents,
// and the access to their pools.
type reach struct {
	*parts
	set    documents.Set
	access func(*v1alpha1.EndpointPool) access
}

func (p Program) reach(ctx context.Context, c config.Config) (reach, error) {
	r := reach{parts: &parts{config: c, version: p.Version, log: logger(p.Stderr, c.Log)}}
	if c.Documents.Used() {
		r.set, r.access = documentsNow(ctx, c), func(pool *v1alpha1.EndpointPool) access { return accessIn(c, pool) }
	} else {
		pool, binding, _ := carried(c)
		r.set, r.access = documents.OfVariables(pool, binding), func(*v1alpha1.EndpointPool) access { return accessOf(c) }
	}
	var err error
	r.metrics, err = r.newMetrics()
	return r, err
}

// source is the source of a pool.
func (r reach) source(pool *v1alpha1.EndpointPool) (preflight.Origin, error) {
	from := r.access(pool)
	out := preflight.Origin{Rules: rules(pool, from), Secrets: from.secrets()}
	if !r.set.Variables {
		if err := lackingCredentials(r.config, pool, from); err != nil {
			return out, err
		}
	}
	made, err := newSource(pool, from, r.metrics)
	if err != nil {
		return out, err
	}
	if made.remote != nil {
		out.Remote = remoteWay(from, r.metrics)
	}
	if cloud := made.cloud; cloud != nil {
		out.Cloud = func() preflight.CloudFacts {
			expires, _ := cloud.TokenExpiry()
			return preflight.CloudFacts{Warnings: cloud.Warnings(), Expires: expires}
		}
	}
	out.Read = made.readBeside
	return out, nil
}

// readBeside reads the source once, while what has to run beside it does.
func (o origin) readBeside(ctx context.Context) ([]inventory.Node, error) {
	ctx, cancel := context.WithCancel(ctx)
	var beside sync.WaitGroup
	defer beside.Wait()
	defer cancel()
	var failed error
	if o.run != nil {
		beside.Go(func() { failed = o.run(ctx) })
	}
	nodes, err := o.Read(ctx)
	cancel()
	beside.Wait()
	return nodes, cmp.Or(err, failed)
}
