package controller

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
)

// input is everything that decides who may use what. It is not ready until every watch
// has told a list, or why it has none: a group starts from all that is published.
func (s *Server) input(now time.Time) (assign.Input, bool) {
	set := s.opts.Documents.Set()
	if set.Generation == 0 {
		return assign.Input{}, false // nothing was read yet, so no team is refused anything
	}
	in := assign.InputOf(set)
	in.Now, in.Nodes, in.Placed, in.Health = now, s.pools.nodes(), s.groups.placed, s.groups.health
	in.Stored, in.Drains = s.targets.stored, s.targets.drains
	var known bool
	in.Namespaces, known = s.labels.of(slices.Concat(in.Pools, in.OnlyChecked))
	in.Complete = in.Complete && known
	for namespace := range set.Namespaces(in.Namespaces) {
		s.opts.Hub.Watch(namespace)
	}
	for _, namespace := range s.opts.Leaving {
		s.opts.Hub.Watch(namespace)
	}
	if len(set.Missing) > 0 { // then the slices tell whether the kind was there
		for _, namespace := range s.opts.Bounds {
			s.opts.Hub.Watch(namespace)
		}
		if !s.settled && !s.searched.Load() {
			return in, false
		}
	}
	local := s.opts.Hub.Local()
	s.sights = local.Sights
	for _, sight := range local.Sights {
		if set.Variables && !s.settled && (sight.Complete || sight.Err != nil) {
			s.teller.first(set, sight.Err)
		}
		if !s.settled && !sight.Complete && (sight.Err == nil || set.Variables) {
			return in, false // with variables nothing is decided before the slices were read
		}
		in.Unread[sight.Namespace] = in.Unread[sight.Namespace] || !sight.Complete || sight.Err != nil
	}
	s.settled = s.settled || len(local.Sights) > 0 || set.Complete || s.once != nil
	in.Services, in.Published = local.Services, local.Published
	if s.lost.look(&in, set) {
		in.Complete = false
	}
	return in, s.settled
}

// labels reads the labels of namespaces, while a pool selects by them.
type labels struct {
	server *Server
	wanted atomic.Bool
	mu     sync.Mutex
	last   map[string]map[string]string
	known  bool
	err    error
}

// of returns the labels, and whether they are known where they are needed.
func (l *labels) of(pools []v1alpha1.EndpointPool) (map[string]map[string]string, bool) {
	l.wanted.Store(slices.ContainsFunc(pools, func(p v1alpha1.EndpointPool) bool {
		return slices.ContainsFunc(p.Spec.Allow, func(a v1alpha1.PoolAllowance) bool { return a.NamespaceSelector != nil })
	}))
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.wanted.Load() {
		l.last, l.known = nil, false // a later pool must not decide by labels of today
	}
	return l.last, l.known || !l.wanted.Load()
}

// run reads the labels again and again. Where they cannot be read, those that were read
// last count, and nothing vanishes.
func (l *labels) run(ctx context.Context) {
	var due time.Time
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		if now := time.Now(); l.wanted.Load() && !now.Before(due) {
			due = now.Add(retry)
			if l.read(ctx) {
				l.server.signal()
			}
		}
	}, time.Second)
}

// read reads the labels once, and reports whether they are others than before.
func (l *labels) read(ctx context.Context) (changed bool) {
	read, err := l.server.opts.Labels(ctx)
	l.server.teller.labels(err)
	l.mu.Lock()
	defer l.mu.Unlock()
	changed = l.known != (err == nil) || err == nil && !maps.EqualFunc(l.last, read, maps.Equal)
	if l.known, l.err = err == nil, err; l.known {
		l.last = read
	}
	return changed
}

// failed returns why the labels could not be read, nil where they were or need not be.
func (l *labels) failed() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.err
}
