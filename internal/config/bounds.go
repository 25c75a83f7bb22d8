package config

import (
	"strconv"
	"strings"
)

// PortRange is a range of ports, both ends included.
type PortRange struct {
	First, Last uint16
}

// String returns "30080" or "31000-31999".
func (r PortRange) String() string {
	text := strconv.Itoa(int(r.First))
	if r.First != r.Last {
		text += "-" + strconv.Itoa(int(r.Last))
	}
	return text
}

// PortRanges is a set of ports.
type PortRanges []PortRange

// String returns the ranges as the environment spells them.
func (r PortRanges) String() string { return join(r) }

// Decode implements envconfig.Decoder.
func (r *PortRanges) Decode(value string) error {
	ranges, err := decodeList(value, parsePortRange)
	*r = ranges
	return err
}

func parsePortRange(text string) (PortRange, error) {
	low, high, isRange := strings.Cut(text, "-")
	if !isRange {
		high = low
	}
	first, errFirst := strconv.ParseUint(strings.TrimSpace(low), 10, 16)
	last, errLast := strconv.ParseUint(strings.TrimSpace(high), 10, 16)
	if errFirst != nil || errLast != nil || first == 0 || last == 0 {
		return PortRange{}, Problem{Rule: Quote(text) + " is not a port from 1 to 65535 or a range of them", Remedy: "write for example 30080,31000-31999"}
	}
	if first > last {
		return PortRange{}, Problem{Rule: text + " ends before it begins", Remedy: "write " + PortRange{uint16(last), uint16(first)}.String()}
	}
	return PortRange{uint16(first), uint16(last)}, nil
}

// BoundNamespaces is a list of namespaces, or all of them.
type BoundNamespaces []string

// String returns the list as the environment spells it.
func (n BoundNamespaces) String() string { return strings.Join(n, ",") }

// Decode implements envconfig.Decoder.
func (n *BoundNamespaces) Decode(value string) error {
	list, err := decodeList(value, func(text string) (string, error) {
		if text == "*" {
			return text, nil
		}
		return text, dnsLabel(text)
	})
	*n = list
	return err
}
