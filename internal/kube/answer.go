package kube

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

// Error is what came of a request that failed. Its text holds no credential, and is
// bounded; it wraps what client-go said.
type Error struct {
	// Unavailable says that other requests would fail as well: the server could not
	// be reached, the connection ended, or the server says that it is busy.
	Unavailable bool
	// RetryAfter is how long the server asks not to be asked, from the header of
	// that name; 0 where it does not say, five minutes at most.
	RetryAfter time.Duration

	text  string
	cause error
}

func (e *Error) Error() string { return e.text }

func (e *Error) Unwrap() error { return e.cause }

const (
	// maxRetryAfter bounds what a server may ask for.
	maxRetryAfter = 5 * time.Minute
	// mostOfRefusal bounds what is read of why it refuses a request, in bytes.
	mostOfRefusal = 1 << 20
)

// attempt is how far one request came on its way to the server, and over which of
// the connections.
type attempt struct {
	client *Client
	began  time.Time
	part   part // of each event of a watch

	mu         sync.Mutex
	connecting bool // a connection is needed, and there is none yet
	connection *connection
	broken     error // why there was no answer
	retryAfter time.Duration
}

func (c *Client) begin() *attempt { return &attempt{client: c, began: time.Now()} }

// attemptKey is where the context of a request has its attempt.
type attemptKey struct{}

// trace makes the request of that context tell.
func (a *attempt) trace(ctx context.Context) context.Context {
	ctx = context.WithValue(quiet(ctx), attemptKey{}, a)
	return httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GetConn: func(string) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.connecting = true
		},
		GotConn: func(info httptrace.GotConnInfo) {
			a.mu.Lock()
			defer a.mu.Unlock()
			a.connecting, a.connection = false, a.client.connections.take(info.Conn)
		},
	})
}

// observe is for rest.Config.Wrap. It sees every request as it is sent, with the
// credentials, whatever made them, so that none can be repeated in an error, not even
// when a server or a proxy sends it back. It follows no redirect, which would carry them
// along.
func observe(config *rest.Config, secrets *transport.Secrets) {
	secrets.Add(config.BearerToken, config.Password)
	config.Wrap(func(inner http.RoundTripper) http.RoundTripper { return &observedTransport{inner, secrets} })
}

type observedTransport struct {
	http.RoundTripper

	secrets *transport.Secrets
}

func (o *observedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
	if _, secret, ok := strings.Cut(request.Header.Get("Authorization"), " "); ok {
		o.secrets.Add(secret)
	}
	response, err := o.RoundTripper.RoundTrip(request)
	if err == nil {
		switch response.StatusCode {
		case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
			err = errors.Join(errRedirect, response.Body.Close())
		}
	}
	a, ours := request.Context().Value(attemptKey{}).(*attempt)
	if ours {
		a.answered(response, err)
	} else if err != nil { // that of a library, which shows it as it is
		err = &Error{text: transport.Cut(o.secrets.Hide(err.Error()), transport.MostShown), cause: err}
	}
	if err != nil {
		return nil, err
	}
	return response, nil
}

// errRedirect says that a request was to go to another address.
var errRedirect = errors.New("the API server redirects, which is not followed; correct the server in the kubeconfig")

// answered notes what came of the request.
func (a *attempt) answered(response *http.Response, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.broken = err
	if err == nil && response.StatusCode >= http.StatusBadRequest {
		a.retryAfter = transport.RetryAfter(response.Header, time.Now(), maxRetryAfter)
		response.Body = struct {
			io.Reader
			io.Closer
		}{io.LimitReader(response.Body, mostOfRefusal), response.Body}
	} else if err == nil && a.part.of != nil && strings.HasPrefix(response.Header.Get("Content-Type"), runtime.ContentTypeProtobuf) {
		response.Body = &events{Closer: response.Body, body: bufio.NewReader(response.Body), part: a.part}
	}
}

// WrappedRoundTripper lets client-go find the transport below.
func (o *observedTransport) WrappedRoundTripper() http.RoundTripper { return o.RoundTripper }

// unanswered is why a watch ended before it began.
func (a *attempt) unanswered() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	return cmp.Or(a.broken, errors.New("the connection ended before the API server answered"))
}

