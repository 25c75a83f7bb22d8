package serve

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/resolve"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/store/kube"
)

// input is everything that decides who may use what. It is not ready until every watch
// has told a list, or why it has none: a group starts from all that is published.
func (s *Server) input(now time.Time) (resolve.Input, bool) {
	set := s.opts.Documents.Set()
	in := resolve.Input{Now: now, Complete: set.Complete, Nodes: s.pools.nodes(), Ready: s.groups.ready}
	for _, e := range set.Entries {
		in.Complete = in.Complete && e.Usable() // one that was never sound may be anybody's
	}
	for _, p := range set.Pools() {
		in.Pools = append(in.Pools, *p)
	}
	for _, b := range set.Bindings() {
		in.Bindings = append(in.Bindings, *b)
	}
	var known bool
	in.Namespaces, known = s.labels.of(in.Pools)
	in.Complete = in.Complete && known
	for namespace := range namespaces(set, in.Namespaces) {
		s.opts.Hub.Watch(namespace)
	}
	snapshot := s.opts.Hub.Snapshot()
	for _, sight := range snapshot.Sights {
		// Of a namespace that was never read nothing is known that could vanish.
		in.Complete = in.Complete && (sight.Err == nil || !sight.Complete)
		if !s.settled && !sight.Complete && sight.Err == nil {
			return in, false
		}
	}
	s.settled = s.settled || len(snapshot.Sights) > 0 || set.Complete
	for _, service := range snapshot.Services {
		in.Services = append(in.Services, resolve.Service{
			Key: resolve.Key{Namespace: service.Namespace, Service: service.Name}, Annotations: service.Annotations, Service: service.Service,
		})
	}
	in.Published = published(snapshot.Published)
	return in, s.settled
}

// namespaces are those that a pool allows, and those of the bindings.
func namespaces(set documents.Set, labels map[string]map[string]string) map[string]bool {
	found := make(map[string]bool)
	for _, b := range set.Bindings() {
		found[b.Namespace] = true
	}
	for _, p := range set.Pools() {
		for _, allow := range p.Spec.Allow {
			for _, name := range allow.Namespaces {
				found[name] = true
			}
		}
		for name, of := range labels {
			if len(documents.Allowed(&p.Spec, name, of).Ports) > 0 {
				found[name] = true
			}
		}
	}
	return found
}

// published puts the slices of one Service and pool together.
func published(all []kube.Published) []resolve.Published {
	type of struct {
		resolve.Key
		pool string
	}
	found := make(map[of]*resolve.Published)
	for _, slice := range all {
		k := of{resolve.Key{Namespace: slice.Namespace, Service: slice.Service}, slice.Pool}
		p := found[k]
		if p == nil {
			p = &resolve.Published{Key: k.Key, Pool: slice.Pool, Slice: firstName(slice), Ports: slice.Ports}
			found[k] = p
		}
		if name := firstName(slice); len(name) < len(p.Slice) {
			p.Slice = name
		}
		p.Endpoints += slice.Endpoints
	}
	var out []resolve.Published
	for _, p := range found {
		out = append(out, *p)
	}
	slices.SortFunc(out, func(a, b resolve.Published) int {
		return strings.Compare(a.Namespace+"/"+a.Slice, b.Namespace+"/"+b.Slice)
	})
	return out
}

// firstName is the name that the first slice of the target has: a slice of its own name,
// or one that was taken over, whose further slices have hyphens.
func firstName(slice kube.Published) string {
	own := plan.Target{Service: slice.Service, Pool: slice.Pool, SliceName: slice.Service + "." + slice.Pool}
	if _, _, ok := own.ParseName(slice.Name); ok {
		return own.SliceName
	}
	for at := len(slice.Name); at > 0; at = strings.LastIndex(slice.Name[:at], "-") {
		first := plan.Target{SliceName: slice.Name[:at]}
		if _, number, ok := first.ParseName(slice.Name); ok && (number > 1 || strings.HasSuffix(slice.Name, "-ipv6")) {
			return first.SliceName
		}
	}
	return slice.Name
}

// labels reads the labels of namespaces, while a pool selects by them.
type labels struct {
	server *Server
	wanted atomic.Bool
	mu     sync.Mutex
	last   map[string]map[string]string
	known  bool
}

// of returns the labels, and whether they are known where they are needed.
func (l *labels) of(pools []v1alpha1.EndpointPool) (map[string]map[string]string, bool) {
	l.wanted.Store(slices.ContainsFunc(pools, func(p v1alpha1.EndpointPool) bool {
		return slices.ContainsFunc(p.Spec.Allow, func(a v1alpha1.PoolAllowance) bool { return a.NamespaceSelector != nil })
	}))
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last, l.known || !l.wanted.Load()
}

// run reads the labels again and again. Where they cannot be read, those that were read
// last count, and nothing vanishes.
func (l *labels) run(ctx context.Context) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	var due time.Time
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			if !l.wanted.Load() || now.Before(due) {
				continue
			}
			due = now.Add(again)
		}
		read, err := l.server.opts.Labels(ctx)
		l.server.teller.labels(err)
		l.mu.Lock()
		changed := l.known != (err == nil) || err == nil && !maps.EqualFunc(l.last, read, maps.Equal)
		if l.known = err == nil; l.known {
			l.last = read
		}
		l.mu.Unlock()
		if changed {
			l.server.signal()
		}
	}
}
