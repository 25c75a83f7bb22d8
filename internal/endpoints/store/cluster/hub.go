package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

// mostReads is how many slices a hub reads at the same time, and mostReadsOfOne how
// many of one target: the slices of a target that the API server does not answer about
// leave room for those of others.
const (
	mostReads      = 64
	mostReadsOfOne = 8
)

// Options says which API server a hub watches, and what of it.
type Options struct {
	// Way is the access to the API server.
	Way kube.Way
	// ManagedBy is the managed-by value of our slices. Of slices with another value
	// only what messages say of them is kept.
	ManagedBy string
	// Only is the one target of the hub, nil for any number, in namespaces that Watch
	// names. Then the watches are limited to its Service and to slices with the label of
	// that Service, and ManagedBy is the target's.
	Only *publish.Target
	// Recheck is the time between two reads of a slice of our name that the watch of
	// an Only target cannot see, because its label kubernetes.io/service-name is not
	// the target's; 30 s by default. There is no such read where there is no such
	// slice.
	Recheck time.Duration
}

// Hub keeps the Services and EndpointSlices that its watches tell of, and hands out a
// Store for each target. Its methods may be called at the same time.
type Hub struct {
	options Options
	client  *kube.Client
	reads   chan struct{} // has room for mostReads
	changed chan struct{}
	added   chan struct{}
	granted grants

	mu     sync.Mutex
	scopes []*scope
}

// New returns a hub that does nothing until Run is called. It reads the access, so that
// one that cannot be used is told at once.
func New(options Options) (*Hub, error) {
	if options.Only != nil {
		only := *options.Only
		options.Only, options.ManagedBy = &only, only.ManagedBy
	}
	options.Recheck = cmp.Or(options.Recheck, 30*time.Second)
	client, err := kube.Open(kube.Options{Way: options.Way, Annotations: mostOfAnnotation()})
	if err != nil {
		return nil, fmt.Errorf("kube store: %w", err)
	}
	h := &Hub{
		options: options, client: client, reads: make(chan struct{}, mostReads),
		changed: make(chan struct{}, 1), added: make(chan struct{}, 1), granted: grants{news: make(chan struct{})},
	}
	if options.Only != nil {
		h.Watch(options.Only.Namespace)
	}
	return h, nil
}

// Watch makes the hub watch one more namespace by a pair of watches of its own, at any
// time, until it was not asked for during Unwanted.
func (h *Hub) Watch(namespace string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := h.scopeOf(namespace)
	if s == nil {
		s = newScope(h, namespace)
		h.scopes = append(h.scopes, s)
		kube.Signal(h.added)
	}
	s.wanted = time.Now()
}

// Unwanted is for how long a namespace is watched that Watch does not ask for any more.
const Unwanted = 10 * time.Minute

// unwatch ends the watches of namespaces that nobody wants any more. One stays where a
// target is in it, or slices of ours that publish something.
func (h *Hub) unwatch(now time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.scopes = slices.DeleteFunc(h.scopes, func(s *scope) bool {
		over := s.stop != nil && h.options.Only == nil && now.Sub(s.wanted) > Unwanted && !s.inUse()
		if over {
			s.stop()
		}
		return over
	})
}

// Run watches until ctx ends, and then returns nil; nothing of it is left running.
// Load waits for it, and writes after its end lose their connection, so it has to be
// the last to stop.
func (h *Hub) Run(ctx context.Context) error {
	defer h.client.Close()
	var running sync.WaitGroup
	defer running.Wait()
	second, recheck := time.NewTicker(time.Second), time.NewTicker(h.options.Recheck)
	defer second.Stop()
	defer recheck.Stop()
	for {
		for _, s := range h.all() {
			if s.stop != nil {
				continue
			}
			var watching context.Context
			watching, s.stop = context.WithCancel(ctx)
			running.Go(func() { s.services.Run(watching) })
			running.Go(func() { s.slices.Run(watching) })
		}
		select {
		case <-ctx.Done():
			return nil
		case <-h.added:
		case now := <-second.C:
			for _, s := range h.all() {
				s.tellStale(now)
			}
		case now := <-recheck.C:
			h.unwatch(now)
			for _, s := range h.all() {
				s.markUnselected()
			}
		}
	}
}