// end judges the result of the request. After a request without an answer in time,
// the connections that were silent meanwhile are closed: a firewall or a load
// balancer may have forgotten them, and client-go would use them for most of a
// minute. Where other answers came, it is this request that
// hangs. Code is the status of the answer, 0 where the error itself is to say it.
func (a *attempt) end(ctx context.Context, err error, code int) error {
	if err == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	e := &Error{RetryAfter: a.retryAfter, cause: err}
	if errors.Is(context.Cause(ctx), context.DeadlineExceeded) {
		a.client.connections.closeSilent(a.began, a.connection)
		if errors.Is(err, context.Canceled) { // as the opening of a watch is
			e.cause = fmt.Errorf("the API server has not answered within %v: %w", a.client.options.Timeout, context.DeadlineExceeded)
		}
	}
	e.text = a.client.harmless(e.cause)
	e.Unavailable = a.unavailable(e.cause, code)
	return e
}

func (c *Client) harmless(err error) string {
	return transport.Cut(query.ReplaceAllString(c.secrets.Hide(err.Error()), ""), transport.MostShown)
}

// query is that of a URL: long, and another one with each attempt, so that one
// trouble would look like many.
var query = regexp.MustCompile(`\?[^"\s]*`)

func (a *attempt) unavailable(err error, code int) bool {
	if status := apierrors.APIStatus(nil); errors.As(err, &status) {
		if code == 0 {
			code = int(status.Status().Code)
		}
		return (code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable) && !Denied(err)
	}
	if errors.Is(err, context.Canceled) { // that was ourselves
		return false
	}
	return a.connecting || broken(err)
}

// Denied reports whether an admission webhook refused the request. It may do so with
// any status, and what it says is about this object and not about the server.
func Denied(err error) bool {
	status := apierrors.APIStatus(nil)
	return errors.As(err, &status) && strings.HasPrefix(status.Status().Message, `admission webhook "`)
}

// broken reports whether the connection ended under the request. That we closed it
// ourselves (net.ErrClosed) says nothing of the server, and a stream that the server
// ended within a connection is about one request.
func broken(err error) bool {
	for _, number := range []syscall.Errno{
		syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE, syscall.ETIMEDOUT, syscall.EHOSTUNREACH, syscall.ENETUNREACH,
	} {
		if errors.Is(err, number) {
			return true
		}
	}
	if unanswered := new(url.Error); !errors.As(err, &unanswered) {
		return false
	}
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		utilnet.IsHTTP2ConnectionLost(err) || strings.Contains(err.Error(), "http2: server sent GOAWAY")
}

// Silence ends what client-go logs where no context reaches it, such as why a plugin got
// no new token. What goes wrong is in the errors. It is for main, before anything else:
// the logger is the process's.
func Silence() { klog.SetLogger(klog.New(nil)) }

// ForLibrary returns the access as the files say it now, for a library that makes clients
// of its own. They follow no redirect, and an error that comes without an answer shows no
// credential. What a server itself says may repeat one: hide removes those that were used
// from a text. Only the files of the token and of the certificates are read again.
func (a Access) ForLibrary() (config *rest.Config, hide func(string) string, err error) {
	if config, err = a.Config(); err != nil {
		return nil, nil, err
	}
	if config.Proxy == nil {
		config.Proxy = transport.ProxyFromEnvironment
	}
	secrets := &transport.Secrets{}
	observe(config, secrets)
	return config, secrets.Hide, nil
}

// mostAtOnce is how many requests of one client may be sent and not answered.
// Those that were given up while a plugin hangs count too, so that they do not
// pile up with time.
const mostAtOnce = 16

// bound lets the client end each request with its context also while an exec
// plugin of the configuration runs: client-go itself waits for the plugin without
// a bound. A configuration without a plugin needs nothing.
func bound(config *rest.Config, client *http.Client) {
	if config.ExecProvider != nil {
		client.Transport = &boundedTransport{inner: client.Transport, slots: make(chan struct{}, mostAtOnce)}
	}
}

type boundedTransport struct {
	inner http.RoundTripper
	slots chan struct{}
}

// RoundTrip implements http.RoundTripper.
func (i *boundedTransport) RoundTrip(request *http.Request) (*http.Response, error) {
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
func (i *boundedTransport) WrappedRoundTripper() http.RoundTripper { return i.inner }

// CloseIdleConnections is what http.Client looks for.
func (i *boundedTransport) CloseIdleConnections() { utilnet.CloseIdleConnectionsFor(i.inner) }
