package transport_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

func TestContract03RetryAfterIsReadInBothFormsAndBounded(t *testing.T) {
	const bound = 5 * time.Minute
	now := time.Date(2026, time.March, 1, 12, 0, 0, 0, time.FixedZone("", 3600))
	at := func(after time.Duration) string { return now.Add(after).UTC().Format(http.TimeFormat) }
	for name, c := range map[string]struct {
		header, date string
		want         time.Duration
	}{
		"no header":                      {"", "", 0},
		"seconds":                        {"7", "", 7 * time.Second},
		"seconds with spaces":            {" 7 ", "", 7 * time.Second},
		"no seconds":                     {"0", "", 0},
		"seconds below zero":             {"-7", "", 0},
		"as many seconds as the bound":   {"300", "", bound},
		"more seconds":                   {"301", "", bound},
		"more seconds than a duration":   {"9223372036854775807", "", bound},
		"more seconds than a number":     {"1" + strings.Repeat("0", 30), "", bound},
		"fewer seconds than a number":    {"-1" + strings.Repeat("0", 30), "", 0},
		"a date":                         {at(time.Minute), "", time.Minute},
		"a date of the past":             {at(-time.Minute), "", 0},
		"a date after the bound":         {at(time.Hour), "", bound},
		"a date in a thousand years":     {"Mon, 01 Mar 3026 12:00:00 GMT", "", bound},
		"a server whose clock is behind": {at(-time.Hour + time.Minute), at(-time.Hour), time.Minute},
		"a server whose clock is ahead":  {at(time.Hour + time.Minute), at(time.Hour), time.Minute},
		"seconds of such a server":       {"7", at(time.Hour), 7 * time.Second},
		"a date and an unreadable one":   {at(time.Minute), "today", time.Minute},
		"neither":                        {"soon", "", 0},
		"a fraction":                     {"1.5", "", 0},
	} {
		t.Run(name, func(t *testing.T) {
			answer := http.Header{"Retry-After": {c.header}, "Date": {c.date}}
			if got := transport.RetryAfter(answer, now, bound); got != c.want {
				t.Errorf("Retry-After: %s, Date: %s: got %v, want %v", c.header, c.date, got, c.want)
			}
		})
	}
}

func TestAnAnswerWithoutHeadersAsksForNothing(t *testing.T) {
	if got := transport.RetryAfter(nil, time.Now(), time.Hour); got != 0 {
		t.Errorf("got %v, want 0", got)
	}
}
