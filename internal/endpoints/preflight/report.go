package preflight

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

// Report is what a preflight found.
type Report struct {
	APIVersion string `json:"apiVersion"`
	// OK says that no check failed.
	OK      bool           `json:"ok"`
	Summary string         `json:"summary"`
	Counts  map[Result]int `json:"counts"`
	Checks  []Check        `json:"checks"`
}

// NewReport orders the checks by area and counts them. Within an area they keep
// their order.
func NewReport(checks []Check) Report {
	order := Areas()
	r := Report{APIVersion: "v1", Counts: map[Result]int{OK: 0, Warn: 0, Fail: 0, Skip: 0}, Checks: slices.Clone(checks)}
	slices.SortStableFunc(r.Checks, func(a, b Check) int {
		return slices.Index(order, a.Area) - slices.Index(order, b.Area)
	})
	for _, c := range r.Checks {
		r.Counts[c.Result]++
	}
	r.OK = r.Counts[Fail] == 0
	r.Summary = fmt.Sprintf("%d failed, %s, %d ok, %d skipped.", r.Counts[Fail], plural(r.Counts[Warn], "warning"), r.Counts[OK], r.Counts[Skip])
	return r
}

// Short returns the report with the checks that are not as they should be, and
// no others. All are counted.
func (r Report) Short() Report {
	r.Checks = slices.DeleteFunc(slices.Clone(r.Checks), func(c Check) bool { return c.Result != Warn && c.Result != Fail })
	return r
}

// Failed reports whether a check of that kind failed.
func (r Report) Failed(id ID) bool {
	return slices.ContainsFunc(r.Checks, func(c Check) bool { return c.ID == id && c.Result == Fail })
}

// Text renders the report for people, by area. The result of each check is a word, so
// colour only repeats it. Checks that share a remedy are printed together, above the remedy.
func (r Report) Text(colour bool) string {
	var b strings.Builder
	paint := func(result Result, s string) string {
		if !colour {
			return s
		}
		return paints[result] + s + reset
	}
	area := ""
	for _, group := range alike(r.Checks) {
		if group[0].Area != area {
			area = group[0].Area
			fmt.Fprintln(&b, area)
		}
		for _, c := range group {
			found := c.Message
			if c.Reason != "" {
				found = c.Reason + ": " + found
			}
			fmt.Fprintf(&b, "  %s  %s\n", paint(c.Result, fmt.Sprintf("%-4s", c.Result)), transport.Printable(c.Subject+": "+found))
		}
		if remedy := group[0].Remedy; remedy != "" {
			fmt.Fprintf(&b, "        remedy: %s\n        see:    %s\n", transport.Printable(remedy), group[0].Link)
		}
	}
	overall := OK
	if !r.OK {
		overall = Fail
	}
	return b.String() + paint(overall, r.Summary) + "\n"
}

// alike groups, at the place of the first, the checks of one kind, result and remedy.
// A check without a remedy is a group of its own.
func alike(checks []Check) [][]Check {
	var groups [][]Check
	places := make(map[Check]int)
	for _, c := range checks {
		shared := Check{ID: c.ID, Result: c.Result, Remedy: c.Remedy}
		place, known := places[shared]
		if !known || c.Remedy == "" {
			place = len(groups)
			places[shared], groups = place, append(groups, nil)
		}
		groups[place] = append(groups[place], c)
	}
	return groups
}

// The colours of a terminal.
var paints = map[Result]string{OK: "\x1b[32m", Warn: "\x1b[33m", Fail: "\x1b[1;31m", Skip: "\x1b[2m"}

const reset = "\x1b[0m"
