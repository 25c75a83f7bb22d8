package page

import (
	"strconv"
	"strings"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/util/duration"
)

// legible makes visible what a page hides: names come from others, and one with a
// character that turns the direction of writing, or has no shape at all, would
// look like another one's. Browsers show every white space as a space.
func legible(page []byte) []byte {
	return []byte(escaped(string(page), func(r rune) bool { return unicode.IsPrint(r) || strings.ContainsRune("\n\r\t", r) }))
}

// nameOf is a name as a page shows it: no character of it is taken for a space, and none is
// lost where the page is escaped.
func nameOf(name string) string { return escaped(name, unicode.IsPrint) }

// escaped writes the characters that do not show as Go does.
func escaped(text string, shows func(rune) bool) string {
	var out strings.Builder
	for _, r := range text {
		if shows(r) {
			out.WriteRune(r)
			continue
		}
		out.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
	}
	return out.String()
}

// moment is a time as the page shows it: how long ago, and exactly.
type moment struct {
	Relative, Exact, Machine string
}

// moments tells times as seen from one of them.
type moments struct{ Now time.Time }

// When returns the moment of a time; of an unknown one there is none.
func (m moments) When(t time.Time) *moment {
	if t.IsZero() {
		return nil
	}
	text := &moment{Exact: t.UTC().Format("2006-01-02 15:04:05 UTC"), Machine: t.UTC().Format(time.RFC3339)}
	switch ago := m.Now.Sub(t); {
	case ago >= time.Second:
		text.Relative = duration.HumanDuration(ago) + " ago"
	case ago <= -time.Second:
		text.Relative = "in " + duration.HumanDuration(-ago)
	default:
		text.Relative = "now"
	}
	return text
}

// latency spells seconds so that the digits matter.
func latency(seconds float64) string {
	return time.Duration(seconds * float64(time.Second)).Round(100 * time.Microsecond).String()
}
