package kube

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/manifest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/redact"
)

// Options says which API server the store is in, and what for.
type Options struct {
	// Config is the access to the API server. It is copied; its limits and
	// time-outs do not apply: see the package's own.
	Config *rest.Config
	Target plan.Target
	// UserAgent is what the API server's audit log calls us; the name of the
	// program by default.
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
	client  *client
	recheck time.Duration
	changed chan struct{}
	view    *view
	service *service
}

// New returns a store that does nothing until Run is called.
func New(options Options) (*Store, error) {
	if options.Config == nil {
		return nil, errors.New("kube store: no configuration of the API server")
	}
	if options.Target.SliceName == "" || options.Target.Service == "" || options.Target.ManagedBy == "" {
		return nil, errors.New("kube store: the target has no slice name, Service or managed-by value")
	}
	if options.UserAgent == "" {
		options.UserAgent = "ionos-endpointslice-controller"
	}
	if options.Recheck <= 0 {
		options.Recheck = 30 * time.Second
	}
	client, err := newClient(options.Config, options.UserAgent, options.Target)
	if err != nil {
		return nil, fmt.Errorf("kube store: %w", err)
	}
	s := &Store{target: options.Target, client: client, recheck: options.Recheck, changed: make(chan struct{}, 1)}
	s.view = newView(options.Target, s.notify)
	s.service = newService(options.Target, s.notify)
	return s, nil
}

// Run watches until ctx ends, and then returns nil; nothing of it is left
// running. Load waits for it, and writes after its end lose their connection,
// so it has to be the last to stop.
func (s *Store) Run(ctx context.Context) error {
	defer s.client.close()
	ctx = silent(ctx)
	var running sync.WaitGroup
	running.Go(func() { s.client.watch(ctx, s.client.slices, s.view, &discoveryv1.EndpointSlice{}) })
	running.Go(func() { s.client.watch(ctx, s.client.services, s.service, newServiceObject()) })
	running.Go(func() { s.recheckStrays(ctx) })
	running.Wait()
	return nil
}

// Changed receives a value when something in Load's answer may have changed by
// another hand than ours.
func (s *Store) Changed() <-chan struct{} { return s.changed }

// Load returns the slices and the Service as they are. It waits for the first
// answer of the watches, and asks the server itself only about slices whose
// last write failed or that vanished from the watch.
func (s *Store) Load(ctx context.Context) (plan.State, error) {
	for _, watch := range []*syncing{&s.view.sync, &s.service.sync} {
		if err := watch.await(ctx); err != nil {
			return plan.State{}, err
		}
	}
	for name, doubt := range s.view.doubtful() {
		if err := s.look(ctx, name); err != nil {
			return plan.State{}, fmt.Errorf("read slice %s again: %w", name, err)
		}
		s.view.resolve(name, doubt)
	}
	state := manifest.State(s.service.get(), s.view.objects(), s.target)
	state.Beside = manifest.Beside(state.Service, s.view.beside())
	return state, nil
}

// Write carries out one write by one request and returns the version that the
// server answers. The error wraps plan.ErrConflict when the slice is not what the
// write was computed from, and plan.ErrUnavailable when the server is.
func (s *Store) Write(ctx context.Context, write plan.Write) (version string, err error) {
	if err := ctx.Err(); err != nil {
		return "", err
	}
	name := write.Slice.Name
	base := s.view.object(name)
	if err := manifest.Fence(base, write, s.target); err != nil {
		s.view.doubt(name)
		return "", err
	}
	s.view.expect(name)
	answer, err := s.client.send(ctx, write.Operation, manifest.Apply(base, write, s.target))
	if err != nil {
		s.view.doubt(name)
		s.view.expected(name, versionOf(base))
		return "", explain(write.Operation, err)
	}
	s.view.learn(name, sight{object: answer, at: answer.ResourceVersion})
	s.view.expected(name, answer.ResourceVersion)
	return answer.ResourceVersion, nil
}

// look asks the server about one slice, whatever its labels say.
func (s *Store) look(ctx context.Context, name string) error {
	seen, err := s.client.look(ctx, name)
	if err != nil {
		return redact.Brief(err)
	}
	s.view.learn(name, seen)
	return nil
}

// recheckStrays looks again, from time to time, at the slices of our names that
// no watch tells about, so that one that goes or is mended is noticed.
func (s *Store) recheckStrays(ctx context.Context) {
	ticker := time.NewTicker(s.recheck)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		for _, name := range s.view.strays() {
			before := s.view.object(name)
			// What cannot be read now is read at the next tick.
			if err := s.look(ctx, name); err == nil && versionOf(before) != versionOf(s.view.object(name)) {
				s.notify()
			}
		}
	}
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
// the slice is not what we believed is a conflict.
func explain(operation plan.Operation, err error) error {
	if denied(err) {
		return redact.Brief(err)
	}
	if apierrors.IsAlreadyExists(err) || apierrors.IsConflict(err) || apierrors.IsNotFound(err) && operation == plan.Update {
		return fmt.Errorf("%w: %w", plan.ErrConflict, redact.Brief(err))
	}
	return redact.Brief(err)
}
