package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

// Store is what a hub keeps for one target. Its methods may be called at the same time.
type Store struct {
	hub     *Hub
	scope   *scope
	target  publish.Target
	changed chan struct{}
	// own are the slices of the target's names; the scope's lock guards them, and what follows.
	own map[string]*cachedSlice
	// unlisted says that its slices may be among those that were not kept, until the next list.
	unlisted bool
	// follower is called in place of a value in changed.
	follower func()
}

// Changed receives a value when something in Load's answer may have changed by
// another hand than ours.
func (s *Store) Changed() <-chan struct{} { return s.changed }

// Follow calls a function where Changed would receive a value, so that many stores need
// no goroutine each. The function must not block, and must not call the store.
func (s *Store) Follow(changed func()) {
	s.scope.mu.Lock()
	defer s.scope.mu.Unlock()
	s.follower = changed
	select {
	case <-s.changed:
		changed()
	default:
	}
}

// owns reports whether a slice has a name of the target.
func (s *Store) owns(name string) bool {
	_, _, its := s.target.ParseName(name)
	return its
}

// tell says that something may have changed. The caller has the scope's lock.
func (s *Store) tell() {
	if s.follower != nil {
		s.follower()
		return
	}
	kube.Signal(s.changed)
}

// Release ends the store: the hub forgets the target, and leaves its slices as they
// are. Load and Write must have ended.
func (s *Store) Release() { s.scope.leave(s) }

// Load returns the slices and the Service as they are, or as they were last known
// with the reason in Stale or UnreadErr; an error where one of its slices is not known, or only
// the number of its endpoints, for that is no empty slice. It waits for the first answer of the watches,
// and asks the server itself only about dirty slices.
func (s *Store) Load(ctx context.Context) (publish.State, error) {
	for _, watch := range s.scope.watches() {
		if err := watch.await(ctx); err != nil {
			return publish.State{}, err
		}
	}
	unread, unreadErr := s.readDirty(ctx)
	service, contents, err := s.scope.known(s)
	if err != nil {
		return publish.State{}, err
	}
	objects := make([]*discoveryv1.EndpointSlice, 0, len(contents))
	for _, c := range contents {
		if s.owns(c.Slice) && c.counted {
			return publish.State{}, fmt.Errorf("the endpoints of slice %s are not known: %w", c.Slice, unreadErr)
		}
		object, err := c.unpack()
		if err != nil {
			return publish.State{}, err
		}
		objects = append(objects, object)
	}
	state := publish.StateOf(service, objects, s.target)
	state.Unread, state.UnreadErr, state.Stale = unread, unreadErr, s.scope.stale(time.Now())
	return state, nil
}

