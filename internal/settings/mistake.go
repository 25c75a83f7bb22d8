package settings

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Mistake is one thing that is wrong with one variable.
type Mistake struct {
	Variable string `json:"variable"`
	// Value is what the variable holds. It is empty where nothing is set, and
	// for everything that is or may be a secret.
	Value string `json:"value,omitempty"`
	// Rule is what the value breaks.
	Rule string `json:"rule"`
	// Remedy is what to do about it.
	Remedy string `json:"remedy"`
}

// maxShown is how much of a value a message repeats, in bytes.
const maxShown = 120

// Error returns the mistake as one line.
func (m Mistake) Error() string {
	subject := m.Variable
	if m.Value != "" {
		subject += "=" + Quote(m.Value)
	}
	if m.Remedy == "" {
		return subject + ": " + m.Rule
	}
	return subject + ": " + m.Rule + "; " + m.Remedy
}

// Mistakes are all that is wrong with a configuration, in the order of the
// reference.
type Mistakes []Mistake

// Error returns one line for each mistake, after a line that counts them.
func (m Mistakes) Error() string { return Counted(m, "the configuration") }

// Counted returns one line for each mistake, after a line that counts them.
func Counted[M error](mistakes []M, in string) string {
	var text strings.Builder
	plural := "s"
	if len(mistakes) == 1 {
		plural = ""
	}
	fmt.Fprintf(&text, "%d mistake%s in %s:", len(mistakes), plural, in)
	for _, mistake := range mistakes {
		text.WriteString("\n  " + mistake.Error())
	}
	return text.String()
}

// sorted orders mistakes by the place of their variable in the reference, then
// by name; those about one variable keep their order.
func (m Mistakes) sorted(place map[string]int) Mistakes {
	rank := func(m Mistake) int { return cmp.Or(place[m.Variable], math.MaxInt) } // unknown ones come last
	slices.SortStableFunc(m, func(a, b Mistake) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a.Variable, b.Variable))
	})
	return m
}

// Problem is what a decoder says of a value: the rule it breaks and the remedy.
type Problem struct {
	Rule, Remedy string
	// hide says that the value may hold a secret and must not be repeated.
	hide bool
}

// Error returns rule and remedy in one line.
func (p Problem) Error() string { return p.Rule + "; " + p.Remedy }

// problems returns what a decoder's error says, one by one: a decoder of a list
// joins an error for each entry.
func problems(err error) []Problem {
	var joined interface{ Unwrap() []error }
	var all []Problem
	switch p := (Problem{}); {
	case errors.As(err, &joined):
		for _, each := range joined.Unwrap() {
			all = append(all, problems(each)...)
		}
	case errors.As(err, &p):
		all = append(all, p)
	case err != nil:
		all = append(all, Problem{Rule: err.Error()})
	}
	return all
}

// Quote makes a value safe and short enough for a message of one line.
func Quote(value string) string {
	if len(value) <= maxShown {
		return strconv.Quote(value)
	}
	return strconv.Quote(strings.ToValidUTF8(value[:maxShown], "")) + fmt.Sprintf("... (%d bytes)", len(value))
}
