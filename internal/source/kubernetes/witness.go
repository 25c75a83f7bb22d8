package kubernetes

import (
	"errors"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// witness sees every request as it is sent, and what becomes of it. It remembers
// the credentials, whoever made them, so that none can be repeated in an error,
// not even when a server or a proxy sends it back.
type witness struct {
	mu    sync.Mutex
	known []string
	// broken is why the last request got no answer.
	broken error
	// notBefore is when the server wants to be asked again.
	notBefore time.Time
}

const (
	// mostSecrets bounds what is remembered; an exec plugin makes new ones.
	mostSecrets = 8
	// leastSecret is the length below which a text is no secret but a word.
	leastSecret = 4
)

func (w *witness) add(secret string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(secret) < leastSecret || slices.Contains(w.known, secret) {
		return
	}
	if len(w.known) == mostSecrets {
		w.known = w.known[1:]
	}
	w.known = append(w.known, secret)
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

// hide returns the text without secrets.
func (w *witness) hide(text string) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, secret := range w.known {
		text = strings.ReplaceAll(text, secret, "(secret)")
	}
	return withoutUser(query.ReplaceAllString(text, ""))
}

// wrap is for rest.Config.Wrap.
func (w *witness) wrap(inner http.RoundTripper) http.RoundTripper { return &observed{inner, w} }

type observed struct {
	http.RoundTripper

	witness *witness
}

func (o *observed) RoundTrip(request *http.Request) (*http.Response, error) {
	if _, secret, ok := strings.Cut(request.Header.Get("Authorization"), " "); ok {
		o.witness.add(secret)
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

// maxText is the length of an error's text in bytes.
const maxText = 512

func (w *witness) harmless(err error) error {
	text := w.hide(err.Error())
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "..."
	}
	return &harmless{text, err}
}

func (e *harmless) Error() string { return e.text }

func (e *harmless) Unwrap() error { return e.cause }
