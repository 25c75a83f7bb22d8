package inventory

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// The longest texts of a record, in bytes. A name and an id are bounded as names
// of Kubernetes objects are, a zone as the value of a label.
const (
	maxName = 253
	maxID   = 253
	maxZone = 63
)

// The keys of a record, in the order of the documentation.
const (
	keyName       = "name"
	keyPrivateIP  = "private_ip"
	keyPrivateIPs = "private_ips"
	keyReady      = "ready"
	keyWorker     = "worker"
	keyID         = "id"
	keyZone       = "zone"
	keyLeaving    = "leaving"
)

func knownKeys() []string {
	return []string{keyName, keyPrivateIP, keyPrivateIPs, keyReady, keyWorker, keyID, keyZone, keyLeaving}
}

// recordReader reads one record of the array.
type recordReader struct {
	*walker
	// number counts records from 1.
	number int
	// at is where the record begins.
	at   int
	keys []string
	node Node
	// listed holds the node's addresses.
	listed map[netip.Addr]struct{}
}

func (r *recordReader) read() error {
	open := r.next()
	r.at = open.at
	if open.value != json.Delim('{') {
		return r.malformed(open.at, "the record is %s, must be an object", open.kind())
	}
	for r.json.More() {
		if err := r.readKey(r.next()); err != nil {
			return err
		}
	}
	r.next()
	return r.checkComplete()
}

func (r *recordReader) readKey(token token) error {
	key, _ := token.value.(string)
	if slices.Contains(r.keys, key) {
		return r.malformed(token.at, "key %s is given twice; keep one", quote(key))
	}
	if slices.Contains(knownKeys(), key) {
		r.keys = append(r.keys, key)
	}
	var err error
	switch key {
	case keyName:
		r.node.Name, err = r.text(key, maxName)
	case keyID:
		r.node.ID, err = r.text(key, maxID)
	case keyZone:
		r.node.Zone, err = r.text(key, maxZone)
	case keyReady:
		r.node.Ready, err = r.boolean(key)
	case keyWorker:
		r.node.Worker, err = r.boolean(key)
	case keyLeaving:
		r.node.Leaving, err = r.boolean(key)
	case keyPrivateIP:
		err = r.addAddress(strconv.Quote(key), r.next())
	case keyPrivateIPs:
		err = r.addresses(key)
	default:
		err = r.malformed(token.at, "unknown key %s; %s", quote(key), suggestKey(key))
	}
	return err
}

// checkComplete looks at what only a whole record can tell.
func (r *recordReader) checkComplete() error {
	single, several := slices.Contains(r.keys, keyPrivateIP), slices.Contains(r.keys, keyPrivateIPs)
	if single && several {
		return r.malformed(r.at, "both %q and %q are given; keep one", keyPrivateIP, keyPrivateIPs)
	}
	for _, key := range []string{keyName, keyReady, keyWorker} {
		if !slices.Contains(r.keys, key) {
			return r.malformed(r.at, "the key %q is missing; it is required", key)
		}
	}
	if !single && !several {
		return r.malformed(r.at, "the key %q or %q is missing; a node without an address has %q: []", keyPrivateIP, keyPrivateIPs, keyPrivateIPs)
	}
	return nil
}

func (r *recordReader) boolean(key string) (bool, error) {
	token := r.next()
	value, ok := token.value.(bool)
	if !ok {
		return false, r.malformed(token.at, "%q is %s, must be true or false%s", key, token.kind(), leaveOut(key))
	}
	return value, nil
}

// text reads a string that is safe to print and not too long.
func (r *recordReader) text(key string, maxBytes int) (string, error) {
	token := r.next()
	value, ok := token.value.(string)
	switch {
	case !ok:
		return "", r.malformed(token.at, "%q is %s, must be a string%s", key, token.kind(), leaveOut(key))
	case value == "":
		return "", r.malformed(token.at, "%q is empty, must not be%s", key, leaveOut(key))
	case len(value) > maxBytes:
		return "", r.malformed(token.at, "%q has %d bytes, must have at most %d", key, len(value), maxBytes)
	case strings.ContainsFunc(value, unprintable):
		return "", r.malformed(token.at, "%q is %s, must have no control character and no lone surrogate", key, quote(value))
	}
	return value, nil
}

// unprintable reports whether a character would not show, or not as itself, on
// a terminal or page. The replacement character is what is left of a surrogate
// without its other half, from which two texts could become one.
func unprintable(c rune) bool { return !unicode.IsPrint(c) || c == utf8.RuneError }

// leaveOut is the remedy where exporters write null, or nothing, for a value
// that they do not know and that is not required.
func leaveOut(key string) string {
	switch key {
	case keyID, keyZone, keyLeaving:
		return "; leave the key out where its value is not known"
	}
	return ""
}

// maxAddress is how many bytes the text of an address may have: the longest IPv6
// address and the longest interface name as its zone fit.
const maxAddress = 64

// addresses reads an array of addresses, which may be empty.
func (r *recordReader) addresses(key string) error {
	open := r.next()
	if open.value != json.Delim('[') {
		return r.malformed(open.at, "%q is %s, must be an array of addresses; a node without an address has []", key, open.kind())
	}
	for r.json.More() {
		if err := r.addAddress("an entry of "+strconv.Quote(key), r.next()); err != nil {
			return err
		}
	}
	r.next()
	return nil
}

// addAddress adds one address to the node. What may be published is for the
// filter to say; here it only has to be an address.
func (r *recordReader) addAddress(what string, token token) error {
	text, ok := token.value.(string)
	if !ok {
		return r.malformed(token.at, "%s is %s, must be an address; a node without one has %q: []", what, token.kind(), keyPrivateIPs)
	}
	addr, err := parseAddress(text)
	if err != nil {
		return r.malformed(token.at, "%s is %s, must be an address: %w", what, quote(text), err)
	}
	if _, twice := r.listed[addr]; !twice {
		r.listed[addr] = struct{}{}
		r.node.Addresses = append(r.node.Addresses, addr)
	}
	return nil
}

// parseAddress is netip.ParseAddr with a remedy for what people write instead
// of an address.
func parseAddress(text string) (netip.Addr, error) {
	if text == "" {
		return netip.Addr{}, fmt.Errorf("a node without one has %q: []", keyPrivateIPs)
	}
	if len(text) > maxAddress {
		return netip.Addr{}, fmt.Errorf("it has %d bytes, an address has at most %d", len(text), maxAddress)
	}
	addr, err := netip.ParseAddr(text)
	if err == nil && !strings.ContainsFunc(addr.Zone(), unprintable) {
		return addr, nil
	}
	if err == nil {
		return netip.Addr{}, fmt.Errorf("its zone has a control character")
	}
	if prefix, err := netip.ParsePrefix(text); err == nil {
		return netip.Addr{}, fmt.Errorf("leave the prefix length out, write %q", prefix.Addr())
	}
	if socket, err := netip.ParseAddrPort(text); err == nil {
		return netip.Addr{}, fmt.Errorf("leave the port out, write %q", socket.Addr())
	}
	if inner, err := netip.ParseAddr(strings.Trim(text, " \t\r\n[]")); err == nil {
		return netip.Addr{}, fmt.Errorf("leave out what is around it, write %q", inner)
	}
	// The error repeats its input, which the caller has named.
	reason, _ := strings.CutPrefix(err.Error(), "ParseAddr("+strconv.Quote(text)+"): ")
	return netip.Addr{}, fmt.Errorf("%s; write it like 10.0.0.12 or fd00::12", reason)
}
