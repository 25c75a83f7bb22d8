package settings

import (
	"errors"
	"net/netip"
	"regexp"
	"strings"
)

// decodeList splits a value at commas and holds each entry against a form. An empty entry
// is a mistake: it is more often a forgotten one than a superfluous comma.
func decodeList(value string, form func(string) error) ([]string, error) {
	var list []string
	var wrong []error
	for entry := range strings.SplitSeq(value, ",") {
		entry = strings.TrimSpace(entry)
		if entry == "" {
			wrong = append(wrong, Problem{Rule: "has an empty entry", Remedy: "remove the comma, or add what is missing"})
			continue
		}
		list = append(list, entry)
		wrong = append(wrong, form(entry))
	}
	return list, errors.Join(wrong...)
}

// Join writes a list as the environment spells it.
func Join[T interface{ String() string }](list []T) string {
	words := make([]string, 0, len(list))
	for _, entry := range list {
		words = append(words, entry.String())
	}
	return strings.Join(words, ",")
}

func subnet(text string) error {
	if addr, err := netip.ParseAddr(text); err == nil {
		return Problem{Rule: text + " is an address, not a range", Remedy: "write " + netip.PrefixFrom(addr.WithZone(""), addr.BitLen()).String()}
	}
	subnet, err := netip.ParsePrefix(text)
	switch {
	case err != nil:
		return Problem{Rule: Quote(text) + " is not an address range", Remedy: "write for example 10.0.0.0/24"}
	case subnet.Addr().Is4In6():
		return Problem{Rule: text + " is IPv4 written as IPv6", Remedy: "write the plain IPv4 range, for example 10.0.0.0/24"}
	case subnet.Masked() != subnet:
		return Problem{Rule: text + " has bits set after its prefix", Remedy: "write " + subnet.Masked().String()}
	}
	return nil
}

// node is the form of an entry of STATIC_NODES. What is in it is judged as in a document.
func node(text string) error {
	if name, _, named := strings.Cut(text, "="); !named || strings.TrimSpace(name) == "" {
		return Problem{Rule: Quote(text) + " is not name=address", Remedy: "write for example worker-1=10.0.0.11,worker-2=10.0.0.12"}
	}
	return nil
}

var portForm = regexp.MustCompile(`^[^=\s]+\s*=\s*[0-9]{1,5}\s*(/\s*\w+)?$`)

// port is the form of an entry of TARGET_PORTS. What is in it is judged as in a document.
func port(text string) error {
	if portForm.MatchString(text) {
		return nil
	}
	return Problem{Rule: Quote(text) + " is not name=port or name=port/protocol", Remedy: "write for example http=8080,dns=53/UDP, or set TARGET_PORT alone to take the name from the Service"}
}

// namespace is the form of an entry of BOUNDS_NAMESPACES.
func namespace(text string) error {
	if text == "*" {
		return nil
	}
	return dnsLabel(text)
}

var variableForm = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// variableName is the form of an entry of INVENTORY_COMMAND_ENV.
func variableName(text string) error {
	if variableForm.MatchString(text) {
		return nil
	}
	return Problem{Rule: Quote(text) + " is not the name of a variable", Remedy: "write names only, for example AWS_PROFILE,LANG"}
}
