package placement

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

// refusedMax bounds the pause where a right is missing.
const refusedMax = 10 * time.Second

// space is a namespace of the remote cluster in which Services are followed.
type space struct {
	name             string
	slices, services *watched
	ended            chan struct{} // closed when nothing is followed in it any more
	runs             bool          // the Reader's

	mu       sync.Mutex
	followed map[string]*followed
}

// watched is one watch, and what is kept of the objects that it tells of, by their names.
type watched struct {
	kube.Reflector

	parts map[string]part
	// size is how many bytes these are, most how many they may be.
	size, most int
	// listed says that there was a complete list, over that what there is is too much.
	listed, over bool
}

// followed is a Service that is followed.
type followed struct {
	followers map[*Follower]bool
	placement *inventory.Placement
	// nowhere says that it has endpoints, and that none of them names a node.
	nowhere bool
	// told is the problem that its followers were told of.
	told string
}

// tell makes the followers ask again.
func (f *followed) tell() {
	for follower := range f.followers {
		kube.Signal(follower.changed)
	}
}

func newSpace(r *Reader, name string) *space {
	s := &space{name: name, ended: make(chan struct{}), followed: make(map[string]*followed)}
	s.slices = watch(r, s, kube.EndpointSlices(name), &discoveryv1.EndpointSlice{}, ofSlice)
	s.services = watch(r, s, kube.Services(name), &corev1.Service{}, ofService)
	return s
}

// watch makes a watch of objects, of each of which read says what is kept.
func watch[O runtime.Object](r *Reader, s *space, resource kube.Resource, object O, read func(O) part) *watched {
	w := &watched{parts: make(map[string]part), most: r.most}
	w.Reflector = kube.Reflector{
		Client: r.client, Resource: resource, Object: object,
		What: fmt.Sprintf("%s in namespace %s of the remote cluster", resource.Name, s.name),
		Store: &kube.Feed[O, part]{
			Lock: &s.mu, Listing: w.bounded,
			Read:   func(o O) (part, error) { return read(o), nil },
			Set:    func(is part) { s.take(w, is.name, is) },
			Remove: func(was part) { s.take(w, was.name, part{}) },
			SetAll: func(all []part, _ string) error { s.takeAll(w, all); return nil },
		},
		Longest: func(err error) time.Duration {
			if apierrors.IsForbidden(err) {
				return refusedMax
			}
			return 0
		},
	}
	return w
}

// run watches until ctx ends, or until nothing is followed any more.
func (s *space) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	running.Go(func() { s.slices.Run(ctx) })
	running.Go(func() { s.services.Run(ctx) })
	select {
	case <-ctx.Done():
	case <-s.ended:
	}
}

// follow adds a follower.
func (s *space) follow(f *Follower) *followed {
	s.mu.Lock()
	defer s.mu.Unlock()
	one := s.followed[f.service.Name]
	if one == nil {
		one = &followed{followers: make(map[*Follower]bool)}
		s.followed[f.service.Name] = one
		s.join(f.service.Name)
	}
	one.followers[f] = true
	return one
}

// leave removes a follower, and reports whether nothing is followed any more.
func (s *space) leave(f *Follower) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(f.of.followers, f)
	if len(f.of.followers) == 0 {
		delete(s.followed, f.service.Name)
	}
	return len(s.followed) == 0
}

// bounded leaves out of one list what there is no room for.
func (w *watched) bounded() func(part) part {
	size := 0
	return func(p part) part {
		if size += p.size(); size > w.most {
			return part{}
		}
		return p
	}
}

// take takes over what the watch tells of one object; a part without a name is one that is
// gone.
func (s *space) take(w *watched, name string, is part) {
	was := w.parts[name]
	w.size += is.size() - was.size()
	if w.parts[name] = is; is.name == "" {
		delete(w.parts, name)
	}
	if w.size > w.most {
		w.ListAgain()
	}
	s.join(was.service)
	s.join(is.service)
}

// takeAll takes over a complete list, or nothing of one that is too much.
func (s *space) takeAll(w *watched, all []part) {
	clear(w.parts)
	w.size, w.listed = 0, true
	w.over = slices.ContainsFunc(all, func(is part) bool { return is.name == "" })
	if w.over {
		all = nil
	}
	for _, is := range all {
		w.size += is.size()
		w.parts[is.name] = is
	}
	for name := range s.followed {
		s.join(name)
	}
}

// join makes the placement of a Service of what is kept.
func (s *space) join(name string) {
	one := s.followed[name]
	if one == nil {
		return
	}
	var is inventory.Placement
	nameless := false
	for _, w := range []*watched{s.slices, s.services} {
		for _, p := range w.parts {
			if p.service == name {
				is.Ready, is.Ending = append(is.Ready, p.says.Ready...), append(is.Ending, p.says.Ending...)
				is.Found, is.Local = is.Found || p.says.Found, is.Local || p.says.Local
				is.NodePorts = append(is.NodePorts, p.says.NodePorts...)
				nameless = nameless || p.nameless
			}
		}
	}
	is.Ready = sorted(is.Ready)
	is.Ending = slices.DeleteFunc(sorted(is.Ending), func(node string) bool {
		_, ready := slices.BinarySearch(is.Ready, node)
		return ready
	})
	one.nowhere = nameless && len(is.Ready)+len(is.Ending) == 0 && (is.Local || len(is.NodePorts) == 0)
	if one.placement == nil || !reflect.DeepEqual(*one.placement, is) {
		one.placement = &is
		one.tell()
	}
	s.judge(one)
}

// look tells the followers where what is known is not current any more, or is again. It asks
// for a complete list where the last one was too much, or everything is to be listed anew.
func (s *space) look(anew bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range []*watched{s.slices, s.services} {
		if anew || w.over {
			w.ListAgain()
		}
	}
	for _, one := range s.followed {
		s.judge(one)
	}
}

func (s *space) judge(one *followed) {
	text := ""
	if err := s.problem(one); err != nil {
		text = err.Error()
	}
	if text != one.told {
		one.told = text
		one.tell()
	}
}

// problem says why nothing is known of a Service, or nothing that is current.
func (s *space) problem(one *followed) error {
	for _, w := range []*watched{s.slices, s.services} {
		switch _, stale := w.Stale(time.Now().Add(recheck)); {
		case w.over:
			return fmt.Errorf("the %s take more memory than the %d KiB that are allowed; delete those that are not used any more", w.What, w.most>>10)
		case !w.listed:
			return s.remedy(fmt.Errorf("no answer yet to the watch of %s: %w", w.What, cmp.Or(w.Failed(), errors.New("it has just begun"))))
		case stale != nil:
			return s.remedy(stale)
		}
	}
	if one.nowhere {
		return errors.New("its endpoints name no node, as those of a Service without a selector do; remove REMOTE_SERVICE, or follow a Service that selects Pods")
	}
	return nil
}

// remedy adds what somebody has to do.
func (s *space) remedy(err error) error {
	switch {
	case apierrors.IsForbidden(err):
		return inventory.Fault(inventory.ErrUnauthorized, fmt.Errorf("%w; grant the user of SECURED_KUBECONFIG list and watch of endpointslices (discovery.k8s.io) and services in namespace %s", err, s.name))
	case apierrors.IsUnauthorized(err):
		return inventory.Fault(inventory.ErrUnauthorized, fmt.Errorf("%w; the API server does not accept the credentials in SECURED_KUBECONFIG: renew them", err))
	}
	return err
}
