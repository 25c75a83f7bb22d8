package events_test

import (
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/events"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// A firewall may forget a connection, and HTTP/2 goes on with it after a request that
// was given up: without the client's help for most of a minute.
func TestAnEventIsSentAgainOverAnotherConnectionWhereTheOneInUseIsSilent(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		network := &network{arriving: make(chan net.Conn), closed: make(chan struct{})}
		config := &rest.Config{Host: "https://api", Dial: network.dial, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}
		client, err := kube.New(kube.Options{Way: kube.Fixed(config)})
		if err != nil {
			t.Fatal(err)
		}
		defer client.Close()
		w := newWorldWith(t, events.Options{Instance: "pod-1", Client: client})
		server := httptest.NewUnstartedServer(w.api)
		_ = server.Listener.Close()
		server.Listener, server.EnableHTTP2 = network, true
		server.StartTLS()
		defer server.Close()
		defer server.CloseClientConnections()
		w.start()
		w.Announce(updated("a"))
		during(time.Second)
		w.wantCounts(1, 0)
		network.lines[0].silent.Store(true)
		w.Announce(updated("b"))
		during(10 * time.Second) // a request is given up after 5 s, and the pause is 1 s
		w.wantCounts(2, 0)
		if got := len(network.lines); got != 2 {
			t.Errorf("got %d connections, want another one after the first was silent", got)
		}
		w.stop()
	})
}

// ServeHTTP is RoundTrip for a server.
func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	answer, err := a.RoundTrip(r) //nolint:bodyclose // whoever asked closes it
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), answer.Header)
	w.WriteHeader(answer.StatusCode)
	_, _ = io.Copy(w, answer.Body)
}

// network is one in memory: simulated time stands still while anything waits for the
// real one.
type network struct {
	arriving chan net.Conn
	closed   chan struct{}
	once     sync.Once
	lines    []*line
}

// line is the server's end of a connection.
type line struct {
	net.Conn

	silent atomic.Bool // what the server sends is lost
}

func (l *line) Write(p []byte) (int, error) {
	if l.silent.Load() {
		return len(p), nil
	}
	return l.Conn.Write(p)
}

func (n *network) dial(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	l := &line{Conn: theirs}
	n.lines = append(n.lines, l)
	n.arriving <- l
	return ours, nil
}

// Accept implements net.Listener.
func (n *network) Accept() (net.Conn, error) {
	select {
	case conn := <-n.arriving:
		return conn, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (n *network) Close() error {
	n.once.Do(func() { close(n.closed) })
	return nil
}

// Addr implements net.Listener.
func (n *network) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }
