package metrics

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer"
)

// stopped reports whether this process cancelled the call, which is not counted. A
// deadline that passed is a failure.
func stopped(ctx context.Context) bool { return errors.Is(ctx.Err(), context.Canceled) }

// Source returns a source that answers as s does and measures the reads. kind is
// the value of SOURCE_KIND.
func (m *Metrics) Source(kind string, s pool.Source) pool.Source {
	return &source{s, m.readSeconds.WithLabelValues(kind)}
}

type source struct {
	inner   pool.Source
	seconds prometheus.Observer
}

// Read implements pool.Source.
func (s *source) Read(ctx context.Context) ([]inventory.Node, error) {
	start := time.Now()
	nodes, err := s.inner.Read(ctx)
	if err == nil || !stopped(ctx) {
		s.seconds.Observe(time.Since(start).Seconds())
	}
	return nodes, err
}

// Prober returns a prober that answers as p does and counts the results for a pool.
func (m *Metrics) Prober(name string, p pool.Prober) pool.Prober {
	return &prober{inner: p, of: m.pool(name), seconds: m.probeSeconds.WithLabelValues()}
}

type prober struct {
	inner   pool.Prober
	of      *poolCounts
	seconds prometheus.Observer
}

// Check implements pool.Prober. A LocalError says nothing of how long backends
// take to answer.
func (p *prober) Check(ctx context.Context, addr netip.Addr) inventory.Result {
	start := time.Now()
	r := p.inner.Check(ctx, addr)
	if r.Outcome == inventory.LocalError && stopped(ctx) {
		return r
	}
	p.of.probes[r.Outcome].Add(1)
	if r.Outcome != inventory.LocalError {
		p.seconds.Observe(time.Since(start).Seconds())
	}
	return r
}

// Store returns a store that answers as s does and counts the writes, and the
// loads that fail or may be out of date.
func (m *Metrics) Store(s writer.Store) writer.Store { return &store{s, m} }

type store struct {
	inner writer.Store
	m     *Metrics
}

// Load implements writer.Store.
func (s *store) Load(ctx context.Context) (publish.State, error) {
	state, err := s.inner.Load(ctx)
	if cmp.Or(err, state.Stale, state.UnreadErr) != nil && !stopped(ctx) {
		s.m.loads.WithLabelValues().Inc()
	}
	return state, err
}

// Write implements writer.Store.
func (s *store) Write(ctx context.Context, write publish.Write) (version string, err error) {
	start := time.Now()
	version, err = s.inner.Write(ctx, write)
	s.m.writeSeconds.WithLabelValues().Observe(time.Since(start).Seconds())
	result := success
	switch {
	case errors.Is(err, publish.ErrConflict):
		result = conflict
	case err != nil:
		result = failure
	}
	s.m.writes.WithLabelValues(string(write.Operation), result).Inc()
	return version, err
}