// Expiry returns when the credential in use ends.
func (h *Hub) Expiry() kube.Expiry { return h.client.Expiry() }

// Target returns the store of one target, at any time. Its namespace has to be watched,
// and no other target may have a slice name in common with it.
func (h *Hub) Target(target publish.Target) (*Store, error) {
	switch {
	case target.SliceName == "" || target.Service == "" || target.Namespace == "":
		return nil, errors.New("kube store: the target has no slice name, Service or namespace")
	case target.ManagedBy != h.options.ManagedBy:
		return nil, fmt.Errorf("kube store: the target has managed-by value %q, not %q", target.ManagedBy, h.options.ManagedBy)
	}
	h.mu.Lock()
	s := h.scopeOf(target.Namespace)
	h.mu.Unlock()
	if s == nil {
		return nil, fmt.Errorf("kube store: namespace %s is not watched", target.Namespace)
	}
	store := &Store{hub: h, scope: s, target: target, changed: make(chan struct{}, 1), own: make(map[string]*cachedSlice)}
	if err := s.join(store); err != nil {
		return nil, err
	}
	return store, nil
}

// Changed receives a value when something in Local's answer may have changed.
func (h *Hub) Changed() <-chan struct{} { return h.changed }

// Local returns what the watches say. What its pointers point to is never changed.
func (h *Hub) Local() assign.Local {
	var out assign.Local
	for _, s := range h.all() {
		s.addTo(&out)
	}
	slices.SortFunc(out.Services, func(a, b assign.Service) int { return a.Compare(b.Key) })
	slices.SortFunc(out.Published, func(a, b assign.PublishedSlice) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Slice, b.Slice))
	})
	return out
}

// scopeOf returns the scope of a namespace, nil where it is not watched. The caller has
// the lock.
func (h *Hub) scopeOf(namespace string) *scope {
	for _, s := range h.scopes {
		if s.namespace == namespace {
			return s
		}
	}
	return nil
}

func (h *Hub) all() []*scope {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.scopes)
}

// space is what is known of one namespace.
type space struct {
	services map[string]*Service
	// size is how much they say, and left of how many of them ports and annotations are not kept.
	size, left int
	slices     map[string]*cachedSlice
	// labelled are the slices of each Service by their label.
	labelled map[string][]*cachedSlice
	stores   []*Store
	// nobodys is how much is kept of the slices with our label that no store owns, others of
	// those without, and room, which tests make less, bounds them. lost says that slices with our label are not kept.
	nobodys, others, room int
	lost                  bool
}

func newSpace() space {
	return space{room: mostOfNobodys, services: make(map[string]*Service), slices: make(map[string]*cachedSlice), labelled: make(map[string][]*cachedSlice)}
}

// slice returns what is known of the slice of that name.
func (s *space) slice(name string) *cachedSlice {
	if s.slices[name] == nil {
		s.slices[name] = &cachedSlice{}
		for _, store := range s.stores {
			if store.owns(name) {
				store.own[name], s.slices[name].owner = s.slices[name], store
			}
		}
	}
	return s.slices[name]
}

// drop forgets a slice that does not exist, once nothing has to be known of it.
func (s *space) drop(name string) {
	one := s.slices[name]
	if one.content != nil || one.owner != nil && (one.revision != "" || one.dirty != 0 || one.writing) {
		return
	}
	delete(s.slices, name)
	if one.owner != nil {
		delete(one.owner.own, name)
	}
}

// tell passes on that something may have changed for the targets of a Service.
func (s *space) tell(service string) {
	for _, store := range s.stores {
		if store.target.Service == service {
			store.tell()
		}
	}
}

