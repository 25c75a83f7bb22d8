package envoyconfig

import (
	"errors"
	"fmt"
	"net/netip"
	"regexp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

// The versions of TLS.
const (
	tls12 = "1.2"
	tls13 = "1.3"
)

// mostHops is how many proxies in front of a fleet may be trusted.
const mostHops = 16

// mostMistakes is how many mistakes of one thing are looked for, longestMistakes how much is told
// of all, in bytes: each may repeat a long text, and 100 are longer in any case.
const mostMistakes, longestMistakes = 100, 8000

// mistakes are what is wrong with something.
type mistakes []string

// add adds one where that is wrong.
func (m *mistakes) add(wrong bool, format string, args ...any) {
	if wrong && len(*m) < mostMistakes {
		*m = append(*m, fmt.Sprintf(format, args...))
	}
}

// told joins the mistakes of an object or a file, nil for none.
func told(all ...error) error {
	if err := errors.Join(all...); err != nil {
		return errors.New(transport.Cut(err.Error(), longestMistakes))
	}
	return nil
}

// checkListener says what is wrong with a listener itself.
func checkListener(l *v1alpha1.Listener) mistakes {
	var m mistakes
	tcp := l.Protocol == v1alpha1.ListenerTCP
	m.add(l.Port < 1 || l.Port > 65535, "has no port; write a number from 1 to 65535")
	m.add(l.Protocol != "" && !tcp && l.Protocol != v1alpha1.ListenerHTTP, "has protocol %q; write HTTP or TCP", l.Protocol)
	leads := len(l.Routes) > 0 || l.HTTPSRedirectPort != nil
	m.add(l.Service == "" && !leads, "leads nowhere; write service, routes or httpsRedirectPort")
	m.add(l.Service != "" && leads, "has a service and something beside it; write either service, or routes and httpsRedirectPort")
	m.add(l.ServicePort != nil && l.Service == "", "has a servicePort and no service; write service, or remove servicePort")
	m.add(tcp && (leads || l.TrustedHops != nil), "is of protocol TCP, which has no routes, httpsRedirectPort and trustedHops; remove them, or write protocol HTTP")
	proxy := l.ProxyProtocol
	m.add(proxy != "" && proxy != v1alpha1.ProxyProtocolNone && proxy != v1alpha1.ProxyProtocolRequired, "has proxyProtocol %q; write Required or None", proxy)
	m.add(l.HTTPSRedirectPort != nil && l.TLS != nil, "has tls, so it is HTTPS already; remove httpsRedirectPort")
	if port := ptr.Deref(l.HTTPSRedirectPort, 0); l.HTTPSRedirectPort != nil {
		m.add(port < 1 || port > 65535, "has httpsRedirectPort %d; write a number from 1 to 65535", port)
	}
	hops := ptr.Deref(l.TrustedHops, 0)
	m.add(hops < 0 || hops > mostHops, "has trustedHops %d; write a number from 0 to %d", hops, mostHops)
	return m
}

// hostName is a name of DNS, with underscores, which some have.
var hostName = regexp.MustCompile(`^[0-9A-Za-z_]([-0-9A-Za-z_]*[0-9A-Za-z_])?(\.[0-9A-Za-z_]([-0-9A-Za-z_]*[0-9A-Za-z_])?)*\.?$`)

// checkXDS says what is wrong with another control plane.
func checkXDS(x *v1alpha1.EnvoyXDS) mistakes {
	var m mistakes
	if x == nil {
		return nil
	}
	_, err := netip.ParseAddr(x.Host)
	m.add(err != nil && !hostName.MatchString(x.Host), "has host %q; write a host name, or an IP address", x.Host)
	m.add(x.Name == "", "has no name; write that of its cluster")
	m.add(x.Port < 1 || x.Port > 65535, "has port %d; write a number from 1 to 65535", x.Port)
	return m
}

// checkTLS says what is wrong with the certificates. Their names are parts of paths.
func checkTLS(t *v1alpha1.ListenerTLS) mistakes {
	var m mistakes
	m.add(len(t.SecretNames) == 0, "has tls and no certificate; write secretNames")
	for _, name := range t.SecretNames {
		m.add(len(content.IsDNS1123Subdomain(name)) > 0, "has %q among secretNames, which is no name of a Secret; write its name", name)
	}
	m.add(t.MinVersion != "" && t.MinVersion != tls12 && t.MinVersion != tls13, "has minVersion %q; write %q or %q", t.MinVersion, tls12, tls13)
	return m
}

// checkRoute says what is wrong with a route itself.
func checkRoute(r *v1alpha1.Route) mistakes {
	var m mistakes
	for _, host := range r.Hosts {
		m.add(len(content.IsDNS1123Subdomain(strings.TrimPrefix(host, "*."))) > 0, "has host %q; write a name in small letters without a port, for example shop.example.com or *.example.com", host)
	}
	prefix := r.PathPrefix
	m.add(prefix != "" && (!strings.HasPrefix(prefix, "/") || strings.ContainsAny(prefix, "?# \t\r\n\f")), "has pathPrefix %q; write a path without a query, for example /api", prefix)
	timeout := func(name string, one *metav1.Duration) {
		is := ptr.Deref(one, metav1.Duration{}).Duration
		m.add(is < 0 || is > 24*time.Hour, "has %s %s; write 0s to 24h, where 0s is no bound", name, is)
	}
	timeout("idleTimeout", r.IdleTimeout)
	timeout("requestTimeout", r.RequestTimeout)
	return m
}

// hostPath is what a route is for.
type hostPath struct{ host, path string }

// twice says which host and path another route is for already.
func twice(r *Route, used map[hostPath]bool) mistakes {
	hosts := r.Hosts
	if len(hosts) == 0 {
		hosts = []string{""}
	}
	var m mistakes
	for _, host := range hosts {
		at := hostPath{host, strings.TrimRight(r.Prefix, "/")}
		m.add(used[at], "is for host %q and path %q like another route; remove one of the two", host, r.Prefix)
		used[at] = true
	}
	return m
}

func isLabel(text string) bool { return len(content.IsDNS1123Label(text)) == 0 }
