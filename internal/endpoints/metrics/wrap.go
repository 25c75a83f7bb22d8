package metrics

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	utilnet "k8s.io/apimachinery/pkg/util/net"

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

// The metrics that are counted as things happen.
const (
	readDuration     = prefix + "source_read_duration_seconds"
	probeDuration    = prefix + "health_check_duration_seconds"
	writesTotal      = prefix + "writes_total"
	writeDuration    = prefix + "write_duration_seconds"
	storeErrorsTotal = prefix + "store_errors_total"
	requestsTotal    = "rest_client_requests_total"
)

// measuredFamilies tell how reads and health checks of all pools, and loading and writing
// slices go.
func measuredFamilies() []Family {
	return []Family{
		{
			Name: readDuration, Type: Histogram, Labels: []Label{{Name: "source", Note: "the value of `SOURCE_KIND`"}},
			buckets: []float64{.001, .005, .025, .1, .25, .5, 1, 2.5, 5, 10, 20, 30, 60},
			Help:    "Seconds that reads of sources took, failed ones included.",
		},
		{
			Name: probeDuration, Type: Histogram,
			buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
			Help:    "Seconds that health checks took, without those of outcome LocalError.",
		},
		{
			Name: writesTotal, Type: Counter,
			Labels: []Label{
				{Name: "operation", Values: []string{string(publish.Create), string(publish.Update)}},
				{Name: "result", Values: []string{success, conflict, failure}},
			},
			Help: "Writes of slices, by result. A conflict says that the slice had changed; it is decided again.",
		},
		{
			Name: writeDuration, Type: Histogram,
			buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},
			Help:    "Seconds that writes of slices took, failed ones included.",
		},
		{
			Name: storeErrorsTotal, Type: Counter,
			Help: "Loads of the slices and the Service that failed or may be out of date.",
		},
	}
}

// requestFamilies tell of HTTP requests, under the name that client-go gives them.
func requestFamilies() []Family {
	return []Family{{
		Name: requestsTotal, Type: Counter,
		Labels: []Label{
			label[Client]{"client", []Client{ClientStore, ClientSource, ClientLease, ClientEvents, ClientDocuments}}.closed(),
			{Name: "code", Note: "the status of the answer, `4xx` and the like for one that HTTP does not define, `<error>` where there was no answer"},
			{Name: "method", Note: "the method of HTTP"},
		},
		Help: "HTTP requests, by the part of the program that sent them, by status and method; a watch is one request.",
	}}
}

// Client says which part of the program sends requests.
type Client string

// The clients. ClientSource is that of the remote cluster and of the IONOS Cloud.
const (
	ClientStore  Client = "store"
	ClientSource Client = "source"
	ClientLease  Client = "lease"
	ClientEvents Client = "events"
	// ClientDocuments is that of EndpointPools and EndpointBindings.
	ClientDocuments Client = "documents"
)

// Transport returns what goes around the transport of an HTTP client, such as
// into rest.Config.Wrap, and counts its requests. Nothing else about them
// changes: response and error are those of the transport within.
//
// client-go would report its requests to one recorder for the whole process,
// which can be set only once. A nil Metrics returns nil.
func (m *Metrics) Transport(client Client) func(http.RoundTripper) http.RoundTripper {
	if m == nil {
		return nil
	}
	requests := m.requests.MustCurryWith(prometheus.Labels{"client": string(client)})
	return func(inner http.RoundTripper) http.RoundTripper { return &countingTransport{inner, requests} }
}

type countingTransport struct {
	inner    http.RoundTripper
	requests *prometheus.CounterVec
}

// RoundTrip implements http.RoundTripper.
func (t *countingTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.inner.RoundTrip(request)
	code := noAnswer
	if err == nil {
		code = codeOf(response.StatusCode)
	}
	t.requests.WithLabelValues(code, methodOf(request.Method)).Inc()
	return response, err
}

// WrappedRoundTripper lets client-go find the transport within.
func (t *countingTransport) WrappedRoundTripper() http.RoundTripper { return t.inner }

// CloseIdleConnections passes on to the first transport within that can.
func (t *countingTransport) CloseIdleConnections() { utilnet.CloseIdleConnectionsFor(t.inner) }

// codeOf is the label of a status, of an unknown one its class: a server may send
// any number.
func codeOf(status int) string {
	switch {
	case http.StatusText(status) != "":
		return strconv.Itoa(status)
	case 100 <= status && status < 600:
		return strconv.Itoa(status/100) + "xx"
	}
	return other
}

// methodOf is the label of a method.
func methodOf(method string) string {
	switch method {
	case http.MethodGet, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete, http.MethodHead, http.MethodOptions:
		return method
	case "":
		return http.MethodGet
	}
	return other
}
