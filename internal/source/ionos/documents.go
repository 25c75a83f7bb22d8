package ionos

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// The documents of the API, as far as they are read here. The SDK's own types
// refuse a whole list for one unknown value of an enum (measured), so the raw
// answers are decoded into these.

// collection is one page of a list. The SDK decodes an empty answer, null and an
// answer without items all to "no items and no error": items tells them apart.
type collection[T any] struct {
	Items *[]T     `json:"items"`
	Limit *float64 `json:"limit"`
	Links *links   `json:"_links"`
}

type links struct {
	Next *string `json:"next"`
}

// element is anything with an id.
type element interface{ key() string }

type nicDocument struct {
	ID         string `json:"id"`
	Href       string `json:"href"`
	Properties *struct {
		LAN   *number   `json:"lan"`
		IPs   []*string `json:"ips"`
		IPv6s []*string `json:"ipv6Ips"`
	} `json:"properties"`
}

type serverDocument struct {
	ID         string `json:"id"`
	Properties *struct {
		Name string `json:"name"`
	} `json:"properties"`
	Entities *struct {
		NICs *collection[nicDocument] `json:"nics"`
	} `json:"entities"`
}

type poolDocument struct {
	ID string `json:"id"`
}

type nodeDocument struct {
	ID       string `json:"id"`
	Metadata *struct {
		State string `json:"state"`
	} `json:"metadata"`
	Properties *struct {
		Name string `json:"name"`
	} `json:"properties"`
}

type lanDocument struct {
	ID         string `json:"id"`
	Properties *struct {
		Name       string  `json:"name"`
		Public     bool    `json:"public"`
		IPv4       *string `json:"ipv4CidrBlock"`
		IPv6       *string `json:"ipv6CidrBlock"`
		IPFailover []struct {
			IP *string `json:"ip"`
		} `json:"ipFailover"`
	} `json:"properties"`
}

func (d nicDocument) key() string    { return strings.ToLower(d.ID) }
func (d serverDocument) key() string { return strings.ToLower(d.ID) }
func (d poolDocument) key() string   { return strings.ToLower(d.ID) }
func (d nodeDocument) key() string   { return strings.ToLower(d.ID) }

// number is a LAN's id, which the API writes as a number in one place and as
// text in another.
type number int64

// UnmarshalJSON implements json.Unmarshaler.
func (n *number) UnmarshalJSON(data []byte) error {
	text := strings.Trim(string(data), `"`)
	value, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return fmt.Errorf("a LAN's id is %.20q, must be a whole number", text)
	}
	*n = number(value)
	return nil
}

// Why an answer with status 200 is none.
var (
	errNoAnswer   = errors.New("the answer is empty")
	errNoItems    = errors.New(`the answer has no "items", so it is no list`)
	errNoProgress = errors.New("the answer says that there is more, and further pages hold nothing new")
)

// decode reads one document.
func decode[T any](payload []byte) (T, error) {
	var document *T
	if len(payload) == 0 {
		return *new(T), errNoAnswer
	}
	if err := json.Unmarshal(payload, &document); err != nil {
		return *new(T), malformed(err)
	}
	if document == nil {
		return *new(T), fmt.Errorf("%w: null", errNoAnswer)
	}
	return *document, nil
}

// malformed explains why an answer cannot be decoded, without repeating it.
func malformed(err error) error {
	syntax, kind := new(json.SyntaxError), new(json.UnmarshalTypeError)
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("the answer is not JSON, or truncated (byte %d)", syntax.Offset)
	case errors.As(err, &kind):
		return fmt.Errorf("the answer has a wrong type at %q (byte %d)", kind.Field, kind.Offset)
	}
	return fmt.Errorf("the answer cannot be decoded: %w", err)
}

// decodePage reads one page of a list and makes sure that it is one.
func decodePage[T element](payload []byte) (collection[T], error) {
	page, err := decode[collection[T]](payload)
	if err != nil {
		return page, err
	}
	if page.Items == nil {
		return page, errNoItems
	}
	for i, item := range *page.Items {
		if item.key() == "" {
			return page, fmt.Errorf("item %d of the answer has no id", i+1)
		}
	}
	return page, nil
}

// addresses are all addresses of a network card. Entries may be null or empty.
func (d nicDocument) addresses() ([]netip.Addr, error) {
	if d.Properties == nil {
		return nil, fmt.Errorf("network card %s has no properties", d.ID)
	}
	var addrs []netip.Addr
	for _, list := range [][]*string{d.Properties.IPs, d.Properties.IPv6s} {
		for _, entry := range list {
			if entry == nil || strings.TrimSpace(*entry) == "" {
				continue
			}
			addr, err := netip.ParseAddr(strings.TrimSpace(*entry))
			if err != nil {
				return nil, fmt.Errorf("network card %s has the address %.64q, which is none", d.ID, *entry)
			}
			addrs = append(addrs, addr)
		}
	}
	return addrs, nil
}

// onLAN reports whether the network card is on a LAN. A card that does not say
// is on the LAN whose list it was found in, if any.
func (d nicDocument) onLAN(id int, listed bool) bool {
	if d.Properties == nil || d.Properties.LAN == nil {
		return listed
	}
	return int64(*d.Properties.LAN) == int64(id)
}
