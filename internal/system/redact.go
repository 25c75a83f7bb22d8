package system

import (
	"slices"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

// Redact returns the text without the secrets of an environment, given as
// NAME=value: the values of variables whose name speaks of a token, a password,
// a secret, a key or a credential, and the user and password in a URL, as
// proxies have, also in base64. A secret that the text holds in another code, or in pieces,
// stays.
func Redact(text string, env []string) string { return transport.Hide(text, secrets(env)) }

// secrets returns what must not be shown, as it would look in printable text.
func secrets(env []string) []string {
	var list []string
	for _, variable := range env {
		name, value, _ := strings.Cut(variable, "=")
		if namesSecret(name) {
			list = append(list, lines(value)...)
		}
		list = append(list, userinfo(value)...)
	}
	return list
}

// namesSecret reports whether a variable of that name holds a secret. The path
// of a file with a secret is none, and helps to correct a mistake.
func namesSecret(name string) bool {
	name = strings.ToUpper(name)
	if strings.HasSuffix(name, "_FILE") {
		return false
	}
	return slices.ContainsFunc([]string{"TOKEN", "PASS", "SECRET", "KEY", "CREDENTIAL"}, func(word string) bool {
		return strings.Contains(name, word)
	})
}

// lines returns the lines of a secret, because a text may show only some. Short
// lines of a longer secret, such as a brace, give nothing away.
func lines(secret string) []string {
	all := strings.FieldsFunc(printable(secret), func(c rune) bool { return c == '\n' })
	if len(all) <= 1 {
		return all
	}
	return slices.DeleteFunc(all, func(line string) bool { return len(line) < 8 })
}

// userinfo returns "user:password" of a URL, and the password.
func userinfo(value string) []string {
	if _, rest, ok := strings.Cut(value, "://"); ok {
		value = rest
	}
	end := strings.LastIndex(value, "@")
	if end < 0 {
		return nil
	}
	_, password, ok := strings.Cut(value[:end], ":")
	if !ok || password == "" {
		return nil
	}
	return []string{printable(value[:end]), printable(password)}
}
