package kube_test

import (
	"errors"
	"net"
	"net/http"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

// closedConnTransport answers the first requests with the error of a connection that we closed
// ourselves, and passes the others on.
type closedConnTransport struct {
	http.RoundTripper

	fails, requests int
}

func (c *closedConnTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if c.requests++; c.requests <= c.fails {
		return nil, &net.OpError{Op: "write", Net: "tcp", Err: net.ErrClosed}
	}
	return c.RoundTripper.RoundTrip(r)
}

// The transport notices a moment after us that a connection is closed.
func TestContract21OnlyReadsAreRepeatedAfterWeClosedTheConnection(t *testing.T) {
	lease := &coordinationv1.Lease{}
	for name, c := range map[string]struct {
		fails, requests int
		do              func(*kube.Client) error
	}{
		"read":             {2, 3, func(client *kube.Client) error { return get(t, client) }},
		"read without end": {100, 5, func(client *kube.Client) error { return get(t, client) }},
		"create":           {1, 1, func(client *kube.Client) error { return client.Create(t.Context(), kube.Leases("n"), lease, nil) }},
		"update": {1, 1, func(client *kube.Client) error {
			return client.Update(t.Context(), kube.Leases("n"), "a", lease, nil)
		}},
		"an update with an answer": {0, 1, func(client *kube.Client) error {
			return client.Update(t.Context(), kube.Leases("n"), "a", lease, lease)
		}},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t, http.StatusOK)
			transport := &closedConnTransport{fails: c.fails}
			config := &rest.Config{Host: s.URL}
			config.Wrap(func(inner http.RoundTripper) http.RoundTripper {
				transport.RoundTripper = inner
				return transport
			})
			err := c.do(newClient(t, kube.Fixed(config), 0))
			if failed := c.requests <= c.fails; failed != errors.Is(err, net.ErrClosed) || !failed && err != nil {
				t.Errorf("got error %v, want one: %t", err, failed)
			}
			if transport.requests != c.requests {
				t.Errorf("got %d requests, want %d", transport.requests, c.requests)
			}
		})
	}
}
