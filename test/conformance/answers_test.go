//go:build lab

package conformance_test

import (
	"fmt"
	"maps"
	"slices"
)

// answers counts which endpoints answered the requests of one round, and how the
// others ended.
type answers struct {
	by       map[string]int
	failures map[string]int
}

func newAnswers() answers { return answers{by: map[string]int{}, failures: map[string]int{}} }

// total is the number of answers that named a backend.
func (a answers) total() int {
	n := 0
	for _, count := range a.by {
		n += count
	}
	return n
}

// judge compares a round with the addresses that must answer, or, if there are none,
// with the one failure that is allowed.
func (a answers) judge(want []string, refusal string) error {
	if len(want) == 0 {
		if len(a.by) > 0 || len(a.failures) != 1 || a.failures[refusal] == 0 {
			return fmt.Errorf("got answers %v and failures %v, want only %q", a.by, a.failures, refusal)
		}
		return nil
	}
	if len(a.failures) > 0 {
		return fmt.Errorf("got failures %v (answers %v), want none", a.failures, a.by)
	}
	got := slices.Sorted(maps.Keys(a.by))
	if !slices.Equal(got, slices.Sorted(slices.Values(want))) {
		return fmt.Errorf("got answers %v, want them from %v", a.by, want)
	}
	return a.even()
}

// even finds a backend that is asked far more or less often than the others, as
// one that is listed twice would be. A quarter of the fair share is further
// from it than chance gets in a round.
func (a answers) even() error {
	fair := float64(a.total()) / float64(len(a.by))
	for name, count := range a.by {
		if float64(count) < fair/4 || float64(count) > fair*1.75 {
			return fmt.Errorf("got %d answers of %s, want about %.0f: %v", count, name, fair, a.by)
		}
	}
	return nil
}
