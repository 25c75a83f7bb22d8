package kube

import (
	"errors"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/manifest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
)

// service is what the watch says of the target's Service; the zero plan.Service
// where there is none. It keeps only what matters of it.
type service struct {
	name   string
	notify func()

	freshness freshness

	mu    sync.Mutex
	known plan.Service
}

func newService(target plan.Target, notify func()) *service {
	return &service{name: target.Service, notify: notify, freshness: newFreshness("the Service")}
}

// get returns what is known. The caller owns it.
func (s *service) get() plan.Service {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.known
	known.Ports = slices.Clone(known.Ports)
	return known
}

// Add takes over the Service.
func (s *service) Add(object any) error { return s.Update(object) }

// Update takes over the Service.
func (s *service) Update(object any) error {
	known, ok := object.(*corev1.Service)
	if !ok {
		return errors.New("the watch of the Service brought something else")
	}
	if known.Name == s.name {
		s.set(manifest.ServiceOf(known))
	}
	return nil
}

// Delete forgets the Service.
func (s *service) Delete(any) error {
	s.set(plan.Service{})
	return nil
}

// Replace takes over a complete answer: one Service or none.
func (s *service) Replace(objects []any, _ string) error {
	if len(objects) == 0 {
		s.set(plan.Service{})
	}
	for _, object := range objects {
		if err := s.Update(object); err != nil {
			return err
		}
	}
	s.freshness.synced()
	return nil
}

// Resync has nothing to do: it is never called.
func (s *service) Resync() error { return nil }

// set passes the news on if it is news: a Service's status may change often.
func (s *service) set(known plan.Service) {
	s.mu.Lock()
	news := !s.known.Same(known)
	s.known = known
	s.mu.Unlock()
	if news {
		s.notify()
	}
}
