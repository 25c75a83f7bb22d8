package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store/storetest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

// says answers like an API server with that message in its Status.
func says(code int, message string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","code":%d,"message":%q}`, code, message)
	}
}

// tooMany is the answer of an API server whose priority and fairness is full.
func tooMany(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Retry-After", "7")
	http.Error(w, "Too many requests, please try again later.", http.StatusTooManyRequests)
}

// balancer is a load balancer with no server behind it.
func balancer(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	w.WriteHeader(http.StatusServiceUnavailable)
	_, _ = io.WriteString(w, "<html>no server is available</html>")
}

// hang reads the request and answers nothing.
func hang(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// reset ends the connection as a machine does that knows nothing of it.
func reset(w http.ResponseWriter, _ *http.Request) {
	connection, _, err := w.(http.Hijacker).Hijack()
	if err != nil {
		panic(err)
	}
	_ = connection.(*net.TCPConn).SetLinger(0)
	connection.Close()
}

// hangUp ends the connection, or in HTTP/2 the stream.
func hangUp(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// writeTo sends one create to a server that serves so and returns its error. The
// deadline of the write passes where the server, or the way to it, does not answer.
func writeTo(t *testing.T, handler http.HandlerFunc, change func(*httptest.Server, *rest.Config)) error {
	t.Helper()
	ctx := newDeadline()
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer time.AfterFunc(silence, ctx.pass).Stop()
		handler(w, r)
	}))
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	config := &rest.Config{}
	change(server, config)
	if server.URL == "" {
		server.Start()
	}
	t.Cleanup(server.Close)
	if config.Host == "" {
		config.Host = server.URL
	}
	if dial := config.Dial; dial != nil {
		config.Dial = func(dialing context.Context, network, address string) (net.Conn, error) {
			defer time.AfterFunc(silence, ctx.pass).Stop()
			return dial(dialing, network, address)
		}
	}
	store := newStore(t, config, storetest.Target("default"))
	_, err := store.Write(ctx, create())
	stop := run(t, store) // closes its connections
	stop()
	return err
}

// silence is how long nothing happens before a deadline passes.
const silence = 100 * time.Millisecond

// deadline is a context whose deadline passes when the test says so, and not before what
// the test waits for has happened.
type deadline struct {
	context.Context

	done chan struct{}
	pass func()
}

func newDeadline() *deadline {
	done := make(chan struct{})
	return &deadline{context.Background(), done, sync.OnceFunc(func() { close(done) })}
}

func (d *deadline) Done() <-chan struct{} { return d.done }

