package cli

import (
	"cmp"
	"context"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/placement"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/preflight"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// reach is what a command that looks at sources once has of each carrier.
type reach struct {
	*parts
	set documents.Set
}

func (p Program) reach(ctx context.Context, c settings.Config) (reach, error) {
	r := reach{parts: &parts{config: c, version: p.Version, log: logger(p.Stderr, c.Log)}}
	if c.Documents.Used() {
		r.set = documentsNow(ctx, c, nil)
	} else {
		pool, binding, _ := carried(c)
		r.set = documents.OfVariables(pool, binding)
	}
	var err error
	r.metrics, err = r.newMetrics()
	return r, err
}

// source is the source of a pool.
func (r reach) source(pool *v1alpha1.EndpointPool) (preflight.Origin, error) {
	from := r.access(pool)
	from.awaited = "" // later is too late
	out := preflight.Origin{Rules: rules(pool, from), Secrets: from.secrets()}
	made, err := r.newSource(pool, from)
	if err != nil {
		return out, err
	}
	if made.remote != nil {
		out.Remote = remoteWay(from, r.metrics)
		reader, err := placement.New(placement.Options{Way: out.Remote})
		if err != nil {
			return out, err
		}
		out.Follow = func(ctx context.Context, remotes []inventory.RemoteService) map[inventory.RemoteService]preflight.PlacementAnswer {
			return followed(ctx, reader, remotes)
		}
	}
	if made.cloud != nil {
		out.Warnings = made.cloud.Warnings
	}
	var own []inventory.Node
	out.Read = func(ctx context.Context) (nodes []inventory.Node, err error) {
		nodes, own, err = made.readBeside(ctx)
		return nodes, err
	}
	if made.cloud != nil && made.remote != nil {
		out.Own = func() []inventory.Node { return own }
	}
	return out, nil
}

// followed reads where the Pods of remote Services are.
func followed(ctx context.Context, reader *placement.Reader, remotes []inventory.RemoteService) map[inventory.RemoteService]preflight.PlacementAnswer {
	found := make(map[inventory.RemoteService]preflight.PlacementAnswer)
	_ = beside(ctx, func(ctx context.Context) error {
		var followers []*placement.Follower
		for _, remote := range remotes {
			followers = append(followers, reader.Follow(ctx, remote))
		}
		for i, f := range followers {
			is, err := f.Await(ctx)
			found[remotes[i]] = preflight.PlacementAnswer{Placement: is, Err: err, Owner: f.Owner}
		}
		return nil
	}, func(ctx context.Context) { _ = reader.Run(ctx) })
	return found
}

// readBeside reads the source once, while what has to run beside it does, and the nodes as
// the remote cluster reports them.
func (o origin) readBeside(ctx context.Context) (nodes, own []inventory.Node, err error) {
	var failed error
	err = beside(ctx, func(ctx context.Context) (err error) {
		if nodes, err = o.Read(ctx); err == nil && o.remote != nil {
			own, err = o.remote.Read(ctx)
		}
		return err
	}, func(ctx context.Context) {
		if o.run != nil {
			failed = o.run(ctx)
		}
	})
	return nodes, own, cmp.Or(err, failed)
}
