package cli

import (
	"fmt"
	"log/slog"
	"os"
	"sync"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	event "github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/events"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/metrics"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// manyNotices is how many notices of many Services may wait: one for each that a team
// makes at once, and for each that may not be filled when a process starts.
const manyNotices = 4096

// newEvents makes what delivers Events on Services. There is none in a dry run, none where there is
// no API server, and none where it cannot be made: without Events the program still works.
func newEvents(c settings.Config, dryRun bool, log *slog.Logger, m *metrics.Metrics) *event.Announcer {
	if c.Store.Kind == settings.StoreMemory || dryRun {
		return nil
	}
	announcer, err := newAnnouncer(c, log, m)
	if err != nil {
		tellTrouble(log, err)
	}
	return announcer
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

// mostSubjects bounds the Services whose allowance of Events is remembered.
const mostSubjects = 20_000

// announcing returns what makes a notice known at a Service.
func (b *parts) announcing() func(assign.Key, explain.Notice) {
	if b.events == nil {
		return nil
	}
	var mu sync.Mutex
	known := make(map[assign.Key]*event.Subject)
	about := func(key assign.Key) *event.Subject {
		mu.Lock()
		defer mu.Unlock()
		if known[key] == nil {
			if len(known) >= mostSubjects {
				clear(known)
			}
			known[key] = b.events.About(key.Namespace, key.Service)
		}
		return known[key]
	}
	return func(key assign.Key, notice explain.Notice) { about(key).Announce(notice) }
}
