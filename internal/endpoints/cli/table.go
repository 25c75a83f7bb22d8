package cli

import (
	"cmp"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"k8s.io/apimachinery/pkg/util/duration"
)

// shortMessage is how much of a message -o text shows, in characters; wide shows
// all.
const shortMessage = 80

// sheet is how all is shown to people: a headline, what must not be overlooked, and the
// tables that have lines.
func sheet(headline string, banners []string, tables ...*table) string {
	var b strings.Builder
	for _, line := range append([]string{headline}, banners...) {
		fmt.Fprintln(&b, plain(line))
	}
	for _, t := range tables {
		if t.lines > 0 {
			_ = t.cells.Flush() // a strings.Builder cannot fail
			b.WriteString("\n" + t.text.String())
		}
	}
	return b.String()
}

// table is lines of cells.
type table struct {
	wide  bool
	hides []bool
	text  strings.Builder
	cells *tabwriter.Writer
	lines int
}

// newTable begins with the names of the columns, if there are any. Columns that begin with +
// are shown only where the table is wide; else the last cell of each line is cut.
func newTable(wide bool, columns ...string) *table {
	t := &table{wide: wide}
	t.cells = tabwriter.NewWriter(&t.text, 0, 0, 2, ' ', 0)
	for i, column := range columns {
		name, more := strings.CutPrefix(column, "+")
		columns[i], t.hides = name, append(t.hides, more && !wide)
	}
	if len(columns) > 0 {
		t.add(columns...)
		t.lines = 0
	}
	return t
}

// add adds a line.
func (t *table) add(cells ...string) {
	t.lines++
	var shown []string
	for i, cell := range cells {
		if letters := []rune(cell); !t.wide && i == len(cells)-1 && len(letters) > shortMessage {
			cell = string(letters[:shortMessage-1]) + "…"
		}
		if i >= len(t.hides) || !t.hides[i] {
			shown = append(shown, plain(cmp.Or(cell, "-")))
		}
	}
	fmt.Fprintln(t.cells, strings.Join(shown, "\t"))
}

// plain replaces characters that a terminal does not show: names and messages come
// from elsewhere, and could move the cursor.
func plain(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return unicode.ReplacementChar
	}, s)
}

// ageOf is how old a time was at another.
func ageOf(now, at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return duration.HumanDuration(max(0, now.Sub(at)))
}

// agoOf is ageOf with a word for what never was.
func agoOf(now, at time.Time) string {
	if at.IsZero() {
		return "never"
	}
	return ageOf(now, at) + " ago"
}
