package kubernetes

import (
	"net/http"
	"slices"
	"strings"
	"sync"
)

// secrets are the credentials that were sent, whoever made them, so that none
// can be repeated in an error, not even when a server or a proxy sends it back.
type secrets struct {
	mu    sync.Mutex
	known []string
}

const (
	// mostSecrets bounds what is remembered; an exec plugin makes new ones.
	mostSecrets = 8
	// leastSecret is the length below which a text is no secret but a word.
	leastSecret = 4
)

func (s *secrets) add(secret string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(secret) < leastSecret || slices.Contains(s.known, secret) {
		return
	}
	if len(s.known) == mostSecrets {
		s.known = s.known[1:]
	}
	s.known = append(s.known, secret)
}

// hide returns the text without secrets.
func (s *secrets) hide(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, secret := range s.known {
		text = strings.ReplaceAll(text, secret, "(secret)")
	}
	return withoutUser(text)
}

// wrap is for rest.Config.Wrap: it sees requests as they are sent.
func (s *secrets) wrap(inner http.RoundTripper) http.RoundTripper {
	return &witness{inner, s}
}

type witness struct {
	http.RoundTripper

	secrets *secrets
}

func (w *witness) RoundTrip(request *http.Request) (*http.Response, error) {
	if _, secret, ok := strings.Cut(request.Header.Get("Authorization"), " "); ok {
		w.secrets.add(secret)
	}
	return w.RoundTripper.RoundTrip(request)
}

// WrappedRoundTripper lets client-go find the transport below.
func (w *witness) WrappedRoundTripper() http.RoundTripper { return w.RoundTripper }

// harmless is an error without secrets and of bounded length.
type harmless struct {
	text  string
	cause error
}

// maxText is the length of an error's text in bytes.
const maxText = 512

func (s *secrets) harmless(err error) error {
	text := s.hide(err.Error())
	if len(text) > maxText {
		text = strings.ToValidUTF8(text[:maxText], "") + "..."
	}
	return &harmless{text, err}
}

func (e *harmless) Error() string { return e.text }

func (e *harmless) Unwrap() error { return e.cause }
