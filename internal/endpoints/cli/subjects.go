package cli

import (
	"sync"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	event "github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/events"
)

// mostSubjects bounds the Services whose allowance of Events is remembered.
const mostSubjects = 20_000

// subjects are the Services that Events are about.
type subjects struct {
	announcer *event.Announcer
	mu        sync.Mutex
	known     map[assign.Key]*event.Subject
}

func newSubjects(announcer *event.Announcer) *subjects {
	return &subjects{announcer: announcer, known: make(map[assign.Key]*event.Subject)}
}

// of returns the one of a Service.
func (s *subjects) of(key assign.Key) *event.Subject {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known[key] == nil {
		if len(s.known) >= mostSubjects {
			clear(s.known)
		}
		s.known[key] = s.announcer.About(key.Namespace, key.Service)
	}
	return s.known[key]
}
