package settings

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
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
	name, _, named := strings.Cut(text, "=")
	return demand(named && strings.TrimSpace(name) != "", Quote(text)+" is not name=address", "write for example worker-1=10.0.0.11,worker-2=10.0.0.12")
}

var portForm = regexp.MustCompile(`^[^=\s]+\s*=\s*[0-9]{1,5}\s*(/\s*\w+)?$`)

// port is the form of an entry of TARGET_PORTS. What is in it is judged as in a document.
func port(text string) error {
	return demand(portForm.MatchString(text), Quote(text)+" is not name=port or name=port/protocol", "write for example http=8080,dns=53/UDP, or set TARGET_PORT alone to take the name from the Service")
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
	return demand(variableForm.MatchString(text), Quote(text)+" is not the name of a variable", "write names only, for example AWS_PROFILE,LANG")
}

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

// Args splits the arguments of a program as a shell does: at white space, with
// single quotes, double quotes and backslashes. Because no shell runs, what a
// shell would replace or carry out is refused rather than passed on as text or
// dropped; *, ? and ~ are passed on as they stand.
func Args(value string) ([]string, error) {
	if strings.ContainsAny(value, "\x00\r") {
		return nil, Problem{Rule: "holds a NUL or a carriage return", Remedy: "remove it"}
	}
	var args []string
	var word []byte // nil between words
	quote, opened := byte(0), 0
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case quote == '\'' && c != quote, quote == '"' && c == '\'':
			word = append(word, c)
		case c == quote:
			quote = 0
		case c == '"', c == '\'':
			quote, opened, word = c, i, append([]byte{}, word...)
		case c == '\\' && i+1 < len(value):
			i++
			word = escaped(word, value[i], quote != 0)
		case c == '$', c == '`', quote == 0 && strings.IndexByte("|&;<>()", c) >= 0, c == '#' && word == nil:
			return nil, Problem{Rule: fmt.Sprintf("holds %c at character %d, and no shell runs to carry out what that means", c, i+1), Remedy: "put single quotes around it to pass it on as it stands"}
		case quote == 0 && strings.IndexByte(" \t\n", c) >= 0:
			if word != nil {
				args = append(args, string(word))
			}
			word = nil
		default:
			word = append(word, c)
		}
	}
	if quote != 0 {
		return nil, Problem{Rule: fmt.Sprintf("does not close the %c at character %d", quote, opened+1), Remedy: "close it, or put a backslash before it"}
	}
	if word != nil {
		args = append(args, string(word))
	}
	return args, nil
}

// escaped adds what a backslash and a character stand for. Between double quotes a
// backslash escapes only what is special there.
func escaped(word []byte, c byte, quoted bool) []byte {
	switch {
	case c == '\n':
		return word
	case quoted && strings.IndexByte("$`\"\\", c) < 0:
		return append(word, '\\', c)
	}
	return append(word, c)
}
