package controller

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

// MissingCredentials is why a source cannot be made: a file that it needs is not there.
type MissingCredentials struct{ Message string }

func (m *MissingCredentials) Error() string { return m.Message }

// source is a source that is made when it can be: credentials may come later than the
// pool. Until then each read is an error, and endpoints still follow their checks.
type source struct {
	make    func() (Origin, error)
	changed chan struct{}
	read    func(nodes int)

	// tried is closed when it was tried once, ready when it was made.
	tried, ready chan struct{}

	mu   sync.Mutex
	made Origin
	err  error
}

func newSource(supply Supply, read func(nodes int)) *source {
	return &source{make: supply.Make, changed: make(chan struct{}, 1), read: read, tried: make(chan struct{}), ready: make(chan struct{})}
}

// Read implements pool.Source.
func (s *source) Read(ctx context.Context) ([]inventory.Node, error) {
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.tried:
	}
	s.mu.Lock()
	made, err := s.made.Source, s.err
	s.mu.Unlock()
	if err != nil {
		return nil, err
	}
	nodes, err := made.Read(ctx)
	if err == nil {
		s.read(len(nodes))
	}
	return nodes, err
}

// run makes the source, and runs what has to run beside it, until ctx ends.
func (s *source) run(ctx context.Context) {
	s.await(ctx)
	origin := s.made
	var running sync.WaitGroup
	defer running.Wait()
	if origin.Run != nil {
		running.Go(func() { _ = carefully(func() error { return origin.Run(ctx) }) })
	}
	for {
		select {
		case <-ctx.Done():
			return
		case <-origin.Changed:
			transport.Signal(s.changed)
		}
	}
}

// await makes the source, again and again until that succeeds or ctx ends.
func (s *source) await(ctx context.Context) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	first := true
	wait.UntilWithContext(ctx, func(context.Context) {
		var origin Origin
		err := carefully(func() (err error) {
			origin, err = s.make()
			return err
		})
		s.mu.Lock()
		s.made, s.err = origin, err
		s.mu.Unlock()
		if err == nil {
			end()
			close(s.ready)
		}
		if first {
			close(s.tried)
		} else if err == nil {
			transport.Signal(s.changed)
		}
		first = false
	}, retry)
}

// warnings are those of the source, if it has any.
func (s *source) warnings() []string {
	s.mu.Lock()
	warn := s.made.Warnings
	s.mu.Unlock()
	if warn == nil {
		return nil
	}
	return warn()
}

// carefully turns a panic into an error, so that it concerns one pool alone.
func carefully(do func() error) (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("a defect of the program, it panicked: %v", cause)
		}
	}()
	return do()
}

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
			transport.Signal(p.changed)
		}
	}
	follow := p.source.made.Follow
	if follow == nil {
		return
	}
	of := follow(ctx, p.remote)
	p.follows.Store(&of)
	for transport.Signal(p.changed); ; transport.Signal(p.changed) {
		select {
		case <-ctx.Done():
			return
		case <-of.Changed():
		}
	}
}
