package settings

import (
	"slices"
	"strconv"
	"strings"
)

// Range is a range of numbers, both ends included.
type Range struct{ First, Last int }

// String returns "30080" or "31000-31999".
func (r Range) String() string {
	if r.First == r.Last {
		return strconv.Itoa(r.First)
	}
	return strconv.Itoa(r.First) + "-" + strconv.Itoa(r.Last)
}

// Ranges is a set of numbers.
type Ranges []Range

// Contains reports whether a range contains the number.
func (r Ranges) Contains(number int) bool {
	return slices.ContainsFunc(r, func(each Range) bool { return each.First <= number && number <= each.Last })
}

// String returns the ranges as the environment spells them.
func (r Ranges) String() string { return Join(r) }

// ParsePorts reads entries such as "30080" and "31000-31999". What is none is left out.
func ParsePorts(entries ...string) Ranges { return parseRanges(parsePorts, entries) }

// ParseStatuses does the same for statuses of HTTP.
func ParseStatuses(entries ...string) Ranges { return parseRanges(parseStatuses, entries) }

func parseRanges(parse func(string) (Range, error), entries []string) Ranges {
	var all Ranges
	for _, entry := range entries {
		if one, err := parse(strings.TrimSpace(entry)); err == nil {
			all = append(all, one)
		}
	}
	return all
}

func parsePorts(text string) (Range, error) {
	return parseRange(text, 1, 65535, Problem{Rule: "is not a port from 1 to 65535 or a range of them", Remedy: "write for example 30080 or 31000-31999"})
}

func parseStatuses(text string) (Range, error) {
	return parseRange(text, 100, 599, Problem{Rule: "is not an HTTP status from 100 to 599 or a range of them", Remedy: "write for example 200-399,404"})
}

func statuses(list string) error {
	_, err := decodeList(list, parsing(parseStatuses))
	return err
}

// parseRange reads one entry within limits, or returns the problem.
func parseRange(text string, least, most int, none Problem) (Range, error) {
	begin, end, isRange := strings.Cut(text, "-")
	if !isRange {
		end = begin
	}
	first, firstErr := strconv.ParseUint(strings.TrimSpace(begin), 10, 16)
	last, lastErr := strconv.ParseUint(strings.TrimSpace(end), 10, 16)
	one := Range{int(first), int(last)}
	switch {
	case firstErr != nil || lastErr != nil || min(one.First, one.Last) < least || max(one.First, one.Last) > most:
		return Range{}, Problem{Rule: Quote(text) + " " + none.Rule, Remedy: none.Remedy}
	case one.First > one.Last:
		return Range{}, Problem{Rule: text + " ends before it begins", Remedy: "write " + Range{one.Last, one.First}.String()}
	}
	return one, nil
}
