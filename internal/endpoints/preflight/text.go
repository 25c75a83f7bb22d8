package preflight

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/wire"
)

// Text renders the report for people: every check, by section. The result of each
// check is a word, so colour only repeats it. Checks that share a remedy are printed
// together, above the remedy.
func (r Report) Text(colour bool) string {
	t := text{colour: colour}
	section := Section("")
	for _, group := range alike(r.Checks) {
		if group[0].Section != section {
			if section != "" {
				t.WriteByte('\n')
			}
			section = group[0].Section
			fmt.Fprintln(&t, section.Title())
		}
		for _, c := range group {
			fmt.Fprintf(&t, "  %s  %s\n", t.word(c.Result), wire.Printable(c.Subject+": "+c.finding()))
		}
		if t.remedy(group) {
			fmt.Fprintf(&t, "        see:    %s\n", group[0].Link)
		}
	}
	t.summary(r)
	return t.String()
}

// ShortText renders one line for each area, and below it the warnings and failures:
// one line for all with the same reason.
func (r Report) ShortText(colour bool) string {
	t := text{colour: colour}
	width := 0
	for _, a := range r.Areas {
		width = max(width, len(a.Section))
	}
	groups := alike(r.Short().Checks)
	for _, a := range r.Areas {
		fmt.Fprintf(&t, "%s  %-*s  %s\n", t.word(a.Result), width, a.Section, wire.Printable(r.outcome(a)))
		for ; len(groups) > 0 && groups[0][0].Section == a.Section; groups = groups[1:] {
			for _, same := range gather(groups[0], Check.cause) {
				fmt.Fprintf(&t, "  %s  %s\n", t.word(same[0].Result), wire.Printable(oneLine(same)))
			}
			t.remedy(groups[0])
		}
	}
	t.summary(r)
	return t.String()
}

// outcome counts what the checks of an area came to, or says why it was skipped.
func (r Report) outcome(a Area) string {
	first := slices.IndexFunc(r.Checks, func(c Check) bool { return c.Section == a.Section })
	if a.Result == Skip && a.Counts.Skip == 1 && first >= 0 {
		return r.Checks[first].finding()
	}
	return a.Counts.String()
}

// text is a report in the making.
type text struct {
	strings.Builder
	colour bool
}

// word is the result as a word of one width.
func (t *text) word(result Result) string { return t.paint(result, fmt.Sprintf("%-4s", result)) }

func (t *text) paint(result Result, s string) string {
	if !t.colour {
		return s
	}
	return paints[result] + s + reset
}

// remedy adds what to do about checks that share it, if that is anything.
func (t *text) remedy(group []Check) (added bool) {
	remedy, label := group[0].Remedy, "remedy:"
	if len(group) > 1 {
		label = fmt.Sprintf("remedy for these %d:", len(group))
	}
	if remedy != "" {
		fmt.Fprintf(t, "        %s %s\n", label, wire.Printable(remedy))
	}
	return remedy != ""
}

func (t *text) summary(r Report) {
	overall := OK
	if !r.OK {
		overall = Fail
	}
	fmt.Fprintf(t, "\n%s\n", t.paint(overall, r.Summary))
}

// alike groups, at the place of the first, the checks of one kind, result and remedy.
// A check without a remedy is a group of its own.
func alike(checks []Check) [][]Check {
	alone := 0
	return gather(checks, func(c Check) string {
		if c.Remedy == "" {
			alone++
			return fmt.Sprint(alone)
		}
		return strings.Join([]string{string(c.ID), string(c.Result), c.Remedy}, "\n")
	})
}

// gather puts checks of one key together, at the place of the first.
func gather(checks []Check, key func(Check) string) [][]Check {
	var groups [][]Check
	places := make(map[string]int)
	for _, c := range checks {
		k := key(c)
		place, known := places[k]
		if !known {
			place = len(groups)
			places[k], groups = place, append(groups, nil)
		}
		groups[place] = append(groups[place], c)
	}
	return groups
}

// mostNamed is how many subjects one line names.
const mostNamed = 5

// oneLine is one line for checks with the same cause. If their messages differ, the
// first is the example.
func oneLine(same []Check) string {
	var names []string
	differ := false
	for _, c := range same[:min(len(same), mostNamed)] {
		names = append(names, c.Subject)
	}
	for _, c := range same {
		differ = differ || c.Message != same[0].Message
	}
	line := strings.Join(names, ", ")
	if more := len(same) - mostNamed; more > 0 {
		line += fmt.Sprintf(" and %d more", more)
	}
	if differ {
		return fmt.Sprintf("%s: %s, for example: %s", line, same[0].Reason, same[0].Message)
	}
	return line + ": " + same[0].finding()
}

// finding is what was found: the reason, where there is one, and the message.
func (c Check) finding() string {
	if c.Reason != "" {
		return c.Reason + ": " + c.Message
	}
	return c.Message
}

// cause is why a check failed or warns: the reason, else the message.
func (c Check) cause() string {
	if c.Reason != "" {
		return c.Reason
	}
	return c.Message
}

// The colours of a terminal.
var paints = map[Result]string{OK: "\x1b[32m", Warn: "\x1b[33m", Fail: "\x1b[1;31m", Skip: "\x1b[2m"}

const reset = "\x1b[0m"
