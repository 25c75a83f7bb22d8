package ionos

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
)

// document is anything that the API lists or describes, as far as it is read
// here. The SDK's own types refuse a whole list for one unknown value of an enum
// (measured), so the raw answers are decoded into this one.
type document struct {
	ID       string `json:"id"`
	Href     string `json:"href"`
	Metadata struct {
		State string `json:"state"`
	} `json:"metadata"`
	Properties *properties `json:"properties"`
	Entities   struct {
		NICs list `json:"nics"`
	} `json:"entities"`
}

// properties are those of a network card, LAN, server, node pool or node. What
// may be null where it is known is a field.
type properties struct {
	Name field[string] `json:"name"`

	LAN   *json.Number     `json:"lan"` // a number, or one as text
	IPs   field[[]*string] `json:"ips"`
	IPv6s []*string        `json:"ipv6Ips"`

	Public     bool               `json:"public"`
	IPv4       string             `json:"ipv4CidrBlock"`
	IPv6       string             `json:"ipv6CidrBlock"`
	IPFailover field[[]*failover] `json:"ipFailover"`

	Labels     field[map[string]string] `json:"labels"`
	Zone       string                   `json:"availabilityZone"`
	Datacenter string                   `json:"datacenterId"`
}

type failover struct {
	IP field[string] `json:"ip"`
}

// list is one page of a list. The SDK decodes an empty answer, null and an answer
// without items all to "no items and no error": Items tells them apart.
type list struct {
	Items *[]document `json:"items"`
	Limit float64     `json:"limit"`
	Links *struct {
		Next string `json:"next"`
	} `json:"_links"`
}

// field tells a field that is null from one that is absent, which makes its
// document incomplete.
type field[T any] struct {
	value T
	there bool
}

// UnmarshalJSON implements json.Unmarshaler.
func (f *field[T]) UnmarshalJSON(data []byte) error {
	f.there = true
	return json.Unmarshal(data, &f.value)
}

// Why an answer with status 200 is none.
var (
	errNoAnswer = errors.New("the answer is empty")
	errNoItems  = errors.New(`the answer has no "items", so it is no list`)
)

// incomplete is the error about a document that says less than is needed. One
// that was passed over could look like a node that is gone (contract 2).
func incomplete(name, field string) error {
	return fmt.Errorf("%s has no %s, so the answer is incomplete: it changes nothing and is asked again; if this lasts, report it to IONOS", name, field)
}

