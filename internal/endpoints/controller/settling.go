package controller

import (
	"log/slog"
	"sync"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer"
)

// settling tells when all Services are filled, which is when the endpoints of their
// pools were checked and their slices are as decided: after a start, and after Services
// came. While nothing works in a pool, it waits for that.
type settling struct {
	log *slog.Logger

	mu sync.Mutex
	// open are the pools whose slices in a Service were not as decided yet.
	open     map[assign.Key]map[string]bool
	services map[assign.Key]bool
	// since is when the first of the open ones came.
	since time.Time
}

func newSettling(log *slog.Logger) *settling {
	return &settling{log: log, open: make(map[assign.Key]map[string]bool), services: make(map[assign.Key]bool)}
}

// expect waits for a Service.
func (s *settling) expect(key assign.Key, fills []fill) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) == 0 {
		s.since = time.Now()
	}
	s.services[key], s.open[key] = true, make(map[string]bool, len(fills))
	for _, each := range fills {
		if each.phase != writer.Emptied {
			s.open[key][each.of.SliceName] = true
		}
	}
	if len(s.open[key]) == 0 {
		delete(s.open, key)
	}
}

// forget waits for a Service no longer.
func (s *settling) forget(key assign.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.services, key)
	s.close(key)
}

// take takes in an outcome. In a dry run it is enough that the slices were planned.
func (s *settling) take(key assign.Key, dryRun bool, o writer.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	pools := s.open[key]
	if !pools[o.SliceName] || !o.Checked || o.Pending > 0 && !dryRun {
		return
	}
	if delete(pools, o.SliceName); len(pools) == 0 {
		s.close(key)
	}
}

// close notes that nothing is open for a Service, and tells if that was the last one.
func (s *settling) close(key assign.Key) {
	if _, was := s.open[key]; !was {
		return
	}
	if delete(s.open, key); len(s.open) == 0 && len(s.services) > 0 {
		s.log.Info("the slices of all Services are as decided", "services", len(s.services), "after", time.Since(s.since).Round(time.Millisecond).String())
	}
}