func (d *deadline) Err() error {
	select {
	case <-d.done:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

func plainly(*httptest.Server, *rest.Config) {}

func dialing(dial func() error) func(*httptest.Server, *rest.Config) {
	return func(_ *httptest.Server, config *rest.Config) {
		config.Dial = func(context.Context, string, string) (net.Conn, error) { return nil, dial() }
	}
}

func TestAWriteSaysWhetherTheServerIsUnavailableOrThisSliceAlone(t *testing.T) {
	const webhook = `admission webhook "limits.example.org" denied the request: not so many`
	secured := func(server *httptest.Server, config *rest.Config) {
		server.EnableHTTP2 = true
		server.StartTLS()
		config.Insecure = true
	}
	untrusted := func(server *httptest.Server, _ *rest.Config) { server.StartTLS() }
	closed := func(server *httptest.Server, config *rest.Config) {
		server.Start()
		config.Host = server.URL
		server.Close()
	}
	noName := dialing(func() error {
		return &net.OpError{Op: "dial", Err: &net.DNSError{Name: "api.example.org", IsNotFound: true}}
	})
	neverConnected := dialing(func() error { <-t.Context().Done(); return t.Context().Err() })
	for name, test := range map[string]struct {
		handler     http.HandlerFunc
		change      func(*httptest.Server, *rest.Config)
		unavailable bool
		retryAfter  time.Duration
	}{
		"refused":                 {hangUp, closed, true, 0},
		"no such name":            {hangUp, noName, true, 0},
		"no connection in time":   {hangUp, neverConnected, true, 0},
		"an unknown certificate":  {hangUp, untrusted, true, 0},
		"reset":                   {reset, plainly, true, 0},
		"closed":                  {hangUp, plainly, true, 0},
		"429":                     {tooMany, plainly, true, 7 * time.Second},
		"429 without a time":      {says(http.StatusTooManyRequests, "busy"), plainly, true, 0},
		"503":                     {says(http.StatusServiceUnavailable, "no leader"), plainly, true, 0},
		"503 of a load balancer":  {balancer, plainly, true, 0},
		"no answer in time":       {hang, plainly, false, 0},
		"no answer in time, h2":   {hang, secured, false, 0},
		"one stream ended, h2":    {hangUp, secured, false, 0},
		"401":                     {says(http.StatusUnauthorized, "who?"), plainly, false, 0},
		"403 or a quota":          {says(http.StatusForbidden, "exceeded quota"), plainly, false, 0},
		"404 of the namespace":    {says(http.StatusNotFound, `namespaces "default" not found`), plainly, false, 0},
		"422":                     {says(http.StatusUnprocessableEntity, "invalid"), plainly, false, 0},
		"500":                     {says(http.StatusInternalServerError, "failed calling webhook: connection refused"), plainly, false, 0},
		"504":                     {says(http.StatusGatewayTimeout, "not completed in time"), plainly, false, 0},
		"a webhook denies by 400": {says(http.StatusBadRequest, webhook), plainly, false, 0},
		"a webhook denies by 429": {says(http.StatusTooManyRequests, webhook), plainly, false, 0},
		"a webhook denies by 503": {says(http.StatusServiceUnavailable, webhook), plainly, false, 0},
		"a webhook denies by 409": {says(http.StatusConflict, webhook), plainly, false, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := writeTo(t, test.handler, test.change)
			if err == nil || errors.Is(err, publish.ErrConflict) {
				t.Fatalf("got %v, want an error that is no conflict", err)
			}
			if got := errors.Is(err, publish.ErrUnavailable); got != test.unavailable {
				t.Errorf("got unavailable %t, want %t: %v", got, test.unavailable, err)
			}
			if got := transport.RetryAfterOf(err); got != test.retryAfter {
				t.Errorf("the error asks for a pause of %s, want %s: %v", got, test.retryAfter, err)
			}
		})
	}
}

func TestOurOwnEndIsNoUnavailableServer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	store := newStore(t, &rest.Config{Host: "https://192.0.2.1", Dial: func(context.Context, string, string) (net.Conn, error) {
		cancel()
		<-t.Context().Done()
		return nil, t.Context().Err()
	}}, storetest.Target("default"))
	if _, err := store.Write(ctx, create()); !errors.Is(err, context.Canceled) || errors.Is(err, publish.ErrUnavailable) {
		t.Errorf("got %v, want our own end and nothing about the server", err)
	}
}

func TestALoadBeforeTheFirstAnswerSaysWhetherTheServerIsUnavailable(t *testing.T) {
	for code, want := range map[int]bool{http.StatusServiceUnavailable: true, http.StatusForbidden: false} {
		server := httptest.NewServer(says(code, "no"))
		defer server.Close()
		store := newStore(t, &rest.Config{Host: server.URL}, storetest.Target("default"))
		stop := run(t, store)
		var err error
		for deadline := time.Now().Add(waitLimit); ; {
			ctx, cancel := context.WithTimeout(t.Context(), silence)
			_, err = store.Load(ctx)
			cancel()
			if err == nil || strings.Contains(err.Error(), "last: ") || time.Now().After(deadline) {
				break // the server has answered
			}
		}
		stop()
		if errors.Is(err, publish.ErrUnavailable) != want {
			t.Errorf("%d: got %v, want unavailable %t", code, err, want)
		}
	}
}
