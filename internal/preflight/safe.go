package preflight

import (
	"regexp"
	"strings"
	"unicode"
)

const (
	// maxText bounds one message, in bytes: a server may answer with a page.
	maxText = 600
	// leastSecret is the length below which a text is no secret but a word.
	leastSecret = 4
	masked      = "********"
)

var userInfo = regexp.MustCompile(`//[^/@\s"]*@`)

// hide removes secrets from a report, whoever repeated them: a server may send
// back what it was sent. User names and passwords in URLs are secrets too.
func hide(checks []Check, secrets []string) []Check {
	var pairs []string
	for _, secret := range secrets {
		if secret = strings.TrimSpace(secret); len(secret) >= leastSecret {
			pairs = append(pairs, secret, masked)
		}
	}
	replacer := strings.NewReplacer(pairs...)
	clean := func(text string) string { return bounded(userInfo.ReplaceAllString(replacer.Replace(text), "//...@")) }
	hidden := make([]Check, len(checks))
	for i, c := range checks {
		c.Subject, c.Message, c.Remedy = clean(c.Subject), clean(c.Message), clean(c.Remedy)
		hidden[i] = c
	}
	return hidden
}

func bounded(text string) string {
	if len(text) <= maxText {
		return text
	}
	return strings.ToValidUTF8(text[:maxText], "") + "..."
}

// printable makes one line of a text that others wrote, without anything that a
// terminal would obey.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
}
