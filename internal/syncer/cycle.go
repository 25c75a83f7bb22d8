package syncer

import (
	"net/netip"
	"slices"
	"time"
)

// MaxCycles is how many cycles a Status keeps.
const MaxCycles = 20

// Cycle is one read of the source, or one change of the slices.
type Cycle struct {
	// At is when it began, Took how long reading, or writing, took.
	At   time.Time
	Took time.Duration
	// Writes counts the writes that succeeded; Added, Removed and Changed are
	// the addresses that they were about, sorted.
	Writes                  int
	Added, Removed, Changed []netip.Addr
	// Err is why the read, or a write, failed.
	Err error
	// Repeats counts the cycles before this one that were like it and changed
	// nothing; they are not listed.
	Repeats int
}

// like reports whether the cycle says no more than the other did.
func (c Cycle) like(other Cycle) bool {
	said := func(err error) string {
		if err == nil {
			return ""
		}
		return err.Error()
	}
	return c.Writes == 0 && other.Writes == 0 && said(c.Err) == said(other.Err)
}

// prepend returns the cycles with a new one at the front. A quiet cycle takes
// the place of one that said the same, so that twenty quiet reads do not push
// the last change off the page.
func prepend(cycles []Cycle, c Cycle) []Cycle {
	if len(cycles) > 0 && c.like(cycles[0]) {
		c.Repeats = cycles[0].Repeats + 1
		cycles = cycles[1:]
	}
	return append([]Cycle{c}, cycles[:min(len(cycles), MaxCycles-1)]...)
}

// cycleOf sums up what came of writes.
func cycleOf(results []WriteResult, at time.Time) Cycle {
	c := Cycle{At: at, Took: time.Since(at), Err: errorsOf(results)}
	for _, r := range results {
		if r.Err == nil {
			c.Writes++
			c.Added = append(c.Added, r.Write.Added...)
			c.Removed = append(c.Removed, r.Write.Removed...)
			c.Changed = append(c.Changed, r.Write.Changed...)
		}
	}
	for _, list := range [][]netip.Addr{c.Added, c.Removed, c.Changed} {
		slices.SortFunc(list, netip.Addr.Compare)
	}
	return c
}