// readDirty asks the server about the dirty slices, a few at a time, and returns the
// names of those that it did not answer about in time, sorted, and why not.
func (s *Store) readDirty(ctx context.Context) (unread []string, failed error) {
	var reading sync.WaitGroup
	var mu sync.Mutex
	free := make(chan struct{}, mostReadsOfOne)
	for name, mark := range s.scope.dirty(s) {
		free <- struct{}{}
		reading.Go(func() {
			defer func() { <-free }()
			err := s.read(ctx, name, mark)
			if err == nil {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			unread, failed = append(unread, name), fmt.Errorf("read slice %s again: %w", name, err)
		})
	}
	reading.Wait()
	slices.Sort(unread)
	return unread, failed
}

// read reads one slice, because of a mark, from the server's storage, past every cache.
// It lists instead of getting, for the answer of a list also says at which revision the
// slice was absent.
func (s *Store) read(ctx context.Context, name string, mark int) error {
	select {
	case s.hub.reads <- struct{}{}:
		defer func() { <-s.hub.reads }()
	case <-ctx.Done():
		return ctx.Err()
	}
	object, revision, err := s.whole(ctx, name)
	if err != nil {
		return err
	}
	var is *content
	if object != nil {
		if is, err = pack(object, s.target.ManagedBy); err != nil {
			return err
		}
	}
	s.scope.clean(name, mark, is, revision)
	return nil
}

// whole asks the server for a slice, nil where there is none, and returns the revision at
// which that was so.
func (s *Store) whole(ctx context.Context, name string) (object *discoveryv1.EndpointSlice, revision string, err error) {
	list := &discoveryv1.EndpointSliceList{}
	if err := s.hub.client.List(ctx, kube.EndpointSlices(s.target.Namespace), kube.Named(name), list); err != nil {
		return nil, "", available(err)
	}
	if len(list.Items) > 0 {
		object = &list.Items[0]
	}
	return object, list.ResourceVersion, nil
}

// Write carries out one write by one request and returns the version that the
// server answers. The error wraps publish.ErrConflict when the slice is not what the
// write was computed from, publish.ErrUnavailable when the server is, publish.ErrRefused when the
// server refuses what it says, and publish.ErrStoredOtherwise when it stored something else.
func (s *Store) Write(ctx context.Context, write publish.Write) (version string, err error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	base, is := s.scope.begin(write.Slice.Name), (*content)(nil)
	defer func() { s.scope.end(write.Slice.Name, base, is) }() // also after a panic
	answer, err := s.send(ctx, write, base)
	if err == nil {
		is, err = pack(answer, s.target.ManagedBy)
	}
	if err != nil {
		return "", explain(write.Operation, err)
	}
	return is.version, publish.Stored(answer, write, s.target)
}

// send carries out one write by one request, which is never repeated, so that a
// write is never sent again later than it was decided. Without an error it returns
// the server's answer.
func (s *Store) send(ctx context.Context, write publish.Write, known *content) (*discoveryv1.EndpointSlice, error) {
	base, err := known.unpackHead()
	if known != nil && known.cut { // what others wrote into it is to survive
		base, _, err = s.whole(ctx, write.Slice.Name)
	}
	if err == nil {
		err = publish.Fence(base, write, s.target)
	}
	if err != nil {
		return nil, err
	}
	resource := kube.EndpointSlices(s.target.Namespace)
	object, answer := publish.Apply(base, write, s.target), &discoveryv1.EndpointSlice{}
	if write.Operation == publish.Update {
		err = s.hub.client.Update(ctx, resource, object.Name, object, answer)
	} else {
		err = s.hub.client.Create(ctx, resource, object, answer)
	}
	if err != nil {
		return nil, available(err)
	}
	return answer, nil
}

// available says of an error in the words of package publish whether no slice can be
// written.
func available(err error) error {
	if failed := new(kube.Error); errors.As(err, &failed) && failed.Unavailable {
		return publish.Unavailable(err, failed.RetryAfter)
	}
	return err
}

// explain turns the server's answer to a write into ours: one that says that
// the slice is not what was known is a conflict, one that it is not to be written at all
// a refusal.
func explain(operation publish.Operation, err error) error {
	if kube.Denied(err) || apierrors.IsForbidden(err) || apierrors.IsInvalid(err) || apierrors.IsBadRequest(err) ||
		apierrors.IsRequestEntityTooLargeError(err) {
		return publish.Refused(err)
	}
	if apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) || apierrors.IsNotFound(err) && operation == publish.Update {
		return fmt.Errorf("%w: %w", publish.ErrConflict, err)
	}
	return err
}

// findAtOnce is how many slices one answer to Find has.
const findAtOnce = 500

// Find returns the namespaces of the whole cluster that have slices with our managed-by
// value and a label of a pool, sorted, whether they are watched or not. It asks the
// server, which needs the right to list slices in the whole cluster.
func (h *Hub) Find(ctx context.Context) ([]string, error) {
	found := make(map[string]bool)
	empty := func() runtime.Object { return &discoveryv1.EndpointSlice{} }
	options := metav1.ListOptions{Limit: findAtOnce, LabelSelector: discoveryv1.LabelManagedBy + "=" + h.options.ManagedBy + "," + publish.LabelPool}
	for {
		list, err := h.client.Each(ctx, kube.EndpointSlices(""), options, empty, func(object runtime.Object) runtime.Object {
			if slice, ok := object.(*discoveryv1.EndpointSlice); ok {
				found[slice.Namespace] = true
			}
			return nil
		})
		if err != nil {
			return nil, available(err)
		}
		if options.Continue = list.Continue; options.Continue == "" {
			return slices.Sorted(maps.Keys(found)), nil
		}
	}
}
