package controller

import (
	"context"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings/naming"
)

// knownDocuments are the documents, with what only the slices tell: a kind that is missing was there
// once if there are slices that nothing else asked for while this process ran. Then it is
// lost, not missing, and what its objects published stays.
type knownDocuments struct {
	Documents

	mu    sync.Mutex
	kinds map[string]bool
	// asked are the pools of Services that something else asked for at some time, as long as
	// it does, or slices of them are there.
	asked map[share]bool
}

// share is what one pool gives a Service.
type share struct {
	assign.Key
	pool string
}

// Set implements Documents.
func (l *knownDocuments) Set() documents.Set {
	set := l.Documents.Set()
	l.mu.Lock()
	defer l.mu.Unlock()
	missing := set.Missing
	set.Missing, set.Mistakes = nil, slices.Clone(set.Mistakes)
	for _, kind := range missing {
		if !l.kinds[kind] {
			set.Missing = append(set.Missing, kind)
			continue
		}
		set.Lost, set.Complete = append(slices.Clone(set.Lost), kind), false
		set.Mistakes = append(set.Mistakes, documents.LostKind(kind))
	}
	return set
}

// look takes in what is asked for and published, and reports whether one more kind is
// lost.
func (l *knownDocuments) look(in *assign.Input, set documents.Set) (news bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	pools := make(map[string]bool, len(in.Pools))
	for _, p := range slices.Concat(in.Pools, in.OnlyChecked) {
		pools[p.Name] = true
	}
	asked := make(map[share]bool)
	for _, p := range in.Published {
		if of := (share{p.Key, p.Pool}); l.asked[of] {
			asked[of] = true
		}
	}
	l.asked = asked
	for i := range in.Bindings {
		b := &in.Bindings[i]
		for _, pool := range b.Spec.PoolNames() {
			l.asked[share{assign.Key{Namespace: b.Namespace, Service: b.Name}, pool}] = true
		}
	}
	for i := range in.Services {
		if pool := in.Services[i].Annotations[v1alpha1.AnnotationPool]; pool != "" {
			l.asked[share{in.Services[i].Key, pool}] = true
		}
	}
	for _, kind := range set.Missing {
		found := slices.ContainsFunc(in.Published, func(p assign.PublishedSlice) bool {
			if kind == v1alpha1.KindEndpointPool {
				return p.Endpoints > 0 && p.Pool != "" && !pools[p.Pool]
			}
			return p.Endpoints > 0 && p.Pool != "" && !l.asked[share{p.Key, p.Pool}]
		})
		news = news || found && !l.kinds[kind]
		l.kinds[kind] = l.kinds[kind] || found
	}
	return news
}

// findLeft looks once for slices in namespaces that no document names any more, and has
// those namespaces watched: their endpoints are checked until they are released. The
// documents may have changed while no process ran. Without the right to list slices in
// the whole cluster nothing is known of such namespaces.
func (s *Server) findLeft(ctx context.Context) {
	ctx, end := context.WithCancel(ctx)
	defer end()
	wait.UntilWithContext(ctx, func(ctx context.Context) {
		found, err := s.opts.Hub.Find(ctx)
		if apierrors.IsForbidden(err) {
			s.teller.log.Info("slices in namespaces that no document names cannot be looked for; if there are any, they stay as they are and are not checked", "error", err)
			err = nil
		} else if ctx.Err() == nil {
			s.teller.trouble(subject{kind: "search"}, naming.Names{}, err, "slices in namespaces that no document names cannot be looked for, trying again; where the API server lacks a kind of documents, nothing begins before", "slices in namespaces that no document names were looked for")
		}
		if err != nil {
			return
		}
		for _, namespace := range found {
			s.opts.Hub.Watch(namespace)
		}
		s.searched.Store(true)
		s.signal()
		end()
	}, retry)
}
