package placement

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

// Options say which cluster to watch.
type Options struct {
	// Way is the access to the API server: that of the nodes.
	Way kube.Way
	// Most is how many bytes are kept of what one watch tells; 16 MiB by default.
	Most int
}

const (
	// answerTimeout bounds the wait for the first byte of a watch, and a list.
	answerTimeout = 20 * time.Second
	// recheck is the time between two looks at the files of the kubeconfig, and at whether
	// the watches are current.
	recheck = 5 * time.Second
)

// Reader follows Services of one cluster. Its methods may be called at the same time.
type Reader struct {
	client *kube.Client
	most   int
	begun  chan struct{} // has a value when there is a new space

	mu     sync.Mutex
	spaces map[string]*space
}

// New checks the options. It reads no file and sends no request.
func New(options Options) (*Reader, error) {
	client, err := kube.New(kube.Options{
		Way: options.Way, Timeout: answerTimeout,
		Annotations: func([]byte, int) int { return 0 },
	})
	if err != nil {
		return nil, fmt.Errorf("placement: %w", err)
	}
	return &Reader{client: client, most: cmp.Or(options.Most, 16<<20), begun: make(chan struct{}, 1), spaces: make(map[string]*space)}, nil
}

// Run watches until ctx ends, and then returns nil. Credentials that changed are used at
// once.
func (r *Reader) Run(ctx context.Context) error {
	defer r.client.Close()
	var running sync.WaitGroup
	defer running.Wait()
	tick := time.NewTicker(recheck)
	defer tick.Stop()
	for used := 0; ; {
		spaces := r.all()
		if len(spaces) > 0 { // else the kubeconfig is not needed
			_ = r.client.Refresh() // what cannot be read replaces nothing, and fails each request
		}
		is := r.client.Generation()
		for _, s := range spaces {
			s.look(is != used) // with another access everything is listed anew: it may lead to another cluster
			if !s.runs {
				s.runs = true
				running.Go(func() { s.run(ctx) })
			}
		}
		used = is
		select {
		case <-ctx.Done():
			return nil
		case <-r.begun:
		case <-tick.C:
		}
	}
}

// all returns the namespaces in which Services are followed.
func (r *Reader) all() []*space {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Collect(maps.Values(r.spaces))
}

// Follow follows a Service until ctx ends.
func (r *Reader) Follow(ctx context.Context, service inventory.RemoteService) *Follower {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.spaces[service.Namespace]
	if s == nil {
		s = newSpace(r, service.Namespace)
		r.spaces[service.Namespace] = s
		kube.Signal(r.begun)
	}
	f := &Follower{space: s, service: service, changed: make(chan struct{}, 1)}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.followers[f] = true
	f.join()
	context.AfterFunc(ctx, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		s.mu.Lock()
		defer s.mu.Unlock()
		if delete(s.followers, f); len(s.followers) == 0 {
			delete(r.spaces, service.Namespace)
			close(s.ended)
		}
	})
	return f
}

// Follower is where the Pods of one Service are.
type Follower struct {
	service inventory.RemoteService
	changed chan struct{}
	// space has the lock of what follows.
	space     *space
	placement *inventory.Placement
	// nowhere says that the Service has endpoints, and that none of them names a node.
	nowhere bool
	// told is the problem that was told of.
	told string
}

// Placement returns the newest complete placement, which is never changed. It is an error
// while there was none yet, and while it is not current. No request is sent.
func (f *Follower) Placement() (*inventory.Placement, error) {
	f.space.mu.Lock()
	defer f.space.mu.Unlock()
	if err := f.problem(); err != nil {
		return nil, fmt.Errorf("remote Service %s: %w", f.service, err)
	}
	return f.placement, nil
}

// Changed receives a value when Placement's answer has become another one.
func (f *Follower) Changed() <-chan struct{} { return f.changed }

// Owner returns which Service of the namespace has a nodePort, empty where none has.
func (f *Follower) Owner(nodePort uint16) string {
	f.space.mu.Lock()
	defer f.space.mu.Unlock()
	for _, w := range f.space.watches {
		for name, p := range w.parts {
			if slices.Contains(p.says.NodePorts, nodePort) {
				return name
			}
		}
	}
	return ""
}

// Await waits for a placement, until ctx ends or somebody has to act.
func (f *Follower) Await(ctx context.Context) (*inventory.Placement, error) {
	for {
		is, err := f.Placement()
		if err == nil || errors.Is(err, inventory.ErrUnauthorized) {
			return is, err
		}
		select {
		case <-f.changed:
		case <-ctx.Done():
			return nil, err
		}
	}
}
