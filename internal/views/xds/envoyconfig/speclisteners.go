package envoyconfig

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"k8s.io/utils/ptr"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/join"
)

// FromObject returns what an object says. Its listeners are on the ports of the Pods.
func FromObject(e *v1alpha1.Envoy) (Traffic, error) {
	traffic, mistakes := access(e.Spec.AccessLog)
	traffic.Generation = e.Generation
	if e.Spec.Unread != "" {
		return traffic, told(fmt.Errorf("write values that can be read: %s", e.Spec.Unread))
	}
	mistakes = append(mistakes, of("xds", checkXDS(e.Spec.XDS))...)
	used := make(map[int32]bool, len(e.Spec.Listeners))
	for i := range e.Spec.Listeners {
		l := &e.Spec.Listeners[i]
		one, err := listener(l, e.Namespace)
		if one.Port = uint16(l.PodPort()); used[l.PodPort()] {
			err = append(err, "has the same port in the Pod as another listener, where ports below 1024 are 8000 higher; give each listener a port of its own")
		}
		used[l.PodPort()] = true
		if l.Port == AdminPort || l.Port == HealthPort {
			err = append(err, fmt.Sprintf("has port %d, which is one of Envoy's own pages; choose another one", l.Port))
		}
		one.Address = ListenAddress(e)
		mistakes = append(mistakes, of(fmt.Sprintf("listener %q", l.Name), err)...)
		traffic.Listeners = append(traffic.Listeners, one)
	}
	return traffic, told(mistakes...)
}

// The ports of Envoy's own pages in the Pods of an object.
const (
	AdminPort  = 9901
	HealthPort = 9902
)

// ListenAddress is what the Envoys of an object listen on.
func ListenAddress(e *v1alpha1.Envoy) netip.Addr {
	if e.Spec.IPFamily == v1alpha1.IPv4 {
		return netip.IPv4Unspecified()
	}
	return netip.IPv6Unspecified()
}

// of are the mistakes of something, as errors.
func of(what string, texts []string) []error {
	all := make([]error, 0, len(texts))
	for _, text := range texts {
		all = append(all, errors.New(what+" "+text))
	}
	return all
}

// access begins the traffic of a fleet.
func access(which v1alpha1.AccessLog) (Traffic, []error) {
	switch which = cmp.Or(which, v1alpha1.AccessLogFailures); which {
	case v1alpha1.AccessLogFailures, v1alpha1.AccessLogAll, v1alpha1.AccessLogNone:
		return Traffic{AccessLog: which}, nil
	}
	return Traffic{}, []error{fmt.Errorf("accessLog %q is not known; write Failures, All or None", which)}
}

// listener reads one listener of a fleet of the namespace.
func listener(l *v1alpha1.Listener, namespace string) (Listener, mistakes) {
	one := Listener{
		Port: uint16(l.Port), Protocol: cmp.Or(l.Protocol, v1alpha1.ListenerHTTP), Address: netip.IPv4Unspecified(),
		ProxyProtocol: l.ProxyProtocol == v1alpha1.ProxyProtocolRequired, TrustedHops: uint32(max(0, ptr.Deref(l.TrustedHops, 0))), RedirectPort: uint16(ptr.Deref(l.HTTPSRedirectPort, 0)),
		ServicePort: ptr.Deref(l.ServicePort, 0),
	}
	m := checkListener(l)
	if l.Service != "" {
		service, wrong := backend(l.Service, l.ServicePort, namespace)
		one.Service, m = service, append(m, wrong...)
	}
	if l.TLS != nil {
		one.Certificates, one.OnlyTLS13 = l.TLS.SecretNames, l.TLS.MinVersion == tls13
		m = append(m, checkTLS(l.TLS)...)
	}
	used := make(map[hostPath]bool)
	for i := range l.Routes {
		r, wrong := route(&l.Routes[i], namespace)
		one.Routes = append(one.Routes, r)
		for _, text := range append(wrong, twice(&r, used)...) {
			m.add(true, "has a mistake in route %d, which %s", i+1, text)
		}
	}
	return one, m
}

// route reads one route.
func route(r *v1alpha1.Route, namespace string) (Route, mistakes) {
	one := Route{Hosts: r.Hosts, Prefix: cmp.Or(r.PathPrefix, "/"), ServicePort: ptr.Deref(r.ServicePort, 0)}
	service, wrong := backend(r.Service, r.ServicePort, namespace)
	one.Service = service
	if r.RequestTimeout != nil {
		one.RequestTimeout = &r.RequestTimeout.Duration
	}
	if r.IdleTimeout != nil {
		one.IdleTimeout = &r.IdleTimeout.Duration
	}
	return one, append(checkRoute(r), wrong...)
}

// backend reads the name of a Service, NAME or NAMESPACE/NAME.
func backend(text string, port *int32, namespace string) (join.Key, mistakes) {
	key := join.Key{Namespace: namespace, Name: text}
	if of, name, found := strings.Cut(text, "/"); found {
		key = join.Key{Namespace: of, Name: name}
	}
	var m mistakes
	m.add(!isLabel(key.Namespace) || !isLabel(key.Name), "has service %q; write the name of a Service, or NAMESPACE/NAME", text)
	number := ptr.Deref(port, 0)
	m.add(number < 0 || number > 65535, "has servicePort %d; write the number of a port of the Service, or nothing for its first one", number)
	return key, m
}
