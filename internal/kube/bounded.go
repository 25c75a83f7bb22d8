package kube

import (
	"net/http"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
)

// mostAtOnce is how many requests of one client may be sent and not answered.
// Those that were given up while a plugin hangs count too, so that they do not
// pile up with time.
const mostAtOnce = 16

// bound lets the client end each request with its context also while an exec
// plugin of the configuration runs: client-go itself waits for the plugin without
// a bound. A configuration without a plugin needs nothing.
func bound(config *rest.Config, client *http.Client) {
	if config.ExecProvider != nil {
		client.Transport = &bounded{inner: client.Transport, slots: make(chan struct{}, mostAtOnce)}
	}
}

type bounded struct {
	inner http.RoundTripper
	slots chan struct{}
}

// RoundTrip implements http.RoundTripper.
func (i *bounded) RoundTrip(request *http.Request) (*http.Response, error) {
	type answer struct {
		response *http.Response
		err      error
	}
	ended := request.Context().Done()
	select {
	case i.slots <- struct{}{}:
	case <-ended:
		return nil, request.Context().Err()
	}
	answered := make(chan answer)
	go func() {
		defer func() { <-i.slots }()
		response, err := i.inner.RoundTrip(request)
		select {
		case answered <- answer{response, err}:
		case <-ended:
			if err == nil {
				response.Body.Close()
			}
		}
	}()
	select {
	case a := <-answered:
		return a.response, a.err
	case <-ended:
		return nil, request.Context().Err()
	}
}

// WrappedRoundTripper lets client-go find the transport within.
func (i *bounded) WrappedRoundTripper() http.RoundTripper { return i.inner }

// CloseIdleConnections is what http.Client looks for.
func (i *bounded) CloseIdleConnections() { utilnet.CloseIdleConnectionsFor(i.inner) }
