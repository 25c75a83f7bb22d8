package metrics_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/metrics"
)

// send sends one request by the client and returns the status, 0 for none.
func send(t *testing.T, client *http.Client, method, url string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := client.Do(request)
	if err != nil {
		return 0
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode
}

func TestRequestsAreCountedByClientStatusAndMethod(t *testing.T) {
	m, shown := newMetrics(t)
	status := 200
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
	store := &http.Client{Transport: m.Transport(metrics.ClientStore)(http.DefaultTransport)}
	source := &http.Client{Transport: m.Transport(metrics.ClientSource)(http.DefaultTransport)}
	for _, answer := range []int{200, 200, 409, 499, 599, 503, 777} {
		status = answer
		if got := send(t, store, http.MethodPut, server.URL+"/secret/10.0.0.1"); got != answer {
			t.Errorf("got %d, want %d", got, answer)
		}
	}
	status = 200
	send(t, source, "", server.URL)
	send(t, source, "BREW-10.0.0.1", server.URL)
	server.Close()
	send(t, source, http.MethodGet, server.URL)
	got := map[string]float64{}
	for series, value := range shown() {
		if name, labels, ok := strings.Cut(series, "{"); ok && name == "rest_client_requests_total" {
			got[labels] = value
		}
	}
	for labels, value := range map[string]float64{
		`client="store",code="200",method="PUT"}`: 2, `client="store",code="409",method="PUT"}`: 1, `client="store",code="4xx",method="PUT"}`: 1,
		`client="store",code="5xx",method="PUT"}`: 1, `client="store",code="503",method="PUT"}`: 1, `client="store",code="other",method="PUT"}`: 1,
		`client="source",code="200",method="GET"}`: 1, `client="source",code="200",method="other"}`: 1, `client="source",code="<error>",method="GET"}`: 1,
	} {
		if got[labels] != value {
			t.Errorf("%s: got %v, want %v", labels, got[labels], value)
		}
		delete(got, labels)
	}
	if len(got) > 0 {
		t.Errorf("got %v in addition", got)
	}
}

// inner is a transport that says what it is asked.
type inner struct {
	response *http.Response
	err      error
	seen     *http.Request
	closed   int
}

func (i *inner) RoundTrip(request *http.Request) (*http.Response, error) {
	i.seen = request
	return i.response, i.err
}

func (i *inner) CloseIdleConnections() { i.closed++ }

// wrapper is one of client-go's, which only says what it wraps.
type wrapper struct{ http.RoundTripper }

func (w wrapper) WrappedRoundTripper() http.RoundTripper { return w.RoundTripper }

func TestATransportPassesEverythingOn(t *testing.T) {
	m, _ := newMetrics(t)
	wrap := m.Transport(metrics.ClientLease)
	base := &inner{response: &http.Response{StatusCode: http.StatusTeapot}}
	request := httptest.NewRequest(http.MethodGet, "http://h/", http.NoBody)
	response, err := wrap(base).RoundTrip(request) //nolint:bodyclose // it has none
	if response != base.response || err != nil || base.seen != request {
		t.Errorf("got %v, %v and another request, want what is within", response, err)
	}
	base.response, base.err = nil, errOutage
	if response, err := wrap(base).RoundTrip(request); response != nil || !errors.Is(err, errOutage) { //nolint:bodyclose // it has none
		t.Errorf("got %v and %v, want the error within", response, err)
	}
	outer, ok := wrap(base).(utilnet.RoundTripperWrapper)
	if !ok || outer.WrappedRoundTripper() != http.RoundTripper(base) {
		t.Error("client-go does not find the transport within")
	}
	(&http.Client{Transport: wrap(base)}).CloseIdleConnections()
	(&http.Client{Transport: wrap(wrapper{wrapper{base}})}).CloseIdleConnections()
	utilnet.CloseIdleConnectionsFor(wrapper{wrap(base)})
	(&http.Client{Transport: wrap(struct{ http.RoundTripper }{base})}).CloseIdleConnections()
	if base.closed != 3 {
		t.Errorf("got %d calls to close idle connections, want the 3 that can arrive", base.closed)
	}
	if (*metrics.Metrics)(nil).Transport(metrics.ClientStore) != nil {
		t.Error("nothing is counted, but something is wrapped")
	}
}

// A watch is counted when it begins, and what it sends passes at once.
func TestAStreamPassesAsItComes(t *testing.T) {
	m, shown := newMetrics(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "first")
		_ = http.NewResponseController(w).Flush()
		<-r.Context().Done()
	}))
	t.Cleanup(server.Close)
	ctx, stop := context.WithTimeout(t.Context(), 30*time.Second)
	defer stop()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, server.URL, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: m.Transport(metrics.ClientStore)(&http.Transport{DialContext: (&net.Dialer{}).DialContext})}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	first := make([]byte, 5)
	if _, err := io.ReadFull(response.Body, first); err != nil || string(first) != "first" {
		t.Errorf("got %q and %v, want what was sent", first, err)
	}
	if got := shown()[`rest_client_requests_total{client="store",code="200",method="GET"}`]; got != 1 {
		t.Errorf("got %v requests while the watch is open, want 1", got)
	}
}
