package settings

import (
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/system"
)

// masked stands for a secret wherever one would be printed.
const masked = "********"

// Bounds of the files read here, in bytes.
const (
	maxSecretFile = 64 << 10
	maxCAFile     = 1 << 20
)

// Secret is a value that refuses to print itself, in any format and at any
// level. The zero value is no secret.
//
// It keeps a function rather than a string, so that packages which print by
// reflection find nothing either.
type Secret struct {
	read func() (string, error)
	// path names the file that holds the secret, where one does.
	path string
}

// IsSet reports whether there is a secret at all.
func (s Secret) IsSet() bool { return s.read != nil }

// Read returns the secret without surrounding white space. A secret that a file
// holds is read again at each call, so that a rotated one works at once. The
// error names the file, never its content.
func (s Secret) Read() (string, error) {
	if s.read == nil {
		return "", errors.New("read secret: none is set")
	}
	return s.read()
}

// Decode implements envconfig.Decoder. It takes over a secret that a variable holds.
func (s *Secret) Decode(value string) error {
	value, err := usableSecret(value)
	if err != nil {
		return err
	}
	*s = plainSecret(value)
	return nil
}

func plainSecret(value string) Secret {
	return Secret{read: func() (string, error) { return value, nil }}
}

// SecretFile returns the secret that a file holds.
func SecretFile(path string) Secret {
	return Secret{path: path, read: func() (string, error) {
		content, err := system.ReadFile(path, maxSecretFile)
		if err != nil {
			return "", fmt.Errorf("read secret: %w", err)
		}
		value, err := usableSecret(string(content))
		if err != nil {
			return "", fmt.Errorf("read secret from %s: %w", path, err)
		}
		return value, nil
	}}
}

// usableSecret trims a secret, because a trailing newline makes every request
// fail, and refuses what no request header can carry. An error carries nothing of it.
func usableSecret(value string) (string, error) {
	value = strings.TrimSpace(value)
	if value == "" {
		return "", errors.New("is empty")
	}
	if strings.ContainsFunc(value, unicode.IsControl) {
		return "", errors.New("holds a control character, such as a line break, before its end")
	}
	return value, nil
}

// cause returns the innermost error, which names no path. A path that cannot
// be read may be the secret itself, put into the wrong variable.
func cause(err error) error {
	for inner := errors.Unwrap(err); inner != nil; inner = errors.Unwrap(err) {
		err = inner
	}
	return err
}

// MarshalText returns the mask, or nothing if there is no secret; JSON, YAML and slog use it.
func (s Secret) MarshalText() ([]byte, error) {
	if s.read == nil {
		return nil, nil
	}
	return []byte(masked), nil
}

// Format writes what MarshalText returns, whatever the verb.
func (s Secret) Format(state fmt.State, _ rune) {
	text, _ := s.MarshalText()
	_, _ = state.Write(text)
}
