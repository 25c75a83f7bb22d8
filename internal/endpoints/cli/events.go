package cli

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	event "github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/events"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/metrics"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// manyNotices is how many notices of many Services may wait: one for each that a team
// makes at once, and for each that may not be filled when a process starts.
const manyNotices = 4096

// events are the Events on Services. There are none in a dry run, none where
// there is no API server, and none where err says why.
type events struct {
	announcer *event.Announcer
	err       error
	log       *slog.Logger
}

// newEvents makes the announcer. An error is kept until the daemon runs, and then
// logged: without Events the program still works.
func newEvents(c settings.Config, dryRun bool, log *slog.Logger, m *metrics.Metrics) *events {
	e := &events{log: log}
	if c.Store.Kind != settings.StoreMemory && !dryRun {
		e.announcer, e.err = newAnnouncer(c, log, m)
	}
	return e
}

func newAnnouncer(c settings.Config, log *slog.Logger, m *metrics.Metrics) (*event.Announcer, error) {
	client, err := kube.Open(kube.Options{Way: localWay(c.Store, m, metrics.ClientEvents), UserAgent: event.Controller})
	if err != nil {
		return nil, err
	}
	// Inside of a Pod this is the Pod's name.
	host, err := os.Hostname()
	if err != nil {
		return nil, fmt.Errorf("name of this host: %w", err)
	}
	options := event.Options{Client: client, Instance: host, Trouble: func(err error) { tellTrouble(log, err) }}
	if c.Documents.Used() {
		options.Queue = manyNotices
	}
	return event.New(options), nil
}

// tellTrouble logs that Events are not delivered, or that they are again.
func tellTrouble(log *slog.Logger, err error) {
	if err != nil {
		log.Warn("events are not delivered, everything else works", "error", err)
		return
	}
	log.Info("events are delivered again")
}

// during delivers while do runs, and for a moment afterwards what it announced
// last.
func (e *events) during(ctx context.Context, do func(context.Context) error) error {
	if e.err != nil {
		tellTrouble(e.log, e.err)
	}
	if e.announcer == nil {
		return do(ctx)
	}
	doing := func(context.Context) error { return do(ctx) }
	return beside(context.WithoutCancel(ctx), doing, func(ctx context.Context) { _ = e.announcer.Run(ctx) }) // it only ends with its context
}

// counts says what became of the Events, for the metrics.
func (e *events) counts() metrics.Events {
	if e == nil || e.announcer == nil {
		return metrics.Events{}
	}
	return metrics.Events(e.announcer.Stats())
}

// mostSubjects bounds the Services whose allowance of Events is remembered.
const mostSubjects = 20_000

// subjects are the Services that Events are about.
type subjects struct {
	announcer *event.Announcer
	mu        sync.Mutex
	known     map[assign.Key]*event.Subject
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
