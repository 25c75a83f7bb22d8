package assign

import (
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// named returns the ports of a use as its slices have them, and whether the Service has
// ports of these names.
func (r *rules) named(key Key, u *Use) ([]publish.Port, bool) {
	if s := r.services[key]; s != nil {
		ports, problem := publish.ResolvePorts(s.Service, publish.Target{Ports: u.Ports, PortFromService: u.PortFromService})
		if problem.Kind == "" {
			return ports, true
		}
	}
	return u.Ports, false
}

// samePorts reports whether two uses publish the same ports of their Service, in whatever
// order.
func (r *rules) samePorts(key Key, a, b *Use) bool {
	x, _ := r.named(key, a)
	y, _ := r.named(key, b)
	bare := func(ports []publish.Port) []publish.Port {
		ports = slices.Clone(ports)
		for i := range ports {
			ports[i].AppProtocol = ""
		}
		slices.SortFunc(ports, publish.ComparePorts)
		return ports
	}
	return slices.Equal(bare(x), bare(y))
}

// serves reports whether a use has every port of the Service that another one has.
func (r *rules) serves(key Key, u, other *Use) bool {
	ours, _ := r.named(key, u)
	theirs, _ := r.named(key, other)
	return !slices.ContainsFunc(r.offered(key), func(p publish.Port) bool { return has(theirs, p) && !has(ours, p) })
}

// renamed gives ports the names that the Service has for them now: endpoints are of no use
// under any other. Numbers and protocols stay.
//
//	the wanted ports                                     the names become
//	have the same numbers and protocols, in their order  those
//	have a port of the same name and protocol            stay
//	have another port of that number and protocol        its name
//	have one other port of that protocol                 its name, where one is left here too
func renamed(ports, wanted []publish.Port) []publish.Port {
	out := slices.Clone(ports)
	if slices.EqualFunc(ports, wanted, func(a, b publish.Port) bool { return a.Number == b.Number && a.Protocol == b.Protocol }) {
		for i := range out {
			out[i].Name = wanted[i].Name
		}
		return out
	}
	var left []int
	free := slices.Clone(wanted)
	take := func(match func(publish.Port) bool) (string, bool) {
		i := slices.IndexFunc(free, match)
		if i < 0 {
			return "", false
		}
		name := free[i].Name
		free = slices.Delete(free, i, i+1)
		return name, true
	}
	for i, p := range out {
		if _, same := take(func(w publish.Port) bool { return w.Name == p.Name && w.Protocol == p.Protocol }); !same {
			left = append(left, i)
		}
	}
	left = slices.DeleteFunc(left, func(i int) bool {
		p := &out[i]
		name, found := take(func(w publish.Port) bool { return w.Number == p.Number && w.Protocol == p.Protocol })
		if found {
			p.Name = name
		}
		return found
	})
	if len(left) == 1 && len(free) == 1 && free[0].Protocol == out[left[0]].Protocol {
		out[left[0]].Name = free[0].Name
	}
	return out
}

// stored returns the ports of a use under the names that its slices have, where the Service has
// these too: kube-proxy finds endpoints by the name that is stored, not by one that was decided
// and could not be written yet (contract 206).
func (r *rules) stored(key Key, u *Use) []publish.Port {
	ports, offered := slices.Clone(u.Ports), r.offered(key)
	for _, p := range r.slices[key] {
		if p.Endpoints == 0 || !u.owns(key, p.Slice) {
			continue
		}
		for _, its := range p.Ports {
			i := slices.IndexFunc(ports, func(o publish.Port) bool {
				return o.Number == its.Number && o.Protocol == its.Protocol && !has(p.Ports, o)
			})
			if i >= 0 && has(offered, its) && !has(ports, its) && !has(u.Ports, its) {
				ports[i].Name = its.Name
			}
		}
	}
	return ports
}

// has reports whether ports have one of the name and protocol of another, whatever its number.
func has(ports []publish.Port, p publish.Port) bool {
	return slices.ContainsFunc(ports, func(o publish.Port) bool { return o.Name == p.Name && o.Protocol == p.Protocol })
}

// offered are the numeric target ports of a Service.
func (r *rules) offered(key Key) []publish.Port {
	s := r.services[key]
	if s == nil {
		return nil
	}
	var ports []publish.Port
	for _, p := range s.Ports {
		ports = append(ports, publish.Port{Name: p.Name, Protocol: p.Protocol, Number: p.TargetPort})
	}
	return ports
}
