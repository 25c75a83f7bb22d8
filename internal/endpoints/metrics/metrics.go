package metrics

import (
	"errors"
	"fmt"
	"math"
	"net/http"
	"path"
	"runtime"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

// mostScrapes is how many scrapes are answered at a time; further ones get
// status 503, so that scrapes cannot keep the program busy.
const mostScrapes = 8

// Options are what New needs. The functions are called at every scrape, from any
// goroutine, and must not block; each may be nil.
type Options struct {
	// Registry is where the metrics go; a new one where it is nil.
	Registry *prometheus.Registry
	// Version is that of the program.
	Version string
	// Broken is called with the metrics that cannot be shown, and why, when that changes.
	Broken func(why string)
	// Leading reports whether this process reads, probes and writes. Without it,
	// it does.
	Leading func() bool
	// LoopAge returns how long ago the loop came round last.
	LoopAge func() time.Duration
	// LocalCredential returns how long the API server of the local cluster will accept us,
	// the zero Credential where that is not known.
	LocalCredential func() Credential
	// Snapshot returns what runs and what came of it; DryRun says that nothing is written.
	Snapshot func() *controller.Snapshot
	DryRun   bool
	// UnwrittenStatuses returns of how many objects in the API server the status is not written.
	UnwrittenStatuses func() int
	// Events returns what became of Events so far.
	Events func() Events
}

// Credential is a token or a client certificate.
type Credential struct {
	// Expires is until when it is valid.
	Expires time.Time
	// Lifetime is how long it is valid in all; 0 where that is not known.
	Lifetime time.Duration
}

func (c Credential) expiry() float64 { return unix(c.Expires) }

// lifetime is that of the credential in seconds.
func (c Credential) lifetime() float64 {
	if c.Lifetime <= 0 {
		return math.Inf(1)
	}
	return c.Lifetime.Seconds()
}

// Events counts what became of Events since the start.
type Events struct {
	// Delivered were accepted by the API server, Failed refused or lost, and
	// Dropped never sent, because too many were waiting.
	Delivered, Dropped, Failed uint64
}

// fill sets functions that are nil.
func (o *Options) fill() {
	if o.Registry == nil {
		o.Registry = prometheus.NewRegistry()
	}
	if o.Broken == nil {
		o.Broken = func(string) {}
	}
	unless(&o.Leading, true)
	unless(&o.LoopAge, 0)
	unless(&o.LocalCredential, Credential{})
	unless(&o.Snapshot, &controller.Snapshot{})
	unless(&o.UnwrittenStatuses, 0)
	unless(&o.Events, Events{})
}

// unless sets a function that is nil to one that says the same for ever.
func unless[T any](f *func() T, value T) {
	if *f == nil {
		*f = func() T { return value }
	}
}

// Metrics counts, remembers what it is told, and answers scrapes. Its methods may be called
// at the same time.
type Metrics struct {
	mu sync.Mutex
	// pools are those that are in use, with what no snapshot of the engine has. A pool that no
	// plan has any more is forgotten with the next one.
	pools map[string]*poolCounts
	// plans counts the plans.
	plans uint64
	// sound is when the documents last were without a mistake.
	sound time.Time

	handler http.Handler

	writes, requests, loads                 *prometheus.CounterVec
	readSeconds, probeSeconds, writeSeconds *prometheus.HistogramVec
}

// New registers all metrics. It starts nothing.
func New(opts Options) (*Metrics, error) {
	opts.fill()
	counted := make(map[string]Family)
	values := states{opts: opts}
	for _, f := range Families() {
		if f.sample == nil {
			counted[f.Name] = f
			continue
		}
		values.families, values.descs = append(values.families, f), append(values.descs, prometheus.NewDesc(f.Name, f.Help, f.labelNames(), nil))
	}
	m := &Metrics{
		pools:  make(map[string]*poolCounts),
		writes: counted[writesTotal].newCounter(), requests: counted[requestsTotal].newCounter(), loads: counted[storeErrorsTotal].newCounter(),
		readSeconds: counted[readDuration].newHistogram(), probeSeconds: counted[probeDuration].newHistogram(), writeSeconds: counted[writeDuration].newHistogram(),
	}
	values.metrics = m
	var refused []error
	for _, c := range []prometheus.Collector{
		&values, m.readSeconds, m.probeSeconds, m.writes, m.writeSeconds, m.loads, m.requests,
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
	} {
		refused = append(refused, opts.Registry.Register(c))
	}
	if err := errors.Join(refused...); err != nil {
		return nil, fmt.Errorf("register metrics: %w", err)
	}
	m.handler = transport.Whole(promhttp.HandlerFor(opts.Registry, promhttp.HandlerOpts{
		Registry:            opts.Registry,
		ErrorHandling:       promhttp.ContinueOnError, // one bad metric must not hide all others
		ErrorLog:            &mistakes{tell: opts.Broken},
		EnableOpenMetrics:   true,
		MaxRequestsInFlight: mostScrapes,
	}), mostScrapes)
	return m, nil
}

// Handler answers scrapes.
func (m *Metrics) Handler() http.Handler { return m.handler }

// states reads the families that show a state at the moment of a scrape.
type states struct {
	opts     Options
	metrics  *Metrics
	families []Family
	descs    []*prometheus.Desc
}

// Describe implements prometheus.Collector.
func (s *states) Describe(out chan<- *prometheus.Desc) {
	for _, desc := range s.descs {
		out <- desc
	}
}

// Collect implements prometheus.Collector. All values are of one moment.
func (s *states) Collect(out chan<- prometheus.Metric) {
	now := snapshot{s.opts, s.metrics.look(s.opts, time.Now())}
	for i, f := range s.families {
		kind := prometheus.GaugeValue
		if f.Type == Counter {
			kind = prometheus.CounterValue
		}
		err := sampled(f, now, func(value float64, labels ...string) {
			metric, err := prometheus.NewConstMetric(s.descs[i], kind, value, labels...)
			if err != nil {
				metric = prometheus.NewInvalidMetric(s.descs[i], err)
			}
			out <- metric
		})
		if err != nil {
			out <- prometheus.NewInvalidMetric(s.descs[i], err)
		}
	}
}

// sampled emits the samples of one family, and returns the panic that it ended in, if it
// did: the families after it are shown all the same.
func sampled(f Family, now snapshot, emit emit) (err error) {
	defer func() {
		if defect := recover(); defect != nil {
			err = fmt.Errorf("panic: %v, at %s", defect, panicked())
		}
	}()
	f.sample(now, emit)
	return nil
}

// panicked is the place of the program at which the panic began that is being recovered.
func panicked() string {
	callers := make([]uintptr, 32)
	frames := runtime.CallersFrames(callers[:runtime.Callers(0, callers)])
	began := false
	for {
		frame, more := frames.Next()
		if began && !strings.HasPrefix(frame.Function, "runtime.") || !more {
			return fmt.Sprintf("%s:%d", path.Base(frame.File), frame.Line)
		}
		began = began || frame.Function == "runtime.gopanic"
	}
}

// mistakes tells what is wrong with scrapes, once for as long as the same is wrong.
type mistakes struct {
	tell func(why string)
	mu   sync.Mutex
	last string
}

// Println implements promhttp.Logger.
func (m *mistakes) Println(said ...any) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if text := strings.TrimSpace(fmt.Sprintln(said...)); text != m.last {
		m.last = text
		m.tell(text)
	}
}
