package kubernetes

import (
	"errors"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/redact"
)

// witness sees every request as it is sent, and what becomes of it. It remembers
// the credentials, whoever made them, so that none can be repeated in an error,
// not even when a server or a proxy sends it back.
type witness struct {
	secrets redact.Secrets

	mu sync.Mutex
	// broken is why the last request got no answer.
	broken error
	// notBefore is when the server wants to be asked again.
	notBefore time.Time
}

// cause returns why the last request got no answer.
func (w *witness) cause() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.broken == nil {
		return errors.New("the connection ended before the API server answered")
	}
	return w.broken
}

// query is that of a URL: long, and another one with each attempt, so that one
// trouble would look like many.
var query = regexp.MustCompile(`\?[^"\s]*`)

// wrap is for rest.Config.Wrap.
func (w *witness) wrap(inner http.RoundTripper) http.RoundTripper { return &observed{inner, w} }

type observed struct {
	http.RoundTripper

	witness *witness
}

func (o *observed) RoundTrip(request *http.Request) (*http.Response, error) {
	if _, secret, ok := strings.Cut(request.Header.Get("Authorization"), " "); ok {
		o.witness.secrets.Add(secret)
	}
	response, err := o.RoundTripper.RoundTrip(request)
	o.witness.mu.Lock()
	defer o.witness.mu.Unlock()
	o.witness.broken = err
	if err == nil && response.StatusCode >= http.StatusBadRequest {
		o.witness.notBefore = notBefore(response.Header.Get("Retry-After"), time.Now())
	}
	return response, err
}

// WrappedRoundTripper lets client-go find the transport below.
func (o *observed) WrappedRoundTripper() http.RoundTripper { return o.RoundTripper }

// notBefore reads both forms of Retry-After: seconds, and a date.
func notBefore(retryAfter string, now time.Time) time.Time {
	if seconds, err := strconv.Atoi(retryAfter); err == nil && seconds > 0 {
		return now.Add(min(time.Duration(min(seconds, 1<<20))*time.Second, mostPatience))
	}
	if date, err := http.ParseTime(retryAfter); err == nil && date.After(now) {
		return now.Add(min(date.Sub(now), mostPatience))
	}
	return time.Time{}
}

// asked returns when the server wants to be asked again.
func (w *witness) asked() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.notBefore
}

// harmless is an error without secrets and of bounded length.
type harmless struct {
	text  string
	cause error
}

func (w *witness) harmless(err error) error {
	return &harmless{redact.Cut(query.ReplaceAllString(w.secrets.Hide(err.Error()), ""), redact.Most), err}
}

func (e *harmless) Error() string { return e.text }

func (e *harmless) Unwrap() error { return e.cause }
