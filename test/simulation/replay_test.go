//go:build simulation

package simulation_test

import (
	"strings"
	"testing"
)

// A seed that failed is of use only if it fails again.
func TestASeedReplays(t *testing.T) {
	alone(t)
	for seed := *first; seed < *first+min(*seeds, 20); seed++ {
		one, two := simulate(t, seed), simulate(t, seed)
		// An election runs by a clock that counts suspended time. The simulation has
		// no such clock.
		if one.set.election || one.digest.Sum64() == two.digest.Sum64() {
			continue
		}
		i := 0
		for i < min(len(one.trace), len(two.trace)) && one.trace[i] == two.trace[i] {
			i++
		}
		from := max(0, i-10)
		t.Errorf("seed %d passed in two ways:\n%s\n\nand\n\n%s", seed,
			strings.Join(one.trace[from:min(i+3, len(one.trace))], "\n"), strings.Join(two.trace[from:min(i+3, len(two.trace))], "\n"))
	}
}
