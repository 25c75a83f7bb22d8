package preflight

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/redact"
)

// Report is what a preflight found.
type Report struct {
	// OK says that no check failed.
	OK      bool    `json:"ok"`
	Summary string  `json:"summary"`
	Counts  Counts  `json:"counts"`
	Checks  []Check `json:"checks"`
}

// Counts are the checks by result.
type Counts struct {
	OK   int `json:"ok"`
	Warn int `json:"warn"`
	Fail int `json:"fail"`
	Skip int `json:"skip"`
}

// NewReport orders the checks by section and counts them. Within a section they
// keep their order.
func NewReport(checks []Check) Report {
	order := Sections()
	sorted := slices.Clone(checks)
	slices.SortStableFunc(sorted, func(a, b Check) int {
		return slices.Index(order, a.Section) - slices.Index(order, b.Section)
	})
	r := Report{Checks: sorted}
	for _, c := range sorted {
		switch c.Result {
		case OK:
			r.Counts.OK++
		case Warn:
			r.Counts.Warn++
		case Fail:
			r.Counts.Fail++
		case Skip:
			r.Counts.Skip++
		}
	}
	r.OK = r.Counts.Fail == 0
	r.Summary = r.Counts.summary()
	return r
}

// summary is one sentence: "All 12 checks passed, 1 warning, 2 skipped."
func (c Counts) summary() string {
	done := c.OK + c.Warn + c.Fail
	sentence := fmt.Sprintf("All %s passed", plural(done, "check"))
	switch {
	case c.Fail > 0:
		sentence = fmt.Sprintf("%d of %s failed", c.Fail, plural(done, "check"))
	case done == 1:
		sentence = "The check passed"
	}
	if c.Warn > 0 {
		sentence += ", " + plural(c.Warn, "warning")
	}
	if c.Skip > 0 {
		sentence += fmt.Sprintf(", %d skipped", c.Skip)
	}
	return sentence + "."
}

// Failed reports whether a check of that kind failed.
func (r Report) Failed(id ID) bool {
	return slices.ContainsFunc(r.Checks, func(c Check) bool { return c.ID == id && c.Result == Fail })
}

// Text renders the report for people. The result of each check is a word, so
// that colour only repeats it.
func (r Report) Text(colour bool) string {
	var b strings.Builder
	paint := func(result Result, text string) string {
		if !colour {
			return text
		}
		return paints[result] + text + reset
	}
	section := Section("")
	for _, c := range r.Checks {
		if c.Section != section {
			if section != "" {
				b.WriteByte('\n')
			}
			section = c.Section
			fmt.Fprintln(&b, section.Title())
		}
		fmt.Fprintf(&b, "  %s  %s\n", paint(c.Result, fmt.Sprintf("%-4s", c.Result)), redact.Printable(c.line()))
		if c.Remedy != "" {
			fmt.Fprintf(&b, "        remedy: %s\n        see:    %s\n", redact.Printable(c.Remedy), c.Link)
		}
	}
	overall := OK
	if !r.OK {
		overall = Fail
	}
	fmt.Fprintf(&b, "\n%s\n", paint(overall, r.Summary))
	return b.String()
}

// line is the check without its result and remedy.
func (c Check) line() string {
	if c.Reason != "" {
		return fmt.Sprintf("%s: %s: %s", c.Subject, c.Reason, c.Message)
	}
	return c.Subject + ": " + c.Message
}

// The colours of a terminal.
var paints = map[Result]string{OK: "\x1b[32m", Warn: "\x1b[33m", Fail: "\x1b[1;31m", Skip: "\x1b[2m"}

const reset = "\x1b[0m"
