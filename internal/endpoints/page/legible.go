package page

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// legible makes visible what a text hides: names come from others, and one with a
// character that turns the direction of writing, or has no shape at all, would
// look like another one's.
func legible(text string) string {
	hidden := func(r rune) bool { return !unicode.IsPrint(r) }
	if !strings.ContainsFunc(text, hidden) {
		return text
	}
	var b strings.Builder
	for _, r := range text {
		if hidden(r) {
			b.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
			continue
		}
		b.WriteRune(r)
	}
	return b.String()
}

// prose is legible for sentences, whose line breaks are no secret.
func prose(text string) string { return legible(strings.Join(strings.Fields(text), " ")) }

// moment is a time as the page shows it: how long ago, and exactly.
type moment struct {
	Relative, Exact, Machine string
}

// moments tells times as seen from one of them.
type moments struct{ now time.Time }

// at returns the moment of a time; of an unknown one there is none.
func (m moments) at(t time.Time) *moment {
	if t.IsZero() {
		return nil
	}
	text := &moment{Exact: t.UTC().Format("2006-01-02 15:04:05 UTC"), Machine: t.UTC().Format(time.RFC3339)}
	switch ago := m.now.Sub(t); {
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

// counted joins a number and its noun.
func counted(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return strconv.Itoa(n) + " " + many
}
