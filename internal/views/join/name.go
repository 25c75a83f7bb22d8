package join

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Name is the name of the endpoint's view: web.http.10-0-0-12.8080. It is a DNS
// name, says all of the identity within the namespace, and so is the same everywhere
// and for ever. The names of Services and ports have no dots.
func Name(service string, e *Endpoint) string {
	return strings.Join([]string{PortName(service, e.Port.Name), dashed(e.Address), strconv.Itoa(int(e.TargetPort))}, ".")
}

// PortName is the name of the view of a port: web.http, or web where the port has no
// name.
func PortName(service, port string) string {
	if port == "" {
		return service
	}
	return service + "." + port
}

// dashed is an address as one label of a DNS name. That of IPv6 has all its groups:
// a label does not begin with a dash.
func dashed(address netip.Addr) string {
	if address.Is4() {
		return strings.ReplaceAll(address.String(), ".", "-")
	}
	bytes := address.As16()
	groups := make([]string, 0, 8)
	for group := range slices.Chunk(bytes[:], 2) {
		groups = append(groups, strconv.FormatUint(uint64(binary.BigEndian.Uint16(group)), 16))
	}
	return strings.Join(groups, "-")
}
