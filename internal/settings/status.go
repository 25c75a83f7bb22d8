package settings

import (
	"slices"
	"strconv"
	"strings"
)

// StatusRange is a range of HTTP status codes, both ends included.
type StatusRange struct {
	First, Last int
}

// String returns "200" or "200-399".
func (r StatusRange) String() string {
	if r.First == r.Last {
		return strconv.Itoa(r.First)
	}
	return strconv.Itoa(r.First) + "-" + strconv.Itoa(r.Last)
}

// StatusRanges is the set of HTTP status codes that count as healthy.
type StatusRanges []StatusRange

// Contains reports whether the status is in one of the ranges.
func (r StatusRanges) Contains(status int) bool {
	return slices.ContainsFunc(r, func(each StatusRange) bool { return each.First <= status && status <= each.Last })
}

// String returns the ranges as the environment spells them.
func (r StatusRanges) String() string { return join(r) }

// Decode implements envconfig.Decoder.
func (r *StatusRanges) Decode(value string) error {
	ranges, err := decodeList(value, parseStatusRange)
	*r = ranges
	return err
}

func parseStatusRange(text string) (StatusRange, error) {
	first, last, isRange := strings.Cut(text, "-")
	if !isRange {
		last = first
	}
	low, okLow := parseStatus(first)
	high, okHigh := parseStatus(last)
	if !okLow || !okHigh {
		return StatusRange{}, Problem{Rule: Quote(text) + " is not an HTTP status from 100 to 599 or a range of them", Remedy: "write for example 200-399,404"}
	}
	if low > high {
		return StatusRange{}, Problem{Rule: text + " ends before it begins", Remedy: "write " + StatusRange{high, low}.String()}
	}
	return StatusRange{low, high}, nil
}

func parseStatus(text string) (int, bool) {
	status, err := strconv.ParseUint(strings.TrimSpace(text), 10, 16)
	return int(status), err == nil && 100 <= status && status <= 599
}
