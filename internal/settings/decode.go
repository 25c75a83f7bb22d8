package settings

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"strconv"
	"strings"
	"time"
)

// decode sets a field to a value, or says what is wrong with the value. Choices,
// limits and formats come from the field's tags.
func decode(target any, value string, tags reflect.StructTag) error {
	if choices := tags.Get("oneof"); choices != "" {
		return choose(reflect.ValueOf(target).Elem(), value, strings.Split(choices, ","))
	}
	form := forms[Form(tags.Get("format"))]
	switch t := target.(type) {
	case *[]string:
		list, err := decodeList(value, form)
		if err == nil {
			*t = list
		}
		return err
	case *string:
		*t = value
		if form == nil {
			return nil
		}
		return form(value)
	case *bool:
		return decodeBool(t, value)
	case *int:
		return decodeLimited(t, value, tags, parseInt)
	case *time.Duration:
		return decodeLimited(t, value, tags, parseDuration)
	case *netip.AddrPort:
		return decodeAddrPort(t, value)
	}
	// A field of another type is a defect that every test of Load meets.
	panic(fmt.Sprintf("settings: no decoder for %T", target))
}

func decodeBool(target *bool, value string) error {
	parsed, err := strconv.ParseBool(value)
	if err != nil {
		return Problem{Rule: "is neither true nor false", Remedy: "write true or false"}
	}
	*target = parsed
	return nil
}

// decodeLimited parses a number or duration and holds it against the tags min
// and max, both of which it has.
func decodeLimited[T cmp.Ordered](target *T, value string, tags reflect.StructTag, parse func(string) (T, error)) error {
	parsed, err := parse(value)
	least, _ := parse(tags.Get("min"))
	most, _ := parse(tags.Get("max"))
	switch {
	case errors.Is(err, strconv.ErrRange), err == nil && (parsed < least || parsed > most):
		return Problem{Rule: "is outside " + tags.Get("min") + " to " + tags.Get("max"), Remedy: "write for example " + cmp.Or(tags.Get("default"), tags.Get("example"))}
	case err == nil:
		*target = parsed
	}
	return err
}

func parseInt(value string) (int, error) {
	parsed, err := strconv.Atoi(value)
	if err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0, notANumber(value)
	}
	return parsed, err
}

func notANumber(value string) Problem {
	p := Problem{Rule: "is not a whole number", Remedy: "write digits only"}
	if digits, ok := strings.CutSuffix(value, "%"); ok {
		if _, err := strconv.Atoi(digits); err == nil {
			p.Remedy = "write " + digits
		}
	}
	return p
}

func parseDuration(value string) (time.Duration, error) {
	parsed, err := time.ParseDuration(value)
	if err == nil {
		return parsed, nil
	}
	if _, err := strconv.ParseUint(value, 10, 32); err == nil {
		return 0, Problem{Rule: "is a duration without a unit", Remedy: "write " + value + "s"}
	}
	compact := strings.ToLower(strings.Join(strings.Fields(value), ""))
	if _, err := time.ParseDuration(compact); err == nil {
		return 0, Problem{Rule: "is not a duration", Remedy: "write " + compact}
	}
	return 0, Problem{Rule: "is not a duration", Remedy: "write a number with a unit, such as 500ms, 30s, 2m or 1h30m"}
}

// FormatDuration writes a duration the way a person would: 1h, not 1h0m0s.
func FormatDuration(d time.Duration) string {
	text := d.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	if strings.HasSuffix(text, "h0m") {
		text = strings.TrimSuffix(text, "0m")
	}
	return text
}

func decodeAddrPort(target *netip.AddrPort, value string) error {
	parsed, err := netip.ParseAddrPort(value)
	if err == nil {
		*target = parsed
		return nil
	}
	p := Problem{Rule: "is not an IP address with a port", Remedy: "write for example 127.0.0.1:8080"}
	if port, ok := strings.CutPrefix(value, "localhost:"); ok {
		p.Remedy = "write 127.0.0.1:" + port
	}
	if port, ok := strings.CutPrefix(value, ":"); ok {
		p.Remedy = "write 0.0.0.0:" + port + " for every address of this machine, or 127.0.0.1:" + port
	}
	return p
}
