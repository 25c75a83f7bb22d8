package xds

import (
	"fmt"
	"slices"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/join"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

// mostUnresolved is how many listeners and routes of a fleet are named that lead nowhere,
// longestProblem how much is told of a mistake, in bytes. The operator quotes no more.
const mostUnresolved, longestProblem = 5, 1000

// Objects are those of all fleets, by name; none before it is known which Services there are.
func (s *Server) Objects() []envoyconfig.ObjectState {
	s.mu.Lock()
	joined := s.services != nil
	s.mu.Unlock()
	if !joined {
		return nil
	}
	f := s.opts.Fleets
	f.mu.Lock()
	objects, file := f.objects, f.file // neither is changed, but replaced
	f.mu.Unlock()
	all := make([]envoyconfig.ObjectState, 0, len(objects))
	for name, o := range objects {
		one := envoyconfig.ObjectState{Client: name, Generation: o.Traffic.Generation}
		_, inFile := file[name]
		switch {
		case inFile:
			one.Problem = "XDS_FLEETS_FILE has a fleet of that name, and the file counts; remove the fleet from the file, or delete the object"
		case o.Problem != nil:
			one.Problem = transport.Cut(o.Problem.Error(), longestProblem)
		default:
			s.resolve(&one, o.Traffic.Listeners)
		}
		all = append(all, one)
	}
	slices.SortFunc(all, func(a, b envoyconfig.ObjectState) int { return strings.Compare(a.Client, b.Client) })
	return all
}

// resolve looks where listeners lead.
func (s *Server) resolve(one *envoyconfig.ObjectState, listeners []envoyconfig.Listener) {
	look := func(port uint16, route int, b envoyconfig.Backend) {
		var service *join.Service // nil where none is shown
		locked(&s.mu, func() {
			if t := s.services[b.Service]; t != nil {
				service = t.service
			}
		})
		reason, text := s.leads(one.Client, b, service)
		switch {
		case reason == "":
			note(one, service)
		case len(one.Unresolved) == mostUnresolved:
			one.More++
		default:
			one.Unresolved = append(one.Unresolved, envoyconfig.UnresolvedRef{Port: int32(port), Route: route, Reason: reason, Text: text})
		}
	}
	for i := range listeners {
		l := &listeners[i]
		if l.Service.Name != "" {
			look(l.Port, 0, l.Backend())
		}
		for n := range l.Routes {
			look(l.Port, n+1, l.Routes[n].Backend())
		}
	}
}

// note notes what of a Service has no effect.
func note(o *envoyconfig.ObjectState, service *join.Service) {
	for _, field := range service.Unused {
		text := fmt.Sprintf("%s of Service %s/%s has no effect behind Envoys", field, service.Namespace, service.Name)
		if len(o.Notes) < mostUnresolved && !slices.Contains(o.Notes, text) {
			o.Notes = append(o.Notes, text)
		}
	}
}

// leads says why a backend leads nowhere for a fleet; nothing where it does. Of another
// namespace it says the same whether the Service is there or not.
func (s *Server) leads(fleet string, b envoyconfig.Backend, service *join.Service) (reason, text string) {
	namespace, _, _ := strings.Cut(fleet, "/")
	name := b.Service.Namespace + "/" + b.Service.Name
	switch {
	case b.Service.Namespace != namespace && (service == nil || !mayUse(fleet, service)):
		return v1alpha1.ReasonRefNotPermitted, fmt.Sprintf("Service %s is not there, is not shown, or does not name this Envoy; it needs the annotations %s=true and %s=%s", name, s.opts.Annotation, join.FleetsAnnotation, fleet)
	case service == nil && s.opts.Cache.Hides(b.Service):
		return v1alpha1.ReasonNotShown, fmt.Sprintf("Service %s is not shown: it needs the annotation %s=true, and a type other than ExternalName", name, s.opts.Annotation)
	case service == nil && s.opts.Cache.Refuses(b.Service):
		return v1alpha1.ReasonNotShown, fmt.Sprintf("Service %s is not shown: the Services of its namespace take more memory than one namespace may take; remove Services, or shorten their ports and annotations", name)
	case service == nil:
		return v1alpha1.ReasonBackendNotFound, fmt.Sprintf("there is no Service %s; create it, or correct the name", name)
	}
	port, found := b.Port(service)
	switch {
	case !found && b.ServicePort != 0:
		return v1alpha1.ReasonPortNotFound, fmt.Sprintf("Service %s has no port %d of TCP; add it, or correct servicePort", name, b.ServicePort)
	case !found:
		return v1alpha1.ReasonPortNotFound, fmt.Sprintf("Service %s has no port of TCP; add one", name)
	}
	if _, found = b.Cluster(service); !found {
		return v1alpha1.ReasonUnsupportedProtocol, fmt.Sprintf("port %d of Service %s speaks TLS, and no authority for its certificates is set; it needs the annotation %s", port.Number, name, join.AuthorityAnnotation)
	}
	return "", ""
}
