package page

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
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
		text.Relative = span(ago) + " ago"
	case ago <= -time.Second:
		text.Relative = "in " + span(-ago)
	default:
		text.Relative = "now"
	}
	return text
}

// span spells how long something is, in the one or two units that matter.
func span(d time.Duration) string {
	const day = 24 * time.Hour
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", d/time.Second)
	case d < 10*time.Minute && d%time.Minute >= time.Second:
		return fmt.Sprintf("%d min %d s", d/time.Minute, d%time.Minute/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%d min", d/time.Minute)
	case d < day:
		return fmt.Sprintf("%d h %d min", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%d d %d h", d/day, d%day/time.Hour)
}

// latency spells seconds so that the digits matter.
func latency(seconds float64) string {
	d := time.Duration(seconds * float64(time.Second))
	switch {
	case d >= 10*time.Second:
		return span(d)
	case d >= time.Second:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case d >= 10*time.Millisecond:
		return fmt.Sprintf("%d ms", d/time.Millisecond)
	}
	return fmt.Sprintf("%.1f ms", float64(d)/float64(time.Millisecond))
}
