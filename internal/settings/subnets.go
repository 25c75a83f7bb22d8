package settings

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
)

// Subnets is a list of address ranges, each masked and of plain IPv4 or IPv6.
type Subnets []netip.Prefix

// Contains reports whether one of the ranges contains the address.
func (s Subnets) Contains(addr netip.Addr) bool {
	return slices.ContainsFunc(s, func(subnet netip.Prefix) bool { return subnet.Contains(addr) })
}

// String returns the list as the environment spells it.
func (s Subnets) String() string { return join(s) }

// Decode implements envconfig.Decoder.
func (s *Subnets) Decode(value string) error {
	subnets, err := decodeList(value, parseSubnet)
	*s = subnets
	return err
}

func parseSubnet(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil {
		return netip.Prefix{}, Problem{Rule: text + " is an address, not a range", Remedy: "write " + netip.PrefixFrom(addr.WithZone(""), addr.BitLen()).String()}
	}
	subnet, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, Problem{Rule: Quote(text) + " is not an address range", Remedy: "write for example 10.0.0.0/24"}
	}
	if subnet.Addr().Is4In6() {
		return netip.Prefix{}, Problem{Rule: text + " is IPv4 written as IPv6", Remedy: "write the plain IPv4 range, for example 10.0.0.0/24"}
	}
	if masked := subnet.Masked(); masked != subnet {
		return netip.Prefix{}, Problem{Rule: text + " has bits set after its prefix", Remedy: "write " + masked.String()}
	}
	return subnet, nil
}

// decodeList splits a value at commas and parses each entry. An empty entry is
// a mistake: it is more often a forgotten one than a superfluous comma.
func decodeList[T any](value string, parse func(string) (T, error)) ([]T, error) {
	var list []T
	var wrong []error
	for entry := range strings.SplitSeq(value, ",") {
		entry = strings.TrimSpace(entry)
		if entry == "" {
			wrong = append(wrong, Problem{Rule: "has an empty entry", Remedy: "remove the comma, or add what is missing"})
			continue
		}
		parsed, err := parse(entry)
		if err != nil {
			wrong = append(wrong, err)
			continue
		}
		list = append(list, parsed)
	}
	if len(wrong) > 0 {
		return nil, errors.Join(wrong...)
	}
	return list, nil
}

// join writes a list as the environment spells it.
func join[T interface{ String() string }](list []T) string {
	words := make([]string, 0, len(list))
	for _, entry := range list {
		words = append(words, entry.String())
	}
	return strings.Join(words, ",")
}
