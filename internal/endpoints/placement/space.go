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
	name    string
	watches []*objectWatch
	ended   chan struct{} // closed when nothing is followed in it any more
	runs    bool          // Run's

	mu        sync.Mutex
	followers map[*Follower]bool
}

// objectWatch is one watch, and what is kept of the objects that it tells of, by their names.
type objectWatch struct {
	kube.Reflector

	parts map[string]part
	// size is how many bytes these are, most how many they may be.
	size, most int
	// listed says that there was a complete list, over that what there is is too much.
	listed, over bool
}

func newSpace(r *Reader, name string) *space {
	s := &space{name: name, ended: make(chan struct{}), followers: make(map[*Follower]bool)}
	s.watches = []*objectWatch{
		watch(r, s, kube.EndpointSlices(name), &discoveryv1.EndpointSlice{}, ofSlice),
		watch(r, s, kube.Services(name), &corev1.Service{}, ofService),
	}
	return s
}

// watch makes a watch of objects, of each of which read says what is kept.
func watch[O runtime.Object](r *Reader, s *space, resource kube.Resource, object O, read func(O) part) *objectWatch {
	w := &objectWatch{parts: make(map[string]part), most: r.most}
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
	for _, w := range s.watches {
		running.Go(func() { w.Run(ctx) })
	}
	select {
	case <-ctx.Done():
	case <-s.ended:
	}
}

// bounded leaves out of one list what there is no room for.
func (w *objectWatch) bounded() func(part) part {
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
func (s *space) take(w *objectWatch, name string, is part) {
	was := w.parts[name]
	w.size += is.size() - was.size()
	if w.parts[name] = is; is.name == "" {
		delete(w.parts, name)
	}
	if w.size > w.most {
		w.ListAgain()
	}
	for f := range s.followers {
		if f.service.Name == was.service || f.service.Name == is.service {
			f.join()
		}
	}
}

// takeAll takes over a complete list, or nothing of one that is too much.
func (s *space) takeAll(w *objectWatch, all []part) {
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
	for f := range s.followers {
		f.join()
	}
}

// join makes the placement of what is kept.
func (f *Follower) join() {
	var is inventory.Placement
	nameless := false
	for _, w := range f.space.watches {
		for _, p := range w.parts {
			if p.service == f.service.Name {
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
	f.nowhere = nameless && len(is.Ready)+len(is.Ending) == 0 && (is.Local || len(is.NodePorts) == 0)
	if f.placement == nil || !reflect.DeepEqual(*f.placement, is) {
		f.placement = &is
		kube.Signal(f.changed)
	}
	f.judge()
}

// look tells the followers where what is known is not current any more, or is again. It asks
// for a complete list where the last one was too much, or everything is to be listed anew.
func (s *space) look(anew bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, w := range s.watches {
		if anew || w.over {
			w.ListAgain()
		}
	}
	for f := range s.followers {
		f.judge()
	}
}

// judge tells of a problem that is another one than before, or is over.
func (f *Follower) judge() {
	text := ""
	if err := f.problem(); err != nil {
		text = err.Error()
	}
	if text != f.told {
		f.told = text
		kube.Signal(f.changed)
	}
}

// problem says why nothing is known of the Service, or nothing that is current.
func (f *Follower) problem() error {
	for _, w := range f.space.watches {
		switch _, stale := w.Stale(time.Now().Add(recheck)); {
		case w.over:
			return fmt.Errorf("the %s take more memory than the %d KiB that are allowed; delete those that are not used any more", w.What, w.most>>10)
		case !w.listed:
			return f.space.remedy(fmt.Errorf("no answer yet to the watch of %s: %w", w.What, cmp.Or(w.Failed(), errors.New("it has just begun"))))
		case stale != nil:
			return f.space.remedy(stale)
		}
	}
	if f.nowhere {
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
