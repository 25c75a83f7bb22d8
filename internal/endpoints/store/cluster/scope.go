package cluster

import (
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

// scope is what one pair of watches tells of: a namespace, or the one target of the hub.
type scope struct {
	hub       *Hub
	namespace string
	services  *scopeWatch
	slices    *scopeWatch
	// stop ends the watches, nil before they began, and wanted is when they were asked for
	// last; both under the lock of the hub, but that only its Run sets stop.
	stop   func()
	wanted time.Time

	mu       sync.Mutex
	space    space
	marks    int  // how many dirty marks there were
	wasStale bool // as it was told last
}

func newScope(hub *Hub, namespace string) *scope {
	service, objects := "Services of namespace "+namespace, "slices of namespace "+namespace
	if hub.options.Only != nil {
		service, objects = "the Service", "slices"
	}
	s := &scope{hub: hub, namespace: namespace, space: newSpace()}
	s.services = newWatch(hub, service, kube.Services(namespace), &corev1.Service{}, s.servicesFeed())
	s.slices = newWatch(hub, objects, kube.EndpointSlices(namespace), &discoveryv1.EndpointSlice{}, s.slicesFeed())
	if only := hub.options.Only; only != nil {
		s.services.Selection = kube.Named(only.Service)
		s.slices.Selection.LabelSelector = labels.Set{discoveryv1.LabelServiceName: only.Service}.String()
	}
	return s
}

func (s *scope) watches() []*scopeWatch { return []*scopeWatch{s.slices, s.services} }

// stale says which watch is not current, nil if both are.
func (s *scope) stale(now time.Time) error {
	for _, watch := range s.watches() {
		if _, err := watch.Stale(now); err != nil {
			return available(err)
		}
	}
	return nil
}

// tellStale passes on that a watch is no longer current, or is so again.
func (s *scope) tellStale(now time.Time) {
	is := s.stale(now) != nil
	s.mu.Lock()
	defer s.mu.Unlock()
	if is == s.wasStale {
		return
	}
	s.wasStale = is
	kube.Signal(s.hub.changed)
	for _, store := range s.space.stores {
		store.tell()
	}
}

// join adds a store, whose the slices of its target's names are from now on.
func (s *scope) join(store *Store) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	space, target := &s.space, store.target
	for _, other := range space.stores {
		if other.owns(target.SliceName) || store.owns(other.target.SliceName) {
			return fmt.Errorf("kube store: the targets of Services %s and %s in namespace %s have slice names in common: %s and %s",
				other.target.Service, target.Service, target.Namespace, other.target.SliceName, target.SliceName)
		}
	}
	space.tell(target.Service)
	space.stores = append(space.stores, store)
	if store.unlisted = space.lost; store.unlisted {
		s.slices.ListAgain()
	}
	if service := space.services[target.Service]; service != nil && service.left {
		s.services.ListAgain()
	}
	for name, one := range space.slices {
		if store.owns(name) {
			store.own[name], one.owner = one, store
			if space.weigh(one); one.content != nil && one.content.counted {
				s.mark(one)
			}
		}
	}
	return nil
}

// leave removes a store. What is known of its slices stays for the next one.
func (s *scope) leave(store *Store) {
	s.mu.Lock()
	defer s.mu.Unlock()
	space := &s.space
	space.stores = slices.DeleteFunc(space.stores, func(other *Store) bool { return other == store })
	for name, one := range store.own {
		before := *one
		one.owner = nil
		space.changed(before, one)
		space.drop(name)
	}
	clear(store.own)
	space.tell(store.target.Service)
}

// known returns the target's Service, and the slices that its state is made of: its
// own, and those that publish beside them. It fails where it may lack some of its own.
func (s *scope) known(store *Store) (service publish.Service, contents []*content, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if store.unlisted {
		return publish.Service{}, nil, fmt.Errorf("the slices of namespace %s are listed again, for not all of them were kept", store.target.Namespace)
	}
	service = s.space.service(store)
	for _, one := range store.own {
		if one.content != nil {
			contents = append(contents, one.content)
		}
	}
	for _, one := range s.space.labelled[store.target.Service] {
		if len(contents) < len(store.own)+mostBeside && one.owner != store && one.beside(store).count > 0 {
			contents = append(contents, one.content)
		}
	}
	return service, contents, nil
}

// dirty returns the marks of the store's slices that have to be read.
func (s *scope) dirty(store *Store) map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	marks := make(map[string]int)
	for name, one := range store.own {
		if one.dirty != 0 {
			marks[name] = one.dirty
		}
	}
	return marks
}

// clean takes over what was read because of a mark.
func (s *scope) clean(name string, mark int, is *content, revision string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.space.slice(name)
	if one.dirty == 0 {
		s.space.drop(name)
		return // another read came first, and the watch told the rest
	}
	before := *one
	one.set(is, revision)
	if one.dirty == mark {
		one.dirty = 0
	}
	s.space.changed(before, one)
}

// begin is called before a write of the slice, and returns what the slice is; end is
// called after it, with the server's answer, nil where it failed.
func (s *scope) begin(name string) *content {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.space.slice(name)
	one.writing = true
	return one.content
}

// end passes on what the watch told meanwhile, unless that was the write itself.
func (s *scope) end(name string, base, answer *content) {
	s.mu.Lock()
	defer s.mu.Unlock()
	one, expected := s.space.slice(name), base
	before := *one
	one.writing = false
	if answer != nil {
		one.set(answer, answer.version)
		expected = answer
	}
	if one.owner != nil && (one.dirty != 0 || versionOf(one.content) != versionOf(expected)) {
		one.owner.tell()
	}
	if answer == nil {
		s.mark(one)
	}
	s.space.changed(before, one)
}

// addTo adds what is known to what is told.
func (s *scope) addTo(out *assign.Local) {
	sight := assign.Sight{Namespace: s.namespace, Complete: true, Err: s.stale(time.Now())}
	for _, watch := range s.watches() {
		if !watch.isComplete() {
			sight.Complete, sight.Err = false, available(watch.Failed())
		}
	}
	out.Sights = append(out.Sights, sight)
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, service := range s.space.services {
		if !service.left {
			out.Services = append(out.Services, service.Service)
		}
	}
	if err := s.space.crowded(s.namespace); err != nil {
		out.Sights = append(out.Sights, assign.Sight{Namespace: s.namespace, Complete: true, Crowded: true, Err: err})
	}
	for _, one := range s.space.slices {
		if c := one.content; c != nil && c.ours {
			out.Published = append(out.Published, c.published())
		}
	}
}

func (s *scope) mark(one *cachedSlice) {
	s.marks++
	one.dirty, one.revision = s.marks, ""
}

// inUse reports whether a target is in the scope, or slices of ours that publish something.
func (s *scope) inUse() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.space.stores) > 0 || s.space.lost {
		return true
	}
	for _, one := range s.space.slices {
		if c := one.content; c != nil && c.ours && c.Endpoints > 0 {
			return true
		}
	}
	return false
}
