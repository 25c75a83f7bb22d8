package assign

import (
	"fmt"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// traits tells what of a Service keeps its clients from endpoints that it has. It
// changes nothing: the Service belongs to the team.
func (r *rules) traits(key Key, uses []use) []Notice {
	service := r.services[key]
	if service == nil || service.UID == "" {
		return nil
	}
	var notices []Notice
	note := func(reason, format string, args ...any) {
		notices = append(notices, Notice{key, reason, fmt.Sprintf(format, args...)})
	}
	if service.Local != "" {
		note(TrafficPolicyLocal, "%s of Service %s is Local, so each node uses only endpoints on itself, and remote endpoints are on no node of this cluster: connections are dropped; set it to Cluster", service.Local, key)
	}
	if service.Topology != "" {
		note(TopologyIgnored, "%s of Service %s has no effect: it needs hints in every slice, and these slices have none; remove it", service.Topology, key)
	}
	endpoints, ipv6 := r.published(key)
	if endpoints > ipv6 && !service.IPv4 && service.IPv6 {
		note(FamilyUnused, "Service %s has only IPv6, so its %s of IPv4 are published but never used; add the family to spec.ipFamilies, or leave the subnet out", key, endpointsOf(endpoints-ipv6))
	}
	if ipv6 > 0 && !service.IPv6 && service.IPv4 {
		note(FamilyUnused, "Service %s has only IPv4, so its %s of IPv6 are published but never used; add the family to spec.ipFamilies, or leave the subnet out", key, endpointsOf(ipv6))
	}
	if port, target, differ := otherPort(service, uses); service.Headless && differ {
		note(HeadlessPort, "Service %s is headless, so its clients get addresses from DNS and choose the port themselves: the endpoints listen on port %d, not on port %d of the Service; give both the same number", key, target, port)
	}
	return notices
}

func endpointsOf(n int) string {
	if n == 1 {
		return "1 endpoint"
	}
	return fmt.Sprintf("%d endpoints", n)
}

// published counts the endpoints of a Service, and those of IPv6 among them.
func (r *rules) published(key Key) (endpoints, ipv6 int) {
	for _, p := range r.slices[key] {
		endpoints, ipv6 = endpoints+p.Endpoints, ipv6+p.IPv6
	}
	return endpoints, ipv6
}

// otherPort returns the first port of a Service that differs from the one that its
// endpoints listen on.
func otherPort(service *Service, uses []use) (port, target uint16, differ bool) {
	for _, u := range uses {
		ports, _ := publish.ResolvePorts(service.Service, publish.Target{Ports: u.Ports, PortFromService: u.PortFromService})
		for _, p := range ports {
			for _, s := range service.Ports {
				if s.Name == p.Name && s.Protocol == p.Protocol && s.Port != p.Number {
					return s.Port, p.Number, true
				}
			}
		}
	}
	return 0, 0, false
}
