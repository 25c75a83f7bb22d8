package probing

import (
	"math"
	"slices"
	"time"
)

// Bins is into how many parts a round is cut to see how evenly it is spread.
const Bins = 20

// Arrival is a connection that reached a backend, counted from the beginning of
// the measurement.
type Arrival struct {
	Backend int
	At      time.Duration
}

// Spread cuts each of the rounds into bins. It returns how many arrivals each bin
// of a round has on average, and the coefficient of variation over the bins of
// all rounds: 0 is perfectly even, and chance alone makes the square root of
// Bins/backends.
func Spread(arrivals []Arrival, interval time.Duration, rounds int) (average [Bins]float64, variation float64) {
	counts := make([]float64, rounds*Bins)
	for _, a := range arrivals {
		if bin := int(a.At * Bins / interval); bin >= 0 && bin < len(counts) {
			counts[bin]++
		}
	}
	mean, squares := 0.0, 0.0
	for i, count := range counts {
		average[i%Bins] += count / float64(rounds)
		mean += count / float64(len(counts))
	}
	for _, count := range counts {
		squares += (count - mean) * (count - mean) / float64(len(counts))
	}
	if mean == 0 {
		return average, 0
	}
	return average, math.Sqrt(squares) / mean
}

// Deviations returns, sorted, by how much the time between two arrivals at the
// same backend differs from the interval.
func Deviations(arrivals []Arrival, interval time.Duration) []time.Duration {
	last := map[int]time.Duration{}
	var deviations []time.Duration
	for _, a := range arrivals {
		if before, seen := last[a.Backend]; seen {
			deviations = append(deviations, (a.At - before - interval).Abs())
		}
		last[a.Backend] = a.At
	}
	slices.Sort(deviations)
	return deviations
}

// Percentile returns the value below which that share of the sorted ones are, 0
// if there is none.
func Percentile(sorted []time.Duration, percent int) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, len(sorted)*percent/100)]
}
