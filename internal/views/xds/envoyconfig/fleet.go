package envoyconfig

import (
	"net/netip"
	"strconv"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/join"
)

// Traffic is what the proxies of a fleet do.
type Traffic struct {
	// Generation is that of the object that says it; 0 where a file does.
	Generation int64
	Listeners  []Listener
	// AccessLog and Folder are as in the settings.
	AccessLog v1alpha1.AccessLog
	Folder    string
}

// Settings are those of the fleet.
func (t Traffic) Settings(s Settings) Settings {
	s.AccessLog, s.Folder = t.AccessLog, t.Folder
	return s
}

// Backends are those that the listeners lead to, each as often as one does.
func (t Traffic) Backends() []Backend {
	var all []Backend
	for i := range t.Listeners {
		l := &t.Listeners[i]
		if l.Service.Name != "" {
			all = append(all, l.Backend())
		}
		for n := range l.Routes {
			all = append(all, l.Routes[n].Backend())
		}
	}
	return all
}

// perFleet, perListener and perRoute are how many bytes are kept beside what is written.
const perFleet, perListener, perRoute = 1024, 256, 256

// Size is about how many bytes are kept of it.
func (t Traffic) Size() int {
	size := perFleet
	for i := range t.Listeners {
		l := &t.Listeners[i]
		size += perListener + len(l.Service.Namespace) + len(l.Service.Name) + lengths(l.Certificates)
		for n := range l.Routes {
			r := &l.Routes[n]
			size += perRoute + len(r.Prefix) + len(r.Service.Namespace) + len(r.Service.Name) + lengths(r.Hosts)
		}
	}
	return size
}

// lengths is how many bytes are kept of texts.
func lengths(texts []string) int {
	size := 0
	for _, text := range texts {
		size += 16 + len(text)
	}
	return size
}

// Listener is a port of every proxy of a fleet, and where it leads to.
type Listener struct {
	Address  netip.Addr
	Port     uint16
	Protocol v1alpha1.ListenerProtocol
	// Service is where connections go, and requests that no route is for; without a name
	// there is none.
	Service join.Key
	// ServicePort is the number of the Service's port; 0 is its first one.
	ServicePort int32
	// Routes say where requests go by host and path.
	Routes []Route
	// RedirectPort is the port of HTTPS, as clients know it, to which requests that no
	// route is for are redirected; 0 for none.
	RedirectPort uint16
	// Certificates are the names of Secrets. With them clients speak TLS, of version 1.3
	// where OnlyTLS13 says so, otherwise also 1.2.
	Certificates []string
	OnlyTLS13    bool
	// ProxyProtocol says that connections begin with a header that names the client.
	ProxyProtocol bool
	// TrustedHops is how many proxies in front are trusted to name the client in
	// X-Forwarded-For.
	TrustedHops uint32
}

// Route leads requests to a port of a Service.
type Route struct {
	// Hosts are names or *.NAME; none is every host.
	Hosts []string
	// Prefix is the beginning of the path, in whole elements.
	Prefix      string
	Service     join.Key
	ServicePort int32
	// RequestTimeout and IdleTimeout count in place of the settings' where they are
	// there; 0 is no bound.
	RequestTimeout, IdleTimeout *time.Duration
}

// Backend is a port of a Service as a listener uses it.
type Backend struct {
	Service     join.Key
	ServicePort int32
	Protocol    v1alpha1.ListenerProtocol
}

// Name is the name of the listener and of its route configuration. It does not depend on
// the Service, so that another Service needs no other listener.
func (l *Listener) Name() string { return "port-" + strconv.Itoa(int(l.Port)) }

// Backend is where the listener leads to without a route.
func (l *Listener) Backend() Backend { return Backend{l.Service, l.ServicePort, l.Protocol} }

// Backend is where the route leads to.
func (r *Route) Backend() Backend { return Backend{r.Service, r.ServicePort, v1alpha1.ListenerHTTP} }

// Port is the port of the backend, false where the Service has no such port. The Service is
// that of the backend, nil where there is none.
func (b Backend) Port(service *join.Service) (join.Port, bool) {
	for _, port := range Ports(service) {
		if b.ServicePort == 0 || b.ServicePort == port.Number {
			return port, true
		}
	}
	return join.Port{}, false
}

// Cluster is the name of the cluster of the backend, false where the Service has no such
// port, or does not say how certificates are checked. A listener of TCP passes on the TLS of
// its clients, so it never adds its own.
func (b Backend) Cluster(service *join.Service) (string, bool) {
	port, found := b.Port(service)
	switch {
	case !found:
		return "", false
	case b.Protocol != v1alpha1.ListenerHTTP || !TLS(port):
		return Name(service.Key, port.Number), true
	}
	return overTLS(service.Key, port.Number), service.TLS.Said()
}

// Fleet are the listeners and route configurations of a fleet. Service returns a Service
// that the fleet may use, nil where there is none. A listener of HTTP without a Service
// answers 503, one of TCP is left out.
func Fleet(all []Listener, service func(join.Key) *join.Service, s Settings) Set {
	set := NewSet()
	for i := range all {
		l := &all[i]
		if l.Protocol == v1alpha1.ListenerHTTP {
			set[Listeners][l.Name()] = l.build("http_connection_manager", l.manager(s), s)
			set[Routes][l.Name()] = l.routes(service, s)
		} else if cluster, found := l.Backend().Cluster(service(l.Service)); found {
			set[Listeners][l.Name()] = l.build("tcp_proxy", l.proxy(cluster, s), s)
		}
	}
	return set
}
