package join

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/pkg/views"
)

// Endpoint is one endpoint of one port of a Service, as a join finds it. Two that
// are equal say the same.
type Endpoint struct {
	// Service is the type of the Service.
	Service    string
	Port       Port
	Address    netip.Addr
	TargetPort int32
	State      views.State
	Zone, Node string
	Target     views.TargetRef
}

// compare orders the endpoints of a Service by their identity.
func compare(a, b *Endpoint) int {
	return cmp.Or(strings.Compare(a.Port.Name, b.Port.Name), a.Address.Compare(b.Address), cmp.Compare(a.TargetPort, b.TargetPort))
}

// mention is one mention of an endpoint: the same may stand in several slices, and
// in one slice twice.
type mention struct {
	address netip.Addr
	port    *slicePort
	slice   int32
	index   int32 // within the slice
	*sliceEndpoint
}

// Join returns the endpoints of a Service, each once, by port name, address and
// target port. The order of the slices changes nothing.
func Join(service *Service, all []*Slice) []Endpoint {
	if service == nil {
		return nil
	}
	ordered := slices.Clone(all)
	slices.SortFunc(ordered, func(a, b *Slice) int { return strings.Compare(a.Name, b.Name) })
	ports := slices.Clone(service.Ports)
	slices.SortFunc(ports, func(a, b Port) int { return strings.Compare(a.Name, b.Name) })
	most := 0
	for _, slice := range ordered {
		most += len(slice.endpoints)
	}
	var joined []Endpoint
	found := make([]mention, 0, most)
	for _, port := range ports {
		found = mentions(found[:0], service, port, ordered)
		joined = joinPort(joined, service, port, found)
	}
	return joined
}

// joinPort adds the endpoints of one port, of which these are the mentions.
func joinPort(joined []Endpoint, service *Service, port Port, copies []mention) []Endpoint {
	slices.SortFunc(copies, func(a, b mention) int {
		return cmp.Or(a.address.Compare(b.address), cmp.Compare(a.port.number, b.port.number), cmp.Compare(a.slice, b.slice), cmp.Compare(a.index, b.index))
	})
	chosen := copies[:0]
	var ready4, ready6 bool // whether something of the family is ready
	for rest := copies; len(rest) > 0; {
		same := 1
		for same < len(rest) && rest[same].address == rest[0].address && rest[same].port.number == rest[0].port.number {
			same++
		}
		one := choose(rest[:same])
		rest = rest[same:]
		chosen = append(chosen, one)
		ready4 = ready4 || one.conditions.ready && one.address.Is4()
		ready6 = ready6 || one.conditions.ready && one.address.Is6()
	}
	joined = slices.Grow(joined, len(chosen))
	for _, c := range chosen {
		e := Endpoint{
			Service: string(service.Type), Port: port, Address: c.address, TargetPort: c.port.number,
			State: c.conditions.state(ready4 && c.address.Is4() || ready6 && c.address.Is6()), Zone: c.zone, Node: c.node, Target: c.target,
		}
		e.Port.AppProtocol = cmp.Or(e.Port.AppProtocol, c.port.appProtocol)
		joined = append(joined, e)
	}
	return joined
}

// mentions adds every mention of an endpoint of the port.
func mentions(found []mention, service *Service, port Port, ordered []*Slice) []mention {
	for at, slice := range ordered {
		for k := range slice.ports {
			p := &slice.ports[k]
			if p.name != port.Name || p.protocol != port.Protocol {
				continue
			}
			for i := range slice.endpoints {
				e := &slice.endpoints[i]
				if e.address.Is4() && service.IPv4 || e.address.Is6() && service.IPv6 {
					found = append(found, mention{e.address, p, int32(at), int32(i), e})
				}
			}
		}
	}
	return found
}

// choose returns the mention that counts. In one slice the last one that does not
// terminate does, or else the first: so kube-proxy reads it. Between slices
// kube-proxy leaves it to chance; here the better one counts, so that an endpoint
// that moves from one slice to another is never away.
func choose(same []mention) mention {
	best := same[0]
	for rest := same; len(rest) > 0; {
		of := 1
		one := rest[0]
		for of < len(rest) && rest[of].slice == rest[0].slice {
			if !rest[of].conditions.terminating {
				one = rest[of]
			}
			of++
		}
		if one.conditions.better(best.conditions) || one.slice == best.slice {
			best = one
		}
		rest = rest[of:]
	}
	return best
}

// better reports whether these conditions count before others of the same endpoint.
func (c conditions) better(other conditions) bool {
	if c.terminating != other.terminating {
		return other.terminating
	}
	if c.ready != other.ready {
		return c.ready
	}
	return c.serving && !other.serving
}

// state says what may be sent to an endpoint, where some endpoint of its family is
// ready or none is.
func (c conditions) state(someReady bool) views.State {
	switch {
	case c.ready:
		return views.Ready
	case !c.serving || !c.terminating:
		return views.Down
	case someReady:
		return views.Draining
	}
	return views.Ready
}
