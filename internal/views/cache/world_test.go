package cache_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/netip"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/cache"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/join"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/pkg/views"
)

// server is what an API server holds, and everything that it ever told its watches.
type server struct {
	revision cache.Revision
	held     [2]map[join.Key]cache.Input
	log      [2][]event
}

type event struct {
	cache.Input

	deleted bool
}

func newServer() *server {
	return &server{revision: 1, held: [2]map[join.Key]cache.Input{{}, {}}}
}

// set writes an object, or deletes it where the input says nothing.
func (s *server) set(kind cache.Kind, in cache.Input, deleted bool) {
	if _, there := s.held[kind][in.Key]; deleted && !there {
		return
	}
	s.revision++
	in.Revision = s.revision
	s.log[kind] = append(s.log[kind], event{in, deleted})
	if deleted {
		delete(s.held[kind], in.Key)
		return
	}
	s.held[kind][in.Key] = in
}

func (s *server) service(name string, port int32, selected bool) {
	key := join.Key{Namespace: "shop", Name: name}
	in := cache.Input{Key: key}
	if selected {
		in.Service = join.ToService(&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: name},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: port}}},
		})
	}
	s.set(cache.Services, in, false)
}

// leaving is added to the number of an endpoint that is terminating and serves.
const leaving = 1 << 16

// slice writes a slice with endpoints by the last number of their address; those
// below zero are not ready.
func (s *server) slice(name, service string, endpoints ...int) {
	object := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "shop", Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: ptr.To(int32(8080))}},
	}
	for _, e := range endpoints {
		conditions := discoveryv1.EndpointConditions{Ready: ptr.To(e > 0)}
		if e > leaving {
			conditions = discoveryv1.EndpointConditions{Ready: ptr.To(false), Serving: ptr.To(true), Terminating: ptr.To(true)}
		}
		object.Endpoints = append(object.Endpoints, discoveryv1.Endpoint{Addresses: []string{address(max(e, -e) % leaving)}, Conditions: conditions})
	}
	s.set(cache.Slices, cache.Input{Key: join.Key{Namespace: "shop", Name: name}, Slice: join.ToSlice(object)}, false)
}

func address(number int) string {
	return "10.0." + strconv.Itoa(number/256) + "." + strconv.Itoa(number%256)
}

func (s *server) gone(kind cache.Kind, name string) {
	s.set(kind, cache.Input{Key: join.Key{Namespace: "shop", Name: name}}, true)
}

// views are the objects that a selection of everything has, in short.
func (s *server) views(ready bool) map[string]string {
	found := map[string]string{}
	for _, one := range s.held[cache.Services] {
		var all []*join.Slice
		for _, slice := range s.held[cache.Slices] {
			if slice.Slice != nil && slice.Slice.Service == one.Key.Name {
				all = append(all, slice.Slice)
			}
		}
		for _, e := range join.Join(one.Service, all) {
			if e.State == views.Ready || !ready {
				found[join.Name(one.Key.Name, &e)] = fmt.Sprint(e.Port.Number, " ", e.State)
			}
		}
	}
	return found
}

// replica is a cache and how far its watches are.
type replica struct {
	*cache.Cache

	server *server
	// scope is that of the objects; a scope before it has none.
	scope int
	next  [2]int // the event that comes next
	// heard says of which kinds the cache has had a list.
	heard [2]bool
	// again says of which kinds the cache wants another list.
	again [2]bool
}

func newReplica(s *server) *replica { return newScoped(s, 0) }

func newScoped(s *server, scope int) *replica {
	r := &replica{server: s, scope: scope}
	r.restart(cache.Services)
	r.sync()
	return r
}

// restart begins anew, with a list of one kind alone.
func (r *replica) restart(kind cache.Kind) {
	r.Cache, r.heard = cache.New(r.scope+1), [2]bool{}
	r.again = [2]bool{}
	r.next = [2]int{len(r.server.log[0]), len(r.server.log[1])}
	r.relist(kind, nil)
}

// sync gives every watch a complete list where one has told none yet.
func (r *replica) sync() {
	if r.Synced() {
		return
	}
	for _, kind := range []cache.Kind{cache.Services, cache.Slices} {
		r.relist(kind, nil)
		for other := range r.scope {
			if err := r.Replace(other, kind, nil, r.server.revision); err != nil {
				panic(err)
			}
		}
	}
}

// relist gives the cache a complete list without the objects that a fault leaves out.
func (r *replica) relist(kind cache.Kind, left map[join.Key]bool) {
	var all []cache.Input
	for key, in := range r.server.held[kind] {
		if !left[key] {
			all = append(all, in)
		}
	}
	r.next[kind], r.heard[kind], r.again[kind] = len(r.server.log[kind]), true, false
	if err := r.Replace(r.scope, kind, all, r.server.revision); err != nil {
		panic(err)
	}
}

// deliver sends the next event of a kind.
func (r *replica) deliver(kind cache.Kind) bool {
	if r.next[kind] == len(r.server.log[kind]) {
		return false
	}
	r.tell(kind, r.server.log[kind][r.next[kind]])
	r.next[kind]++
	return true
}

