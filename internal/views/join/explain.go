package join

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// Explain says what becomes of an address that a slice lists, one sentence for each
// port or reason. The Service is that of the slice, nil where there is none, and all
// are its slices.
func Explain(address netip.Addr, slice *Slice, object *corev1.Service, all []*Slice, selected func(annotations map[string]string) bool) []string {
	if object == nil {
		return []string{fmt.Sprintf("there is no Service %s, so there is no view; create it, or correct the label kubernetes.io/service-name", slice.Service)}
	}
	service := ToService(object)
	switch {
	case service == nil:
		return []string{fmt.Sprintf("Service %s is of type ExternalName, which has no endpoints", slice.Service)}
	case !selected(object.Annotations):
		return []string{fmt.Sprintf("Service %s does not have the annotation of VIEWS_ANNOTATION, so there is no view; annotate it", slice.Service)}
	case address.Is4() && !service.IPv4 || address.Is6() && !service.IPv6:
		return []string{fmt.Sprintf("Service %s does not have this family of addresses in ipFamilies, so there is no view", slice.Service)}
	}
	joined := Join(service, all)
	var texts []string
	for _, p := range slice.ports {
		texts = append(texts, explainPort(address, slice, service, p, joined, all)...)
	}
	if len(texts) == 0 {
		texts = []string{"the slice has no port with a name and a number from 1 to 65535, so there is no view"}
	}
	return texts
}

// explainPort says what becomes of the address at one port of the slice.
func explainPort(address netip.Addr, slice *Slice, service *Service, p slicePort, joined []Endpoint, all []*Slice) []string {
	if !slices.ContainsFunc(service.Ports, func(of Port) bool { return of.Name == p.name && of.Protocol == p.protocol }) {
		return []string{fmt.Sprintf("Service %s has no port %q of protocol %s, so the port of the slice does not count; name it like one of the Service's: %s",
			service.Name, p.name, p.protocol, portNames(service))}
	}
	var texts []string
	for i := range joined {
		e := &joined[i]
		if e.Port.Name != p.name || e.Address != address || e.TargetPort != p.number {
			continue
		}
		text := fmt.Sprintf("%s is %s: port %q of Service %s, %d to %d, view %s", address, e.State, p.name, service.Name, e.Port.Number, e.TargetPort, Name(service.Name, e))
		texts = append(texts, text+"; "+why(address, slice, service, e, all))
	}
	return texts
}

// why says how the state follows from what the slice says.
func why(address netip.Addr, slice *Slice, service *Service, e *Endpoint, all []*Slice) string {
	var own conditions
	for _, one := range slice.endpoints {
		if one.address == address {
			own = one.conditions
		}
	}
	said := fmt.Sprintf("this slice says ready=%t serving=%t terminating=%t", own.ready, own.serving, own.terminating)
	switch counts := counting(service, e, all); {
	case own != counts:
		return said + fmt.Sprintf(", but another mention of the address counts, with ready=%t serving=%t terminating=%t: a mention that does not terminate comes first, then one that is ready",
			counts.ready, counts.serving, counts.terminating)
	case own.state(true) != e.State:
		return said + ", and no endpoint of this family is ready, so an endpoint that terminates and still serves counts as ready"
	}
	return said
}

// counting are the conditions of the mention of an endpoint that counts.
func counting(service *Service, e *Endpoint, all []*Slice) conditions {
	ordered := slices.Clone(all)
	slices.SortFunc(ordered, func(a, b *Slice) int { return strings.Compare(a.Name, b.Name) })
	same := slices.DeleteFunc(mentions(nil, service, e.Port, ordered), func(c mention) bool {
		return c.address != e.Address || c.port.number != e.TargetPort
	})
	return choose(same).conditions
}

func portNames(service *Service) string {
	var names []string
	for _, p := range service.Ports {
		names = append(names, fmt.Sprintf("%q %s", p.Name, p.Protocol))
	}
	return strings.Join(names, ", ")
}
