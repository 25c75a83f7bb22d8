package many_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// local is the API server of the local cluster. Its lock is the world's.
type local struct {
	w        *world
	services map[string]*assign.Service
	objects  map[string]*discoveryv1.EndpointSlice // by namespace/name, never changed in place
	uids     int
	version  int
	writes   int
	// until is when each trouble ends, or ended.
	until map[trouble]time.Time
	// stores are the open ones, in the order in which they were opened.
	stores  []*store
	changed chan struct{}
}

func newLocal(w *world) *local {
	return &local{
		w: w, services: make(map[string]*assign.Service), objects: make(map[string]*discoveryv1.EndpointSlice),
		until: make(map[trouble]time.Time), changed: make(chan struct{}, 1),
	}
}

// trouble is what the API server does with what is in a namespace, or with the slices of a pool.
type trouble struct{ kind, place string }

// The kinds of trouble.
const (
	refusesWrites  = "refuses writes"
	refusesCreates = "refuses creates"
	leavesOut      = "leaves the last endpoint out"
	isNotWatched   = "is not watched"
)

// lately reports whether there is or was such trouble of one of these places: within no time, now.
func (l *local) lately(kind string, within time.Duration, places ...string) bool {
	return slices.ContainsFunc(places, func(place string) bool { return time.Since(l.until[trouble{kind, place}]) < within })
}

// create makes the Service of a wish.
func (l *local) create(of wish) {
	l.uids++
	s := &assign.Service{Key: assign.Key{Namespace: of.namespace, Service: of.service}, Service: publish.Service{
		UID: "uid-" + strconv.Itoa(l.uids), Ports: []publish.ServicePort{{Protocol: publish.TCP, Port: 80, TargetPort: of.port}},
	}}
	l.services[of.key().String()] = s
	if of.annotated {
		l.annotate(of, strings.Join(l.w.uses(of), ""))
	}
	l.tell()
}

// annotate lets a Service that is there want a pool, empty for none.
func (l *local) annotate(of wish, pool string) {
	was := l.services[of.key().String()]
	if was == nil || was.Annotations[v1alpha1.AnnotationPool] == pool {
		return
	}
	service := *was
	service.Annotations = map[string]string{v1alpha1.AnnotationPool: pool}
	l.services[of.key().String()] = &service
	l.tell()
}

// remove removes a Service, and its slices as the garbage collector does.
func (l *local) remove(of wish) {
	delete(l.services, of.key().String())
	for name, object := range l.objects {
		if object.Namespace == of.namespace && object.Labels[discoveryv1.LabelServiceName] == of.service {
			delete(l.objects, name)
		}
	}
	l.tell()
}

// tell tells the program that something changed.
func (l *local) tell() {
	leave(l.changed)
	for _, s := range l.stores {
		if s.follow != nil {
			s.follow()
		}
	}
}

// shownState is what slices say of an address.
type shownState struct {
	is inventory.State
	// in are the pools of the slices that have it as ready.
	in []string
}

// published returns what is published for each Service by the name of its port, by address. Of an
// address in several slices the best counts, as for kube-proxy.
func (l *local) published() map[string]map[netip.Addr]shownState {
	found := make(map[string]map[netip.Addr]shownState)
	for _, name := range slices.Sorted(maps.Keys(l.objects)) {
		object := l.objects[name]
		pool, key := object.Labels[publish.LabelPool], assign.Key{Namespace: object.Namespace, Service: object.Labels[discoveryv1.LabelServiceName]}
		service := l.services[key.String()]
		if len(object.Endpoints) == 0 || service != nil && *object.Ports[0].Name != service.Ports[0].Name {
			continue
		}
		if found[key.String()] == nil {
			found[key.String()] = make(map[netip.Addr]shownState)
		}
		slice, _ := publish.ToSlice(object, publish.Target{Namespace: key.Namespace, Service: key.Service, SliceName: object.Name, ManagedBy: managedBy, Pool: pool})
		for _, m := range slice.Endpoints {
			s := found[key.String()][m.Address]
			if s.is == inventory.Absent || m.State < s.is {
				s.is = m.State
			}
			if m.State == inventory.StateReady {
				s.in = append(s.in, pool)
			}
			found[key.String()][m.Address] = s
		}
	}
	return found
}

// hub is the API server as one process sees it.
type hub struct{ *local }

func (l *local) hub() controller.Hub {
	l.stores = nil // those of the process before
	return hub{l}
}

// Watch implements controller.Hub: every namespace is watched.
func (hub) Watch(string) {}

// Changed implements controller.Hub.
func (h hub) Changed() <-chan struct{} { return h.changed }

// Run implements controller.Hub.
func (hub) Run(ctx context.Context) error {
	<-ctx.Done()
	return nil
}

// Find implements controller.Hub.
func (hub) Find(context.Context) ([]string, error) { return []string{"shop"}, nil }

// Local implements controller.Hub.
func (h hub) Local() assign.Local {
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	var out assign.Local
	for _, namespace := range []string{"blog", "pay", "shop"} {
		sight := assign.Sight{Namespace: namespace, Complete: true}
		if h.lately(isNotWatched, 0, namespace) {
			sight.Err = errors.New("the watch has sent nothing")
		}
		out.Sights = append(out.Sights, sight)
	}
	for _, key := range slices.Sorted(maps.Keys(h.services)) {
		out.Services = append(out.Services, *h.services[key])
	}
	for _, key := range slices.Sorted(maps.Keys(h.objects)) {
		o := h.objects[key]
		out.Published = append(out.Published, assign.PublishedSlice{
			Key: assign.Key{Namespace: o.Namespace, Service: o.Labels[discoveryv1.LabelServiceName]}, Slice: o.Name, Pool: o.Labels[publish.LabelPool],
			Ports: publish.PortsOf(o), Endpoints: len(o.Endpoints), Changed: publish.ChangedAt(o), Addresses: func() []netip.Addr { return addresses(o) },
		})
	}
	return out
}