// decode reads one answer.
func decode[T any](payload []byte) (T, error) {
	var answer *T
	if len(payload) == 0 {
		return *new(T), errNoAnswer
	}
	if err := json.Unmarshal(payload, &answer); err != nil {
		return *new(T), malformed(err)
	}
	if answer == nil {
		return *new(T), fmt.Errorf("%w: null", errNoAnswer)
	}
	return *answer, nil
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
func decodePage(payload []byte) (list, error) {
	page, err := decode[list](payload)
	if err != nil {
		return page, err
	}
	if page.Items == nil {
		return page, errNoItems
	}
	for i, item := range *page.Items {
		if item.ID == "" {
			return page, incomplete(fmt.Sprintf("item %d of the answer", i+1), "id")
		}
	}
	return page, nil
}

// continues reports whether the answer itself names a further page.
func (l list) continues() bool { return l.Links != nil && l.Links.Next != "" }

// key is the id, for comparing.
func (d document) key() string { return strings.ToLower(d.ID) }

// onLAN reports whether a network card is on a LAN. A card of the LAN's own list
// need not say; one of a server must.
func (d document) onLAN(lan int, listed bool) (bool, error) {
	switch {
	case d.Properties == nil:
		return false, incomplete("network card "+d.ID, "properties")
	case d.Properties.LAN != nil:
		id, err := d.Properties.LAN.Int64()
		if err != nil {
			return false, fmt.Errorf("network card %s is on LAN %.20q, which is no whole number", d.ID, d.Properties.LAN.String())
		}
		return id == int64(lan), nil
	case !listed:
		return false, incomplete("network card "+d.ID, "properties.lan")
	}
	return true, nil
}

// addresses are all addresses of a network card. Entries may be null or empty,
// and so may the list: a new card has none for minutes.
func (d document) addresses() ([]netip.Addr, error) {
	if !d.Properties.IPs.there {
		return nil, incomplete("network card "+d.ID, "properties.ips")
	}
	var addrs []netip.Addr
	for _, entries := range [][]*string{d.Properties.IPs.value, d.Properties.IPv6s} {
		for _, entry := range entries {
			addr, err := address(entry)
			if err != nil {
				return nil, fmt.Errorf("network card %s has the address %.64q, which is no IP address", d.ID, *entry)
			}
			if addr.IsValid() {
				addrs = append(addrs, addr)
			}
		}
	}
	return addrs, nil
}

// address parses an entry of a list; what is null or empty is the zero Addr.
func address(entry *string) (netip.Addr, error) {
	if entry == nil || strings.TrimSpace(*entry) == "" {
		return netip.Addr{}, nil
	}
	return netip.ParseAddr(strings.TrimSpace(*entry))
}

// failoverAddresses are the addresses of the LAN's failover group, which move between
// servers.
func (d document) failoverAddresses() (map[netip.Addr]bool, error) {
	switch {
	case d.Properties == nil:
		return nil, incomplete("the answer", "properties")
	case !d.Properties.IPFailover.there:
		return nil, incomplete("the answer", "properties.ipFailover")
	}
	addrs := map[netip.Addr]bool{}
	for _, entry := range d.Properties.IPFailover.value {
		if entry == nil {
			continue
		}
		if !entry.IP.there {
			return nil, incomplete("the answer", "properties.ipFailover.ip")
		}
		addr, err := address(&entry.IP.value)
		if err != nil {
			return nil, fmt.Errorf("the failover address %.64q is no IP address", entry.IP.value)
		}
		addrs[addr] = true
	}
	return addrs, nil
}

// warnings are what is odd about the LAN, given what may be published.
func (d document) warnings(lan int, subnets []netip.Prefix) []string {
	var odd []string
	if d.Properties.Public {
		odd = append(odd, fmt.Sprintf("LAN %d is public; check IONOS_PRIVATE_LAN_ID", lan))
	}
	for _, block := range []string{d.Properties.IPv4, d.Properties.IPv6} {
		prefix, err := netip.ParsePrefix(block)
		if err != nil {
			continue // it may be null, AUTO or empty: not given
		}
		same, overlap := false, false
		for _, subnet := range subnets {
			same = same || subnet.Addr().Is4() == prefix.Addr().Is4()
			overlap = overlap || subnet.Overlaps(prefix)
		}
		if same && !overlap {
			odd = append(odd, fmt.Sprintf("LAN %d has the addresses %s, none of which is inside SECURED_SUBNET_CIDR", lan, prefix))
		}
	}
	return odd
}

// ownerOf reads whose a network card is from its link:
//
//	.../datacenters/<id>/servers/<server>/nics/<nic>    the server
//	.../datacenters/<id>/lans/<lan>/nics/<nic>          not said: any server
//	.../datacenters/<id>/<anything else>/<id>/...       something else, as a load balancer
func ownerOf(href string) (server string, unknown bool) {
	path, _, _ := strings.Cut(href, "?")
	segments := strings.Split(path, "/")
	if i := slices.Index(segments, "servers") + 1; i > 0 && i < len(segments) && isUUID(segments[i]) {
		return strings.ToLower(segments[i]), false
	}
	if i := slices.Index(segments, "datacenters") + 2; i > 1 && i+1 < len(segments) {
		return "", slices.Contains([]string{"lans", "servers", "nics"}, segments[i])
	}
	return "", true
}

// isUUID reports whether text is a UUID, as the ids of servers are. The id of a
// node of another provider need not be one.
func isUUID(text string) bool {
	for i, c := range []byte(text) {
		dash := i == 8 || i == 13 || i == 18 || i == 23
		if dash != (c == '-') || !dash && strings.IndexByte("0123456789abcdefABCDEF", c) < 0 {
			return false
		}
	}
	return len(text) == 36
}

// serverID is the server that a node names by its id, or "" where its id is not
// that of an IONOS server.
func serverID(node inventory.Node) string {
	if !isUUID(node.ID) {
		return ""
	}
	return strings.ToLower(node.ID)
}
