package publish

import (
	"cmp"
	"strconv"
	"strings"
)

// Names are fixed, so that a create whose answer was lost can be repeated
// without ever making a second slice:
//
//	number  IPv4      IPv6
//	1       <name>    <name>-ipv6
//	2       <name>-2  <name>-ipv6-2
//	n       <name>-n  <name>-ipv6-n
//
// The name that a pool gives, web.blue, goes on with dots, also where another pool has the slices
// now: web.blue.2, web.blue.ipv6. With hyphens, web.blue-2 would be the second slice of
// pool blue and the first of pool blue-2.

// NameOf returns the name of the target's slice of that family and number,
// counted from 1.
func (t Target) NameOf(family Family, number int) string {
	name := t.SliceName
	if family == IPv6 {
		name += t.separator() + "ipv6"
	}
	if number > 1 {
		name += t.separator() + strconv.Itoa(number)
	}
	return name
}

// ParseName is the inverse of NameOf: it returns family and number of a slice
// name, and whether the name is one of the target's at all.
func (t Target) ParseName(name string) (family Family, number int, ok bool) {
	rest, ok := strings.CutPrefix(name, t.SliceName)
	if !ok {
		return IPv4, 0, false
	}
	if after, v6 := strings.CutPrefix(rest, t.separator()+"ipv6"); v6 {
		family, rest = IPv6, after
	}
	if rest == "" {
		return family, 1, true
	}
	digits, ok := strings.CutPrefix(rest, t.separator())
	if !ok {
		return IPv4, 0, false
	}
	number, err := strconv.Atoi(digits)
	if err != nil || number < 2 || strconv.Itoa(number) != digits {
		return IPv4, 0, false
	}
	return family, number, true
}

// Adopted reports whether the slices have a name that the target of a pool does not give
// by itself.
func (t Target) Adopted() bool { return t.SliceName != t.Service+"."+t.Pool }

// separator stands between the parts of a name.
func (t Target) separator() string {
	if t.Pool != "" && strings.HasPrefix(t.SliceName, t.Service+".") {
		return "."
	}
	return "-"
}

// CompareNames orders slice names of the target by family, then by number;
// names that are not the target's come last.
func (t Target) CompareNames(a, b string) int {
	familyA, numberA, okA := t.ParseName(a)
	familyB, numberB, okB := t.ParseName(b)
	if okA != okB {
		if okA {
			return -1
		}
		return 1
	}
	return cmp.Or(cmp.Compare(familyA, familyB), cmp.Compare(numberA, numberB), cmp.Compare(a, b))
}
