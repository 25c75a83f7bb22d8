//go:build lab

package lab

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/traffic"
)

// Sightings is what happened to the endpoints while requests were sent, as a client sees it
// that connects to each node about once a second.
type Sightings struct {
	// Longest is how long an endpoint stayed ready although it took no connection, and
	// Most how many did at once.
	Longest time.Duration
	Most    int
	// Modes is how long the daemon was in each mode that was not Publish, with its cause.
	Modes map[string]time.Duration

	cluster *Cluster
	dead    map[netip.Addr]time.Time  // since when a ready endpoint takes no connection
	quiet   atomic.Pointer[time.Time] // since when there is no such endpoint, in mode Publish
	stop    chan struct{}
	done    chan struct{}
}

// look is the least time between two looks, and answer how long a node has to accept.
const (
	look   = 250 * time.Millisecond
	answer = time.Second
	// settled is how long nothing happens.
	settled = 20 * time.Second
)

// See looks until [Seen.Stop].
func (c *Cluster) See() *Sightings {
	s := &Sightings{cluster: c, Modes: map[string]time.Duration{}, dead: map[netip.Addr]time.Time{}, stop: make(chan struct{}), done: make(chan struct{})}
	began := time.Now()
	s.quiet.Store(&began)
	go func() {
		defer close(s.done)
		ticker := time.NewTicker(look)
		defer ticker.Stop()
		for before := time.Now(); ; {
			select {
			case <-s.stop:
				return
			case <-ticker.C:
			}
			now := time.Now()
			s.endpoints(now)
			mode := s.mode(now.Sub(before))
			if mode != "Publish" || len(s.dead) > 0 {
				s.quiet.Store(&now)
			}
			before = now
		}
	}()
	return s
}

// endpoints connects to each endpoint that is ready.
func (s *Sightings) endpoints(now time.Time) {
	var mu sync.Mutex
	dead := map[netip.Addr]time.Time{}
	var asking sync.WaitGroup
	for address, state := range s.cluster.States() {
		if state != "ready" {
			continue
		}
		asking.Go(func() {
			if s.cluster.accepts(address) {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			dead[address] = now
			if since, before := s.dead[address]; before {
				dead[address] = since
			}
		})
	}
	asking.Wait()
	// What went meanwhile was ready when it was asked.
	for _, since := range dead {
		s.Longest = max(s.Longest, now.Sub(since))
	}
	s.dead, s.Most = dead, max(s.Most, len(dead))
}

// mode asks the daemon for its mode, which it was in for so long.
func (s *Sightings) mode(took time.Duration) string {
	status, err := s.cluster.Daemon.status()
	if err == nil && status.Mode != "Publish" {
		s.Modes[strings.TrimSpace(status.Mode+" "+status.Reason)] += took
	}
	return status.Mode
}

// Settle returns when every ready endpoint has taken connections for 20 s, in mode
// Publish, or after the limit.
func (s *Sightings) Settle(limit time.Duration) {
	ticker := time.NewTicker(look)
	defer ticker.Stop()
	for began := time.Now(); time.Since(began) < limit && time.Since(*s.quiet.Load()) < settled; <-ticker.C {
	}
}

// accepts connects from the clients' namespace.
func (c *Cluster) accepts(address netip.Addr) bool {
	ctx, cancel := context.WithTimeout(c.t.Context(), answer)
	defer cancel()
	connection, err := netns.Dial(ctx, c.world.clients, "tcp", address.String()+":"+c.Daemon.Env["TARGET_PORT"])
	if err != nil {
		return false
	}
	_ = connection.Close()
	return true
}

// Stop ends it.
func (s *Sightings) Stop() {
	close(s.stop)
	<-s.done
}

// Facts are what was seen, for the report.
func (s *Sightings) Facts() []traffic.Fact {
	var modes []string
	for mode, took := range s.Modes {
		modes = append(modes, fmt.Sprintf("%s for %.0f s", mode, took.Seconds()))
	}
	if len(modes) == 0 {
		modes = []string{"Publish all the time"}
	}
	slices.Sort(modes)
	dead := "none"
	if s.Most > 0 {
		dead = fmt.Sprintf("at most %d at once, one for up to %.1f s", s.Most, s.Longest.Seconds())
	}
	return []traffic.Fact{{Name: "mode", Value: strings.Join(modes, ", ")}, {Name: "dead endpoints that were ready", Value: dead}}
}
