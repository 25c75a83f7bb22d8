package resources

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
)

// The versions of TLS.
const (
	tls12 = "1.2"
	tls13 = "1.3"
)

// mostHops is how many proxies in front of a fleet may be trusted.
const mostHops = 16

// checkListener says what is wrong with a listener itself.
func checkListener(l *v1alpha1.Listener) []string {
	var mistakes []string
	wrong := func(is bool, format string, args ...any) {
		if is {
			mistakes = append(mistakes, fmt.Sprintf(format, args...))
		}
	}
	tcp := l.Protocol == v1alpha1.ListenerTCP
	wrong(l.Port < 1 || l.Port > 65535, "has no port; write a number from 1 to 65535")
	wrong(l.Protocol != "" && !tcp && l.Protocol != v1alpha1.ListenerHTTP, "has protocol %q; write HTTP or TCP", l.Protocol)
	leads := len(l.Routes) > 0 || l.HTTPSRedirectPort != nil
	wrong(l.Service == "" && !leads, "leads nowhere; write service, routes or httpsRedirectPort")
	wrong(l.Service != "" && leads, "has a service and something beside it; write either service, or routes and httpsRedirectPort")
	wrong(l.ServicePort != nil && l.Service == "", "has a servicePort and no service; write service, or remove servicePort")
	wrong(tcp && (leads || l.TrustedHops != nil), "is of protocol TCP, which has no routes, httpsRedirectPort and trustedHops; remove them, or write protocol HTTP")
	proxy := l.ProxyProtocol
	wrong(proxy != "" && proxy != v1alpha1.ProxyProtocolNone && proxy != v1alpha1.ProxyProtocolRequired, "has proxyProtocol %q; write Required or None", proxy)
	wrong(l.HTTPSRedirectPort != nil && l.TLS != nil, "has tls, so it is HTTPS already; remove httpsRedirectPort")
	if port := value(l.HTTPSRedirectPort); l.HTTPSRedirectPort != nil {
		wrong(port < 1 || port > 65535, "has httpsRedirectPort %d; write a number from 1 to 65535", port)
	}
	hops := value(l.TrustedHops)
	wrong(hops < 0 || hops > mostHops, "has trustedHops %d; write a number from 0 to %d", hops, mostHops)
	return mistakes
}

// hostName is a name of DNS, with underscores, which some have.
var hostName = regexp.MustCompile(`^[0-9A-Za-z_]([-0-9A-Za-z_]*[0-9A-Za-z_])?(\.[0-9A-Za-z_]([-0-9A-Za-z_]*[0-9A-Za-z_])?)*\.?$`)

// checkXDS says what is wrong with another control plane.
func checkXDS(x *v1alpha1.EnvoyXDS) []string {
	var mistakes []string
	if x == nil {
		return nil
	}
	if _, err := netip.ParseAddr(x.Host); err != nil && !hostName.MatchString(x.Host) {
		mistakes = append(mistakes, fmt.Sprintf("has host %q; write a host name, or an IP address", x.Host))
	}
	if x.Name == "" {
		mistakes = append(mistakes, "has no name; write that of its cluster")
	}
	if x.Port < 1 || x.Port > 65535 {
		mistakes = append(mistakes, fmt.Sprintf("has port %d; write a number from 1 to 65535", x.Port))
	}
	return mistakes
}

// checkTLS says what is wrong with the certificates. Their names are parts of paths.
func checkTLS(t *v1alpha1.ListenerTLS) []string {
	var mistakes []string
	if len(t.SecretNames) == 0 {
		mistakes = append(mistakes, "has tls and no certificate; write secretNames")
	}
	for _, name := range t.SecretNames {
		if len(content.IsDNS1123Subdomain(name)) > 0 {
			mistakes = append(mistakes, fmt.Sprintf("has %q among secretNames, which is no name of a Secret; write its name", name))
		}
	}
	if t.MinVersion != "" && t.MinVersion != tls12 && t.MinVersion != tls13 {
		mistakes = append(mistakes, fmt.Sprintf("has minVersion %q; write %q or %q", t.MinVersion, tls12, tls13))
	}
	return mistakes
}

// checkRoute says what is wrong with a route itself.
func checkRoute(r *v1alpha1.Route) []string {
	var mistakes []string
	for _, host := range r.Hosts {
		if len(content.IsDNS1123Subdomain(strings.TrimPrefix(host, "*."))) > 0 {
			mistakes = append(mistakes, fmt.Sprintf("has host %q; write a name in small letters without a port, for example shop.example.com or *.example.com", host))
		}
	}
	if r.PathPrefix != "" && (!strings.HasPrefix(r.PathPrefix, "/") || strings.ContainsAny(r.PathPrefix, "?# \t\r\n\f")) {
		mistakes = append(mistakes, fmt.Sprintf("has pathPrefix %q; write a path without a query, for example /api", r.PathPrefix))
	}
	for name, one := range map[string]*metav1.Duration{"idleTimeout": r.IdleTimeout, "requestTimeout": r.RequestTimeout} {
		if one != nil && (one.Duration < 0 || one.Duration > 24*time.Hour) {
			mistakes = append(mistakes, fmt.Sprintf("has %s %s; write 0s to 24h, where 0s is no bound", name, one.Duration))
		}
	}
	return mistakes
}

// hostPath is what a route is for.
type hostPath struct{ host, path string }

// twice says which host and path another route is for already.
func twice(r *Route, used map[hostPath]bool) []string {
	hosts := r.Hosts
	if len(hosts) == 0 {
		hosts = []string{""}
	}
	var mistakes []string
	for _, host := range hosts {
		at := hostPath{host, strings.TrimRight(r.Prefix, "/")}
		if used[at] {
			mistakes = append(mistakes, fmt.Sprintf("is for host %q and path %q like another one; write one of the two", host, r.Prefix))
		}
		used[at] = true
	}
	return mistakes
}

func isLabel(text string) bool { return len(content.IsDNS1123Label(text)) == 0 }
