package watch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

// missingPause is the longest pause while the API server does not have the kind, before
// jitter.
const missingPause = 10 * time.Second

// EnvoyOptions say which API server is watched, and what is told.
type EnvoyOptions struct {
	Way kube.Way
	// UserAgent is what the API server's audit log calls us.
	UserAgent string
	// Namespaces are those to watch; none for all.
	Namespaces []string
	Fleets     *xds.Fleets
}

// Envoys tells what objects say.
type Envoys struct {
	client *kube.Client
	fleets *xds.Fleets
	scopes []*scope

	mu sync.Mutex
}

// scope is one namespace, or all.
type scope struct {
	source    *Envoys
	namespace string
	// all are its objects; nil before the first list.
	all map[string]object
	// used is how many bytes are kept of each namespace, named of how many Envoys the name alone.
	used, named map[string]int
	// problem is why the API server tells nothing, nil if it does.
	problem error
}

// ErrNoKind says that the API server does not have the kind.
var ErrNoKind = errors.New("the API server has no kind Envoy of " + v1alpha1.GroupName + "; install its definition, or set XDS_WATCH_FLEETS=false")

// NewEnvoys returns a source that does nothing until Run is called.
func NewEnvoys(options EnvoyOptions) (*Envoys, error) {
	client, err := kube.Open(kube.Options{Way: options.Way, UserAgent: options.UserAgent})
	if err != nil {
		return nil, fmt.Errorf("watch Envoys: %w", err)
	}
	s := &Envoys{client: client, fleets: options.Fleets}
	for _, namespace := range scopesOf(options.Namespaces) {
		s.scopes = append(s.scopes, &scope{source: s, namespace: namespace, used: make(map[string]int), named: make(map[string]int)})
	}
	return s, nil
}

// Run watches until ctx ends; nothing of it is left running.
func (s *Envoys) Run(ctx context.Context) {
	defer s.client.Close()
	var running sync.WaitGroup
	for _, one := range s.scopes {
		running.Go(func() { one.run(ctx) })
	}
	running.Wait()
}

// Problem says why the API server tells nothing of fleets; nil if it does, before its first
// answer, and where it is not asked. ErrNoKind is no fault where there are no fleets yet.
func (s *Envoys) Problem() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, one := range s.scopes {
		if one.problem != nil {
			return one.problem
		}
	}
	return nil
}

// run watches one scope until ctx ends.
func (c *scope) run(ctx context.Context) {
	r := &kube.Reflector{
		Client: c.source.client, Resource: kube.Envoys(c.namespace), Object: &v1alpha1.Envoy{},
		Answered: c.answered,
		Longest: func(err error) time.Duration {
			if noKind(err) {
				return missingPause
			}
			return 0
		},
	}
	// What goes or shrinks may leave room for what was refused.
	take := func(how func(object)) func(object) {
		return func(o object) {
			before := c.all[o.name].size
			how(o)
			c.source.tell()
			if c.all[o.name].size < before && c.roomAgain(o.namespace) {
				r.ListAgain()
			}
		}
	}
	r.Store = &kube.Feed[*v1alpha1.Envoy, object]{
		Lock: &c.source.mu, Read: read, Set: take(c.set), Remove: take(c.remove), SetAll: c.replace, Listing: c.listing,
	}
	r.Run(ctx)
}

// answered notes what came of a request. A kind that the API server does not have is as
// good as a list without objects: those that are known stay.
func (c *scope) answered(_ string, err error) {
	if noKind(err) {
		err = ErrNoKind
	}
	s := c.source
	s.mu.Lock()
	defer s.mu.Unlock()
	if c.problem = err; err != nil && !errors.Is(err, ErrNoKind) {
		where := "all namespaces"
		if c.namespace != "" {
			where = "namespace " + c.namespace
		}
		c.problem = fmt.Errorf("watch Envoys of %s: %w", where, err)
	}
	s.fleets.Unread(c.namespace, c.problem)
	if errors.Is(err, ErrNoKind) && c.all == nil {
		c.all = map[string]object{}
		s.tell()
	}
}

// noKind reports whether the API server says that it does not have the kind. Of a kind that
// it has, a list is never missing.
func noKind(err error) bool { return err != nil && apierrors.IsNotFound(err) }

// tell hands on the objects of all scopes, once each of them has told its own.
func (s *Envoys) tell() {
	all := make(map[string]xds.Object)
	for _, one := range s.scopes {
		if one.all == nil {
			return
		}
		for name, o := range one.all {
			all[name] = o.Object
		}
	}
	s.fleets.Replace(all)
}

// object is what an Envoy says.
type object struct {
	namespace, name string
	// own says that it has a control plane of its own, so it says nothing to us.
	own bool
	xds.Object
	// size is about how many bytes are kept of it, also of what it said before where that is
	// in effect. refused is how many there was no room for, 0 where it fits.
	size, refused int
}

// read translates an object.
func read(e *v1alpha1.Envoy) (object, error) {
	o := object{namespace: e.Namespace, name: e.Namespace + "/" + e.Name, own: e.Spec.XDS != nil}
	if o.own {
		return o, nil
	}
	if o.Traffic, o.Problem = envoyconfig.FromObject(e); o.Problem != nil {
		o.Problem = fmt.Errorf("object %s, generation %d: %w", o.name, e.Generation, o.Problem)
		o.Traffic.Listeners, o.size = nil, 2*len(o.Problem.Error())
	}
	o.size += o.Traffic.Size()
	return o, nil
}

// replace takes over a complete list.
func (c *scope) replace(all []object, _ string) error {
	listed := make(map[string]bool, len(all))
	for _, o := range all {
		listed[o.name] = true
	}
	for name, o := range c.all {
		if !listed[name] {
			c.remove(o)
		}
	}
	if c.all == nil {
		c.all = make(map[string]object, len(all))
	}
	// Those that grow least come first, and are kept where there is no room for all.
	growth := func(o object) int { return o.size - c.all[o.name].size }
	slices.SortFunc(all, func(a, b object) int { return cmp.Or(growth(a)-growth(b), strings.Compare(a.name, b.name)) })
	for _, o := range all {
		c.set(o)
	}
	c.source.tell()
	return nil
}
