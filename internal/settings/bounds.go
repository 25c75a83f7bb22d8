package settings

import (
	"cmp"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// PortRange is a range of ports, both ends included.
type PortRange struct {
	First, Last int32
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

// Contains reports whether a range contains the port.
func (r PortRanges) Contains(port int32) bool {
	return slices.ContainsFunc(r, func(each PortRange) bool { return each.First <= port && port <= each.Last })
}

// String returns the ranges as the environment spells them.
func (r PortRanges) String() string { return join(r) }

// Decode implements envconfig.Decoder.
func (r *PortRanges) Decode(value string) error {
	ranges, err := decodeList(value, ParsePortRange)
	*r = ranges
	return err
}

var portRange = regexp.MustCompile(`^([1-9][0-9]{0,4})(?:-([1-9][0-9]{0,4}))?$`)

// ParsePortRange reads "30080" or "31000-31999".
func ParsePortRange(text string) (PortRange, error) {
	ends := append(portRange.FindStringSubmatch(text), "", "", "")
	first, _ := strconv.ParseInt(ends[1], 10, 32)
	last, _ := strconv.ParseInt(cmp.Or(ends[2], ends[1]), 10, 32)
	if first == 0 || first > 65535 || last > 65535 {
		return PortRange{}, Problem{Rule: Quote(text) + " is not a port from 1 to 65535 or a range of them", Remedy: "write for example 30080 or 31000-31999"}
	}
	if first > last {
		return PortRange{}, Problem{Rule: text + " ends before it begins", Remedy: "write " + ends[2] + "-" + ends[1]}
	}
	return PortRange{int32(first), int32(last)}, nil
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
