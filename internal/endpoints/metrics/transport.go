package metrics

import (
	"net/http"
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

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
	return func(inner http.RoundTripper) http.RoundTripper { return &transport{inner, requests} }
}

type transport struct {
	inner    http.RoundTripper
	requests *prometheus.CounterVec
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	response, err := t.inner.RoundTrip(request)
	code := noAnswer
	if err == nil {
		code = codeOf(response.StatusCode)
	}
	t.requests.WithLabelValues(code, methodOf(request.Method)).Inc()
	return response, err
}

// WrappedRoundTripper lets client-go find the transport within.
func (t *transport) WrappedRoundTripper() http.RoundTripper { return t.inner }

// CloseIdleConnections passes on to the first transport within that can.
func (t *transport) CloseIdleConnections() { utilnet.CloseIdleConnectionsFor(t.inner) }

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