// addresses are those of the endpoints of a slice.
func addresses(of *discoveryv1.EndpointSlice) (all []netip.Addr) {
	for _, e := range of.Endpoints {
		all = append(all, netip.MustParseAddr(e.Addresses[0]))
	}
	return all
}

// Open implements controller.Hub.
func (h hub) Open(of publish.Target) (controller.Store, error) {
	h.w.mu.Lock()
	defer h.w.mu.Unlock()
	s := &store{local: h.local, target: of}
	h.local.stores = append(h.local.stores, s)
	return s, nil
}

// store is one target's.
type store struct {
	*local
	target publish.Target
	follow func()
}

// Follow implements controller.Store.
func (s *store) Follow(changed func()) {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	s.follow = changed
}

// Release implements controller.Store.
func (s *store) Release() {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	s.stores = slices.DeleteFunc(s.stores, func(other *store) bool { return other == s })
}

// Load implements writer.Store.
func (s *store) Load(ctx context.Context) (publish.State, error) {
	time.Sleep(s.w.dice("load", s.target.Namespace, s.target.SliceName).odd())
	if err := ctx.Err(); err != nil {
		return publish.State{}, err
	}
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	var service publish.Service
	if found := s.services[s.target.Namespace+"/"+s.target.Service]; found != nil {
		service = found.Service
	}
	var objects []*discoveryv1.EndpointSlice
	for _, o := range s.objects {
		if o.Namespace == s.target.Namespace && o.Labels[discoveryv1.LabelServiceName] == s.target.Service && !s.others(o.Name) {
			objects = append(objects, o)
		}
	}
	state := publish.StateOf(service, objects, s.target)
	if s.lately(isNotWatched, 0, s.target.Namespace) {
		state.Stale = errors.New("the watch has sent nothing")
	}
	return state, nil
}

// others reports whether a slice is that of another store.
func (s *store) others(name string) bool {
	for _, other := range s.stores {
		if _, _, its := other.target.ParseName(name); its && other != s && other.target.Namespace == s.target.Namespace {
			return true
		}
	}
	return false
}

// Write implements writer.Store.
func (s *store) Write(ctx context.Context, write publish.Write) (string, error) {
	r := s.w.dice("write", s.target.Namespace, write.Slice.Name)
	time.Sleep(r.odd())
	s.w.mu.Lock()
	s.writes++
	wait := time.Duration(r.IntN(20))*time.Millisecond + r.odd()
	does := func(kind string) bool {
		return s.lately(kind, 0, s.target.Namespace, s.w.pools[s.target.Pool].part.cluster.name)
	}
	fails, hangs, leavesOut := does(refusesWrites) || write.Operation == publish.Create && does(refusesCreates), r.IntN(2) == 0, does(leavesOut)
	s.check(write)
	s.w.note("write %s/%s begins, fails %v hangs %v", s.target.Namespace, write.Slice.Name, fails, hangs)
	s.w.mu.Unlock()
	if fails && hangs {
		wait = time.Hour
	}
	select {
	case <-ctx.Done():
		time.Sleep(r.odd()) // what began together ends apart: timers of one instant go off in any order
		return "", ctx.Err()
	case <-time.After(wait):
	}
	if fails {
		return "", errors.New("exceeded quota")
	}
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	name := s.target.Namespace + "/" + write.Slice.Name
	base := s.objects[name]
	if err := publish.Fence(base, write, s.target); err != nil {
		return "", err
	}
	object := publish.Apply(base, write, s.target)
	var err error
	if n := len(object.Endpoints); leavesOut && n > 1 {
		object.Endpoints, err = object.Endpoints[:n-1], publish.ErrStoredOtherwise
	}
	s.version++
	object.ResourceVersion = strconv.Itoa(s.version)
	s.objects[name] = object
	s.w.note("wrote %s: %s, %v", name, text(write.Slice.Endpoints), err)
	leave(s.changed)
	return object.ResourceVersion, err
}

// check checks that a write stays within what its team and its pool may do.
func (s *store) check(write publish.Write) {
	w := s.w
	at := slices.IndexFunc(w.wishes, func(of wish) bool { return of.namespace == s.target.Namespace && of.service == s.target.Service })
	if at < 0 {
		w.breach("slice %s/%s is of a Service that no team has", s.target.Namespace, write.Slice.Name)
		return
	}
	of, c := w.wishes[at], w.pools[s.target.Pool].part.cluster
	_, _, its := s.target.ParseName(write.Slice.Name)
	service, pool, _ := strings.Cut(s.target.SliceName, ".")
	if adopted := strings.HasPrefix(s.target.SliceName, adoptedName(of)); !its || !adopted && (service != of.service || w.pools[pool].part.cluster != c) || c.allow[of.namespace] == "" {
		w.breach("slice %s/%s is none of Service %s and pool %s", of.namespace, write.Slice.Name, of.service, s.target.Pool)
	}
	for _, m := range write.Slice.Endpoints {
		if !c.allows(m.Address, of.port) {
			w.breach("%s/%s publishes %s port %d, which pool %s does not have", of.namespace, write.Slice.Name, m.Address, of.port, s.target.Pool)
		}
	}
}

func text(members []inventory.Member) string {
	var words []string
	for _, m := range members {
		words = append(words, fmt.Sprintf("%s=%s", m.Address, m.State))
	}
	return strings.Join(words, " ")
}
