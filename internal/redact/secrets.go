package redact

import (
	"slices"
	"strings"
	"sync"
)

// Mask stands where a secret was.
const Mask = "********"

const (
	// mostSecrets bounds what is remembered; an exec plugin makes new ones.
	mostSecrets = 16
	// leastSecret is the length in bytes below which a text is a word and no secret.
	leastSecret = 4
)

// Secrets remembers secrets, so that none is shown, not even where a server or a
// proxy sends it back. Its methods may be called at the same time; the zero value
// knows none.
type Secrets struct {
	mu    sync.Mutex
	known []string
}

// Add remembers secrets; the oldest are forgotten where there are too many.
func (s *Secrets) Add(secrets ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, secret := range secrets {
		if secret = strings.TrimSpace(secret); len(secret) < leastSecret || slices.Contains(s.known, secret) {
			continue
		}
		if len(s.known) == mostSecrets {
			s.known = s.known[1:]
		}
		s.known = append(s.known, secret)
	}
}

// Hide returns the text without the secrets, and without user names and passwords
// in URLs.
func (s *Secrets) Hide(text string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return UserInfo(Hide(text, s.known))
}

// Hide returns the text without the secrets, also where one is in another or overlaps it.
func Hide(text string, secrets []string) string {
	hidden := make([]bool, len(text))
	found := false
	for _, secret := range secrets {
		for from, done := 0, 0; secret != ""; {
			i := strings.Index(text[from:], secret)
			if i < 0 {
				break
			}
			begin, end := from+i, from+i+len(secret)
			for at := max(begin, done); at < end; at++ {
				hidden[at] = true
			}
			found, from, done = true, begin+1, end
		}
	}
	if !found {
		return text
	}
	var shown strings.Builder
	for i := range len(text) {
		switch {
		case !hidden[i]:
			shown.WriteByte(text[i])
		case i == 0 || !hidden[i-1]:
			shown.WriteString(Mask)
		}
	}
	return shown.String()
}
