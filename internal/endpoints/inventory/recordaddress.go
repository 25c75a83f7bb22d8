package inventory

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
)

// maxAddress is how many bytes the text of an address may have: the longest IPv6
// address and the longest interface name as its zone fit.
const maxAddress = 64

// address reads the one address of a node.
func (r *recordReader) address(key string) error {
	token, err := r.next()
	if err != nil {
		return err
	}
	return r.addAddress(strconv.Quote(key), token)
}

// addresses reads an array of addresses, which may be empty.
func (r *recordReader) addresses(key string) error {
	open, err := r.next()
	if err != nil {
		return err
	}
	if open.value != json.Delim('[') {
		return r.malformed(open.at, "%q is %s, must be an array of addresses; a node without an address has []", key, open.kind())
	}
	for r.json.More() {
		token, err := r.next()
		if err != nil {
			return err
		}
		if err := r.addAddress("an entry of "+strconv.Quote(key), token); err != nil {
			return err
		}
	}
	_, err = r.next()
	return err
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