// weigh notes how much is kept of a slice that no store owns, and keeps less where that is too
// much: of one with our label the number of its endpoints, and then nothing; of others nothing.
func (s *space) weigh(one *cachedSlice) {
	if one.weight > 0 {
		*one.sum -= one.weight
	}
	if one.weight = 0; one.owner != nil || one.content == nil {
		return
	}
	most, ours := s.room, one.content.ours
	if one.sum = &s.others; ours {
		one.sum, most = &s.nobodys, 2*s.room
		if s.nobodys+perSlice+one.content.size() > s.room {
			one.content = one.content.number()
		}
	}
	weight := perSlice + one.content.size()
	if *one.sum+weight > most {
		one.content, s.lost = nil, s.lost || ours
		return
	}
	one.weight = weight
	*one.sum += weight
}

// crowded says why not all of the namespace is known, nil where all is.
func (s *space) crowded(namespace string) error {
	switch {
	case s.left > 0:
		return fmt.Errorf("the Services of namespace %s take more than the %d MiB that one namespace may take, so the ports and annotations of some of them are not known; remove Services, or shorten their ports and annotations", namespace, mostOfNamespace>>20)
	case s.lost:
		return fmt.Errorf("the slices of namespace %s with the label %s of this program, that no Service here uses, take more than the %d MiB that one namespace may take, so some of them are not known; delete those that are of no use", namespace, discoveryv1.LabelManagedBy, 2*mostOfNobodys>>20)
	}
	return nil
}

// changed passes on what a slice publishes beside those of other targets, where that is
// something else than before.
func (s *space) changed(before cachedSlice, is *cachedSlice) {
	s.weigh(is)
	was, now := before.publication(), is.publication()
	if was == now {
		return
	}
	if was.service != now.service {
		s.label(was.service, now.service, is)
	}
	for _, store := range s.stores {
		if before.beside(store) != is.beside(store) {
			store.tell()
		}
	}
}

// label notes that the label of a slice names another Service than before, empty for
// none.
func (s *space) label(was, now string, one *cachedSlice) {
	rest := slices.DeleteFunc(s.labelled[was], func(other *cachedSlice) bool { return other == one })
	if s.labelled[was] = rest; len(rest) == 0 {
		delete(s.labelled, was)
	}
	if now != "" {
		s.labelled[now] = append(s.labelled[now], one)
	}
}

// fitting returns what is kept of a Service in place of what was: no ports and annotations
// where there is no room for them. Services of targets have room of their own.
func (s *space) fitting(before, is *Service) *Service {
	s.size -= before.size()
	if before != nil && before.left {
		s.left--
	}
	if size := s.size + is.size(); is != nil && (is.left || size > mostWithTargets || size > mostOfNamespace && !s.fills(is.Key.Service)) {
		is = is.bare()
		s.left++
	}
	s.size += is.size()
	return is
}

// service returns what a target is to know of its Service: where the ports are not kept, those
// of its slices.
func (s *space) service(store *Store) publish.Service {
	is := s.services[store.target.Service]
	service := is.plan()
	if service.Ports = slices.Clone(service.Ports); is == nil || !is.left {
		return service
	}
	for _, name := range slices.Sorted(maps.Keys(store.own)) {
		c := store.own[name].content
		if c == nil {
			continue
		}
		for _, p := range c.Ports {
			port := publish.ServicePort{Name: p.Name, Protocol: p.Protocol, Port: p.Number, TargetPort: p.Number, AppProtocol: p.AppProtocol}
			if !slices.Contains(service.Ports, port) {
				service.Ports = append(service.Ports, port)
			}
		}
	}
	return service
}

// fills reports whether a target is the Service of that name.
func (s *space) fills(service string) bool {
	return slices.ContainsFunc(s.stores, func(store *Store) bool { return store.target.Service == service })
}
