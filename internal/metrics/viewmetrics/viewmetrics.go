// Package viewmetrics counts what endpoint-views does. In: functions that are asked at
// each scrape. Out: what Prometheus reads. No metric names a Service or an address.
package viewmetrics

import (
	"net/http"
	"runtime"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/viewcache"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/viewserver"
)

// Options are asked at each scrape; they must not wait.
type Options struct {
	Version string
	Cache   *viewcache.Cache
	Server  *viewserver.Server
	// Stale says since when the cache is not current; a nil error while it is.
	Stale func(time.Time) (time.Time, error)
	// Identities says why the newest list of identities is not in effect.
	Identities func() error
}

// mostScrapes is how many scrapes are answered at a time.
const mostScrapes = 8

const prefix = "endpoint_views_"

// Handler answers scrapes.
func Handler(opts Options) (http.Handler, error) {
	registry := prometheus.NewRegistry()
	for _, c := range []prometheus.Collector{
		&collector{opts}, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	} {
		if err := registry.Register(c); err != nil {
			return nil, err
		}
	}
	return promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true, MaxRequestsInFlight: mostScrapes}), nil
}

type collector struct{ Options }

// Describe implements prometheus.Collector: what there is depends on what happened.
func (c *collector) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	gauge := func(name, help string, value float64, labels ...string) {
		emit(out, prometheus.GaugeValue, name, help, value, labels)
	}
	counter := func(name, help string, value uint64, labels ...string) {
		emit(out, prometheus.CounterValue, name, help, float64(value), labels)
	}
	gauge("build_info", "Always 1; the labels say what runs.", 1, "version", c.Version, "goversion", runtime.Version())
	gauge("synced", "1 when every watch has told a complete list.", truth(c.Cache.Synced()))
	gauge("endpoints", "Endpoints that are shown, of all states.", float64(c.Cache.Count()))
	gauge("suspects", "Services and slices that a list of the API server left out and that are kept until it confirms that they are gone.", float64(len(c.Cache.Suspects())))
	now := time.Now()
	stale := 0.0
	if since, err := c.Stale(now); err != nil {
		stale = now.Sub(since).Seconds()
	}
	gauge("stale_seconds", "Seconds since a watch of the API server has told anything; 0 while all are current.", stale)
	gauge("identities_current", "1 while the newest list of identities is in effect, 0 while it has a mistake.", truth(c.Identities() == nil))
	stats := c.Server.Stats()
	gauge("clients", "Streams that are open.", float64(stats.Clients))
	for kind, n := range stats.Events {
		counter("events_total", "Events sent, by type.", n, "type", string(kind))
	}
	for code, n := range stats.Refused {
		counter("refused_total", "Requests that were refused, by HTTP status.", n, "code", strconv.Itoa(code))
	}
	counter("expired_total", "Streams that ended with 410.", stats.Expired)
	counter("resumed_total", "Streams that went on from a token.", stats.Resumed)
	counter("lists_total", "Lists sent.", stats.Lists)
}

// emit hands on one value; labels are names and values in turn.
func emit(out chan<- prometheus.Metric, kind prometheus.ValueType, name, help string, value float64, labels []string) {
	var names, values []string
	for i := 0; i+1 < len(labels); i += 2 {
		names, values = append(names, labels[i]), append(values, labels[i+1])
	}
	out <- prometheus.MustNewConstMetric(prometheus.NewDesc(prefix+name, help, names, nil), kind, value, values...)
}

func truth(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
