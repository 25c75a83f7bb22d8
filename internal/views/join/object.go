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

// Gather returns the object of one port of the Service, with the views of its endpoints in the
// order of a join.
func Gather(service *Service, port Port, all []*views.EndpointView) *views.ServicePortView {
	one := &views.ServicePortView{
		APIVersion: views.APIVersion, Kind: views.KindServicePortView,
		Metadata: views.Metadata{Name: PortName(service.Name, port.Name), Namespace: service.Namespace},
		Spec: views.ServicePortViewSpec{
			ServicePort: servicePort(service.Name, string(service.Type), port), Endpoints: []views.Endpoint{},
		},
	}
	differs := func(v *views.EndpointView) bool { return v.Spec.AppProtocol != all[0].Spec.AppProtocol }
	if len(all) > 0 && !slices.ContainsFunc(all, differs) {
		one.Spec.AppProtocol = all[0].Spec.AppProtocol
	}
	for _, v := range all {
		one.Spec.Endpoints = append(one.Spec.Endpoints, v.Spec.Endpoint)
	}
	return one
}
