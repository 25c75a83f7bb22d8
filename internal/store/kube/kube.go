package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kubeapi"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/manifest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
)

// mostReads is how many slices are read at the same time.
const mostReads = 8

// Options says which API server the store is in, and what for.
type Options struct {
	// Way is the access to the API server.
	Way    kubeapi.Way
	Target plan.Target
	// UserAgent is what the API server's audit log calls us; see kubeapi.Options.
	UserAgent string
	// Recheck is the time between two reads of a slice of our name that the
	// watch cannot see, because its label kubernetes.io/service-name is not the
	// target's; 30 s by default. There is no such read where there is no such
	// slice.
	Recheck time.Duration
}

// Store keeps the slices of one target. Its methods may be called at the same
// time.
type Store struct {
	target  plan.Target
	client  *kubeapi.Client
	recheck time.Duration
	changed chan struct{}
	slices  *sliceCache
	service *service
}

// New returns a store that does nothing until Run is called. It reads the access,
// so that one that cannot be used is told at once.
func New(options Options) (*Store, error) {
	if options.Target.SliceName == "" || options.Target.Service == "" || options.Target.ManagedBy == "" {
		return nil, errors.New("kube store: the target has no slice name, Service or managed-by value")
	}
	if options.Recheck <= 0 {
		options.Recheck = 30 * time.Second
	}
	client, err := kubeapi.New(kubeapi.Options{Way: options.Way, UserAgent: options.UserAgent})
	if err == nil {
		err = client.Refresh()
	}
	if err != nil {
		return nil, fmt.Errorf("kube store: %w", err)
	}
	s := &Store{target: options.Target, client: client, recheck: options.Recheck, changed: make(chan struct{}, 1)}
	s.slices = newSliceCache(options.Target, s.notify)
	s.service = newService(options.Target, s.notify)
	return s, nil
}

// Run watches until ctx ends, and then returns nil; nothing of it is left
// running. Load waits for it, and writes after its end lose their connection,
// so it has to be the last to stop.
func (s *Store) Run(ctx context.Context) error {
	defer s.client.Close()
	endpoints := watched{
		resource: kubeapi.EndpointSlices(s.target.Namespace), selection: ofService(s.target.Service),
		object: &discoveryv1.EndpointSlice{}, list: func() runtime.Object { return &discoveryv1.EndpointSliceList{} },
	}
	service := watched{
		resource: kubeapi.Services(s.target.Namespace), selection: kubeapi.Named(s.target.Service),
		object: &corev1.Service{}, list: func() runtime.Object { return &corev1.ServiceList{} },
	}
	var running sync.WaitGroup
	running.Go(func() { endpoints.run(ctx, s.client, s.slices, &s.slices.freshness) })
	running.Go(func() { service.run(ctx, s.client, s.service, &s.service.freshness) })
	running.Go(func() { s.tick(ctx) })
	running.Wait()
	return nil
}

// Expiry returns when the credential in use ends.
func (s *Store) Expiry() kubeapi.Expiry { return s.client.Expiry() }

// Changed receives a value when something in Load's answer may have changed by
// another hand than ours.
func (s *Store) Changed() <-chan struct{} { return s.changed }

// Load returns the slices and the Service as they are, or as they were last known
// with the reason in Stale. It waits for the first answer of the watches, and asks
// the server itself only about dirty slices.
func (s *Store) Load(ctx context.Context) (plan.State, error) {
	for _, watch := range s.watches() {
		if err := watch.await(ctx); err != nil {
			return plan.State{}, err
		}
	}
	unread, err := s.readDirty(ctx)
	objects, beside := s.slices.known()
	state := manifest.State(s.service.get(), objects, s.target)
	state.Beside = manifest.Beside(state.Service, beside)
	state.Unread, state.Stale = unread, s.stale(time.Now())
	if state.Stale == nil {
		state.Stale = err
	}
	return state, nil
}

// readDirty asks the server about the dirty slices, a few at a time, and returns the
// names of those that it did not answer about in time, sorted, and why not.
func (s *Store) readDirty(ctx context.Context) (unread []string, failed error) {
	var reading sync.WaitGroup
	var mu sync.Mutex
	free := make(chan struct{}, mostReads)
	for name, mark := range s.slices.dirty() {
		free <- struct{}{}
		reading.Go(func() {
			defer func() { <-free }()
			object, revision, err := s.read(ctx, name)
			if err == nil {
				s.slices.clean(name, mark, object, revision)
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

func (s *Store) watches() []*freshness {
	return []*freshness{&s.slices.freshness, &s.service.freshness}
}

// stale says which watch is not current, nil if both are.
func (s *Store) stale(now time.Time) error {
	for _, watch := range s.watches() {
		if err := watch.stale(now); err != nil {
			return err
		}
	}
	return nil
}

// tick passes on that a watch is no longer current, or is so again, and has the slices
// read from time to time that no watch tells of.
func (s *Store) tick(ctx context.Context) {
	second, recheck := time.NewTicker(time.Second), time.NewTicker(s.recheck)
	defer second.Stop()
	defer recheck.Stop()
	for was := false; ; {
		select {
		case <-ctx.Done():
			return
		case now := <-second.C:
			if is := s.stale(now) != nil; is != was {
				was = is
				s.notify()
			}
		case <-recheck.C:
			s.slices.markUnselected()
		}
	}
}

// Write carries out one write by one request and returns the version that the
// server answers. The error wraps plan.ErrConflict when the slice is not what the
// write was computed from, and plan.ErrUnavailable when the server is.
func (s *Store) Write(ctx context.Context, write plan.Write) (version string, err error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	base := s.slices.begin(write.Slice.Name)
	answer, err := s.send(ctx, write, base)
	s.slices.end(write.Slice.Name, base, answer)
	if err != nil {
		return "", explain(write.Operation, err)
	}
	return answer.ResourceVersion, nil
}

// notify leaves one value in the channel, however much happens before it is
// taken.
func (s *Store) notify() {
	select {
	case s.changed <- struct{}{}:
	default:
	}
}

// explain turns the server's answer to a write into ours: one that says that
// the slice is not what was known is a conflict.
func explain(operation plan.Operation, err error) error {
	if kubeapi.Denied(err) {
		return err
	}
	if apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) || apierrors.IsNotFound(err) && operation == plan.Update {
		return fmt.Errorf("%w: %w", plan.ErrConflict, err)
	}
	return err
}
