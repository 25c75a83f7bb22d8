package main

import (
	"math"
	"strconv"
)

// number writes 12345 as 12,345.
func number(v float64) string {
	s := strconv.FormatFloat(math.Round(v), 'f', 0, 64)
	for i := len(s) - 3; i > 0; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// short writes small numbers with three digits that count.
func short(v float64) string {
	if math.Abs(v) >= 100 || v == math.Trunc(v) {
		return number(v)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// duration writes nanoseconds with three digits that count.
func duration(ns float64) string {
	switch {
	case ns >= 1e9:
		return digits(ns/1e9) + " s"
	case ns >= 1e6:
		return digits(ns/1e6) + " ms"
	case ns >= 1e3:
		return digits(ns/1e3) + " µs"
	}
	return number(ns) + " ns"
}

// size writes bytes in the units of disks and memory prices, not of 1024.
func size(v float64) string {
	switch {
	case v >= 1e9:
		return digits(v/1e9) + " GB"
	case v >= 1e6:
		return digits(v/1e6) + " MB"
	case v >= 1e3:
		return digits(v/1e3) + " kB"
	}
	return number(v) + " B"
}

func digits(v float64) string {
	if v >= 100 {
		return number(v)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}