func (r *replica) tell(kind cache.Kind, e event) {
	takes := r.Set
	if e.deleted {
		takes = r.Delete
	}
	if takes(r.scope, kind, e.Input) {
		r.again[kind] = true
	}
}

// bookmark says that nothing else happened.
func (r *replica) bookmark(kind cache.Kind) {
	if r.next[kind] == len(r.server.log[kind]) {
		for scope := range r.scope + 1 {
			r.Bookmark(scope, kind, r.server.revision)
		}
	}
}

// confirm asks the server about each unconfirmed object that the cache asks about.
func (r *replica) confirm() {
	for _, unconfirmed := range r.Unconfirmed() {
		if !r.Asks(unconfirmed) {
			continue
		}
		if in, there := r.server.held[unconfirmed.Kind][unconfirmed.Key]; there {
			if r.There(unconfirmed, in) {
				r.again[unconfirmed.Kind] = true
			}
		} else {
			r.Gone(unconfirmed)
		}
	}
}

// listAgain brings the lists that the cache wants again.
func (r *replica) listAgain() {
	for _, kind := range []cache.Kind{cache.Services, cache.Slices} {
		if r.again[kind] {
			r.relist(kind, nil)
		}
	}
}

// catchUp delivers everything.
func (r *replica) catchUp() {
	for _, kind := range []cache.Kind{cache.Services, cache.Slices} {
		for r.deliver(kind) {
		}
		r.bookmark(kind)
	}
	r.confirm()
	r.listAgain()
	r.confirm()
}

// client follows a replica as pkg/views does: it goes on by token, and after 410 it
// reads everything and finds out what is gone.
type client struct {
	selection cache.Selection
	reader    *cache.Reader
	has       map[string]string
	// fresh are the objects of a new beginning that is not complete yet; nil after it.
	fresh map[string]string
	token string
	// exact says that no event may repeat: nothing was resumed.
	exact bool
}

func newClient(ready bool) *client {
	return &client{selection: cache.Selection{Namespace: func(string) bool { return true }, Ready: ready}, has: map[string]string{}}
}

// connect goes on at a replica.
func (c *client) connect(r *replica) error {
	reader, err := r.Read(c.selection, c.token)
	if err == cache.ErrExpired { //nolint:errorlint // it is returned as it is
		c.token = ""
		reader, err = r.Read(c.selection, "")
	}
	if err != nil {
		return err
	}
	c.reader, c.exact, c.fresh = reader, c.token == "", nil
	if c.exact {
		c.fresh = map[string]string{}
	}
	return nil
}

// take takes one batch, and says what is wrong with it.
func (c *client) take() error { return c.takes(1000) }

// takes takes at most so many events of a batch. After less than all the connection
// ends: the client has a state of no token, and begins anew.
func (c *client) takes(most int) error {
	if c.reader == nil {
		return nil
	}
	batch, err := c.reader.Next()
	if err != nil {
		c.reader, c.token = nil, ""
		return nil //nolint:nilerr // it begins anew with the next connection
	}
	known := c.has
	if c.fresh != nil {
		known = c.fresh
	}
	if len(batch.Events) > 0 && c.fresh == nil {
		c.token = ""
	}
	for i, e := range batch.Events {
		if i == most {
			c.reader = nil
			return nil
		}
		var object views.EndpointView
		if err := json.Unmarshal(e.Object(), &object); err != nil {
			return err
		}
		name := object.Metadata.Name
		_, had := known[name]
		if c.exact && had == (e.Type == views.Added) {
			return fmt.Errorf("%s of %s, which the client has: %v", e.Type, name, had)
		}
		if e.Type == views.Deleted {
			delete(known, name)
			delete(c.has, name)
			continue
		}
		known[name] = fmt.Sprint(object.Spec.Port, " ", object.Spec.State)
		c.has[name] = known[name]
	}
	if batch.Token != "" {
		c.token = batch.Token
		if c.fresh != nil {
			c.has, c.fresh = maps.Clone(c.fresh), nil
		}
	}
	return nil
}

// listed are the objects of the cache, in short.
func listed(c *cache.Cache, ready bool) map[string]string {
	events, _, err := c.List(newClient(ready).selection)
	if err != nil {
		panic(err)
	}
	found := map[string]string{}
	for _, e := range events {
		var object views.EndpointView
		if err := json.Unmarshal(e.Object(), &object); err != nil {
			panic(err)
		}
		if _, err := netip.ParseAddr(object.Spec.Address); err != nil {
			panic(err)
		}
		found[object.Metadata.Name] = fmt.Sprint(object.Spec.Port, " ", object.Spec.State)
	}
	return found
}

// allSlices are what an empty list leaves out.
func allSlices(s *server) map[join.Key]bool {
	left := map[join.Key]bool{}
	for key := range s.held[cache.Slices] {
		left[key] = true
	}
	return left
}
