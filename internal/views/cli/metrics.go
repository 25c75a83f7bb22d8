package cli

import (
	"net/http"
	"runtime"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/cache"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/stream"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds"
)

// MetricsOptions are asked at each scrape; they must not wait.
type MetricsOptions struct {
	Version string
	Cache   *cache.Cache
	Server  *stream.Server
	// Stale says since when the cache is not current; a nil error while it is.
	Stale func(time.Time) (time.Time, error)
	// Known is when the API server last accepted a request of every watch; zero where
	// it has not yet.
	Known func() time.Time
	// Requests calls count for each verb and status of requests to the API server.
	Requests func(count func(verb, code string, requests uint64))
	// XDS is what the server of xDS did; nil where it does not run.
	XDS func() xds.Stats
	// Identities says why the newest list of identities is not in effect.
	Identities func() error
}

// mostScrapes is how many scrapes are answered at a time.
const mostScrapes = 8

// MetricsHandler answers scrapes.
func MetricsHandler(opts MetricsOptions) http.Handler {
	registry := prometheus.NewRegistry()
	registry.MustRegister(&collector{opts}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return transport.Whole(promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true, MaxRequestsInFlight: mostScrapes}), mostScrapes)
}

type collector struct{ MetricsOptions }

// Describe implements prometheus.Collector: what there is depends on what happened.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	all := descriptions()
	emit := func(name string, value float64, labels ...string) {
		d := all[name]
		out <- prometheus.MustNewConstMetric(d.desc, d.kind, value, labels...)
	}
	count := func(name string, value uint64, labels ...string) { emit(name, float64(value), labels...) }
	emit("build_info", 1, runtime.Version(), c.Version)
	emit("synced", truth(c.Cache.Synced()))
	for state, n := range c.Cache.States() {
		emit("endpoints", float64(n), string(state))
	}
	count("endpoint_changes_total", c.Cache.Changes())
	emit("unconfirmed_objects", float64(len(c.Cache.Unconfirmed())))
	c.sight(time.Now(), emit)
	c.Requests(func(verb, code string, requests uint64) { count("api_requests_total", requests, code, verb) })
	emit("identities_current", truth(c.Identities() == nil))
	stats := c.Server.Stats()
	emit("streams", float64(stats.Streams))
	for kind, n := range stats.Events {
		count("stream_events_total", n, string(kind))
	}
	for code, n := range stats.Denied {
		count("requests_denied_total", n, strconv.Itoa(code))
	}
	count("streams_expired_total", stats.Expired)
	count("streams_timed_out_total", stats.TimedOut)
	count("streams_resumed_total", stats.Resumed)
	count("lists_total", stats.Lists)
	if c.XDS != nil {
		c.xds(emit, count)
	}
}

// xds emits what clients of xDS were sent.
func (c *collector) xds(emit func(string, float64, ...string), count func(string, uint64, ...string)) {
	stats := c.XDS()
	for protocol, n := range stats.Streams {
		emit("xds_streams", float64(n), string(protocol))
	}
	emit("xds_streams_rejecting", float64(stats.Rejecting))
	for why, n := range stats.Kept {
		emit("xds_fleets_kept", float64(n), string(why))
	}
	for _, of := range stats.Kinds {
		labels := []string{string(of.Protocol), of.Kind.String()}
		count("xds_pushes_total", of.Pushes, labels...)
		count("xds_acknowledgements_total", of.Acks, labels...)
		count("xds_rejections_total", of.Rejections, labels...)
	}
	count("xds_denied_total", stats.Denied)
	count("xds_steps_unacknowledged_total", stats.Unacknowledged)
}

// sight emits whether the watches are current.
func (c *collector) sight(now time.Time, emit func(string, float64, ...string)) {
	stale := 0.0
	if since, err := c.Stale(now); err != nil {
		stale = now.Sub(since).Seconds()
	}
	emit("stale_seconds", stale)
	if known := c.Known(); !known.IsZero() {
		emit("watch_age_seconds", now.Sub(known).Seconds())
	}
}

func truth(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
