package metrics

import (
	"cmp"
	"context"
	"errors"
	"net/netip"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/syncer"
)

// stopped reports whether this process cancelled the call, which is not counted. A
// deadline that passed is a failure.
func stopped(ctx context.Context) bool { return errors.Is(ctx.Err(), context.Canceled) }

// Source returns a source that answers as s does and counts the reads. kind is
// the value of SOURCE_KIND.
func (m *Metrics) Source(kind string, s syncer.Source) syncer.Source {
	return &source{
		inner: s, seconds: m.readSeconds.WithLabelValues(kind),
		good: m.reads.WithLabelValues(kind, success), bad: m.reads.WithLabelValues(kind, failure),
	}
}

type source struct {
	inner     syncer.Source
	good, bad prometheus.Counter
	seconds   prometheus.Observer
}

// Read implements syncer.Source.
func (s *source) Read(ctx context.Context) ([]inventory.Node, error) {
	start := time.Now()
	nodes, err := s.inner.Read(ctx)
	switch {
	case err == nil:
		s.good.Inc()
	case stopped(ctx):
		return nodes, err
	default:
		s.bad.Inc()
	}
	s.seconds.Observe(time.Since(start).Seconds())
	return nodes, err
}

// Prober returns a prober that answers as p does and counts the results.
func (m *Metrics) Prober(p syncer.Prober) syncer.Prober {
	return &prober{inner: p, results: m.probes, seconds: m.probeSeconds}
}

type prober struct {
	inner   syncer.Prober
	results *prometheus.CounterVec
	seconds prometheus.Observer
}

// Check implements syncer.Prober. A LocalError says nothing of how long backends
// take to answer.
func (p *prober) Check(ctx context.Context, addr netip.Addr) inventory.Result {
	start := time.Now()
	r := p.inner.Check(ctx, addr)
	if r.Outcome == inventory.LocalError && stopped(ctx) {
		return r
	}
	p.results.WithLabelValues(r.Outcome.String()).Inc()
	if r.Outcome != inventory.LocalError {
		p.seconds.Observe(time.Since(start).Seconds())
	}
	return r
}

// Store returns a store that answers as s does and counts the writes, and the
// loads that fail or may be out of date.
func (m *Metrics) Store(s syncer.Store) syncer.Store { return &store{s, m} }

type store struct {
	inner syncer.Store
	m     *Metrics
}

// Load implements syncer.Store.
func (s *store) Load(ctx context.Context) (plan.State, error) {
	state, err := s.inner.Load(ctx)
	if cmp.Or(err, state.Stale, state.UnreadErr) != nil && !stopped(ctx) {
		s.m.loads.Inc()
	}
	return state, err
}

// Write implements syncer.Store.
func (s *store) Write(ctx context.Context, write plan.Write) (version string, err error) {
	start := time.Now()
	version, err = s.inner.Write(ctx, write)
	s.m.writeSeconds.Observe(time.Since(start).Seconds())
	result := success
	switch {
	case errors.Is(err, plan.ErrConflict):
		result = conflict
		s.m.conflicts.Inc()
	case err != nil:
		result = failure
	}
	s.m.writes.WithLabelValues(string(write.Operation), result).Inc()
	return version, err
}
