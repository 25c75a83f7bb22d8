package join

import (
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/pkg/views"
)

// Object is the endpoint as an object of the API. Since is zero where it is not
// known.
func (e *Endpoint) Object(service Key, since time.Time) *views.EndpointView {
	return &views.EndpointView{
		APIVersion: views.APIVersion, Kind: views.KindEndpointView,
		Metadata: views.Metadata{Name: Name(service.Name, e), Namespace: service.Namespace},
		Spec:     views.EndpointViewSpec{ServicePort: servicePort(service.Name, e.Service, e.Port), Endpoint: e.public(since)},
	}
}

func servicePort(service, kind string, port Port) views.ServicePort {
	return views.ServicePort{
		ServiceName: service, Type: kind, PortName: port.Name, Port: port.Number, Protocol: string(port.Protocol), AppProtocol: port.AppProtocol,
	}
}

func (e *Endpoint) public(since time.Time) views.Endpoint {
	endpoint := views.Endpoint{Address: e.Address.String(), TargetPort: e.TargetPort, State: e.State, Zone: e.Zone, Node: e.Node}
	if e.Target != (views.TargetRef{}) {
		endpoint.TargetRef = new(e.Target)
	}
	if !since.IsZero() {
		endpoint.Since = new(since.UTC().Truncate(time.Second))
	}
	return endpoint
}

// Gather returns the object of one port of the Service, with the views of its endpoints; nil
// where there is no such port. The views are the Service's, in the order of a join.
func Gather(service *Service, name string, all []*views.EndpointView) *views.ServicePortView {
	if service == nil {
		return nil
	}
	i := slices.IndexFunc(service.Ports, func(p Port) bool { return p.Name == name })
	if i < 0 {
		return nil
	}
	port := service.Ports[i]
	one := &views.ServicePortView{
		APIVersion: views.APIVersion, Kind: views.KindServicePortView,
		Metadata: views.Metadata{Name: PortName(service.Name, port.Name), Namespace: service.Namespace},
		Spec: views.ServicePortViewSpec{
			ServicePort: servicePort(service.Name, string(service.Type), port), Endpoints: []views.Endpoint{},
		},
	}
	for _, v := range all {
		if v.Spec.PortName == port.Name {
			one.Spec.Endpoints = append(one.Spec.Endpoints, v.Spec.Endpoint)
		}
	}
	if port.AppProtocol == "" && len(one.Spec.Endpoints) > 0 {
		one.Spec.AppProtocol = shared(all, port.Name)
	}
	return one
}

// shared is the protocol that all endpoints of a port have, empty where they differ.
func shared(all []*views.EndpointView, port string) string {
	var protocol *string
	for _, v := range all {
		switch {
		case v.Spec.PortName != port:
		case protocol == nil:
			protocol = &v.Spec.AppProtocol
		case *protocol != v.Spec.AppProtocol:
			return ""
		}
	}
	return *protocol
}
