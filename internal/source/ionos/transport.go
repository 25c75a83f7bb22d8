package ionos

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync/atomic"
	"time"
)

const (
	// maxBody bounds one answer; a thousand servers at depth 3 are 8 MB.
	maxBody = 32 << 20
	// requestTimeout bounds one request where the read has no shorter deadline.
	requestTimeout = 30 * time.Second
)

// headerRetryAfter is where the SDK does not find Retry-After, which it takes for
// a mistake when it is a date, and leaves the connection open.
const headerRetryAfter = "X-Original-Retry-After"

// RateLimit is what the service said about its limits in its last answer.
type RateLimit struct {
	// Limit is the requests allowed in a minute, Burst those at once, Remaining
	// those left.
	Limit, Burst, Remaining int
	// At is when the service said it.
	At time.Time
}

// refill is how long the limit takes to allow that many requests more.
func (r RateLimit) refill(requests int) time.Duration {
	return time.Duration(requests) * time.Minute / time.Duration(max(r.Limit, 1))
}

// transport does for every request what the SDK leaves undone or does wrong: it
// keeps connections, sets the credentials of this moment, bounds the answer, and
// notes the rate limit. It belongs to one client.
type transport struct {
	base        http.RoundTripper
	credentials *credentials
	limits      atomic.Pointer[RateLimit]
}

// newHTTPClient owns its connections; it never touches http.DefaultClient. What
// wrap makes is the last to see a request.
func newHTTPClient(credentials *credentials, wrap func(http.RoundTripper) http.RoundTripper) (*http.Client, *transport) {
	base := &http.Transport{}
	if standard, ok := http.DefaultTransport.(*http.Transport); ok {
		base = standard.Clone()
	}
	base.Proxy = proxy
	t := &transport{base: base, credentials: credentials}
	if wrap != nil {
		t.base = wrap(base)
	}
	return &http.Client{
		Transport: t,
		Timeout:   requestTimeout,
		// A redirect to another port of the same host would carry the token.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, t
}

// proxy is the proxy of the environment. The error about a bad one would repeat
// its password.
func proxy(request *http.Request) (*url.URL, error) {
	through, err := http.ProxyFromEnvironment(request)
	if err != nil {
		return nil, errors.New("HTTPS_PROXY or HTTP_PROXY is not a URL")
	}
	return through, nil
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(original *http.Request) (*http.Response, error) {
	request := original.Clone(original.Context())
	request.Close = false // the SDK closes the connection after each request
	// The SDK takes this one from the environment, at every request.
	request.Header.Del("X-Contract-Number")
	credential, err := t.credentials.current()
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", credential.header)
	response, err := t.base.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	t.note(response.Header)
	if after := response.Header.Values("Retry-After"); len(after) > 0 {
		response.Header[headerRetryAfter] = after
		response.Header.Del("Retry-After")
	}
	response.Body = &bounded{ReadCloser: response.Body, left: maxBody}
	return response, nil
}

// note keeps the rate limit of an answer, if it has one.
func (t *transport) note(header http.Header) {
	limit, err := strconv.Atoi(header.Get("X-RateLimit-Limit"))
	if err != nil || limit <= 0 {
		return
	}
	burst, _ := strconv.Atoi(header.Get("X-RateLimit-Burst"))
	remaining, err := strconv.Atoi(header.Get("X-RateLimit-Remaining"))
	if err != nil {
		remaining = limit
	}
	t.limits.Store(&RateLimit{Limit: limit, Burst: max(burst, 0), Remaining: max(remaining, 0), At: time.Now()})
}

// CloseIdleConnections lets http.Client close them.
func (t *transport) CloseIdleConnections() {
	if closer, ok := t.base.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}

// bounded fails where an answer is longer than anything that makes sense; cut
// short it could look complete.
type bounded struct {
	io.ReadCloser
	left int64
}

func (b *bounded) Read(p []byte) (int, error) {
	if int64(len(p)) > b.left+1 {
		p = p[:b.left+1]
	}
	n, err := b.ReadCloser.Read(p)
	b.left -= int64(n)
	if b.left < 0 {
		return 0, fmt.Errorf("the answer is larger than %d bytes", maxBody)
	}
	return n, err
}
