package join

import (
	"cmp"
	"net/netip"
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
	groups := strings.Split(address.StringExpanded(), ":")
	for i, group := range groups {
		groups[i] = cmp.Or(strings.TrimLeft(group, "0"), "0")
	}
	return strings.Join(groups, "-")
}
