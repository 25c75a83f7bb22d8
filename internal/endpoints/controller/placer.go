package controller

import (
	"cmp"
	"context"
	"errors"
	"sync/atomic"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
)

var (
	errUnmade = errors.New("the source of the pool is not made yet")
	errNoWay  = errors.New("the pool has no kubeconfig of the remote cluster, so no remote Service can be followed; give it one, or remove remoteService")
)

// placer follows a remote Service as soon as the source of its pool is made.
type placer struct {
	source  *source
	remote  inventory.RemoteService
	changed chan struct{}
	follows atomic.Pointer[pool.Placer]
}

func newPlacer(s *source, remote inventory.RemoteService) *placer {
	return &placer{source: s, remote: remote, changed: make(chan struct{}, 1)}
}

// Placement implements pool.Placer.
func (p *placer) Placement() (*inventory.Placement, error) {
	if of := p.follows.Load(); of != nil {
		return (*of).Placement()
	}
	p.source.mu.Lock()
	defer p.source.mu.Unlock()
	if p.source.made.Source != nil && p.source.made.Follow == nil {
		return nil, errNoWay
	}
	return nil, cmp.Or(p.source.err, errUnmade)
}

// Changed implements pool.Placer.
func (p *placer) Changed() <-chan struct{} { return p.changed }

// run follows the Service until ctx ends.
func (p *placer) run(ctx context.Context) {
	for _, step := range []chan struct{}{p.source.tried, p.source.ready} {
		select {
		case <-ctx.Done():
			return
		case <-step:
			signal(p.changed)
		}
	}
	follow := p.source.made.Follow
	if follow == nil {
		return
	}
	of := follow(ctx, p.remote)
	p.follows.Store(&of)
	for signal(p.changed); ; signal(p.changed) {
		select {
		case <-ctx.Done():
			return
		case <-of.Changed():
		}
	}
}
