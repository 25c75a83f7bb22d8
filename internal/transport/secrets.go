package transport

import (
	"encoding/base64"
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
	return HideUserInfo(Hide(text, s.known))
}

// Hide returns the text without the secrets, also where one is in another or overlaps it,
// and where it is in base64, alone or with what stands before and after it.
func Hide(text string, secrets []string) string {
	hidden := make([]bool, len(text))
	found := false
	for _, secret := range slices.Concat(secrets, encoded(secrets)) {
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

// leastEncoded is the length in bytes of a secret whose base64 is no word either.
const leastEncoded = 6

// encoded returns what base64 makes of secrets, whatever stands around them: what stands
// before decides which of three texts that is, and shares its first characters with it, as
// what stands after does its last one.
func encoded(secrets []string) []string {
	var list []string
	for _, secret := range secrets {
		if len(secret) < leastEncoded {
			continue
		}
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			for before := range 3 {
				text := encoding.EncodeToString([]byte(strings.Repeat(" ", before) + secret))
				list = append(list, text[(before*8+5)/6:(before+len(secret))*8/6])
			}
		}
	}
	return list
}
