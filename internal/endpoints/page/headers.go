package page

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// policy lets the page have its own style sheet and forms, and nothing else: no
// script, image, frame or connection, whatever the name of a node contains.
const policy = "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// withHeaders adds to every answer the headers that keep browsers strict. On a
// loopback address it also refuses foreign names in the Host header: the name of a
// web page that is open on this machine could resolve to 127.0.0.1, and the page
// would read the names and addresses of the nodes from here ("DNS rebinding"). On
// another address any name is right, because the operator chose the name.
func withHeaders(next http.Handler, local bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Cache-Control", "no-store")
		if local && !isLocalName(r.Host) {
			http.Error(w, "This listener is on a loopback address, so it answers only if the Host header is localhost or an IP address.\n"+
				"Let the proxy in front of it send such a Host header, or set ADMIN_ADDRESS (METRICS_ADDRESS) to another address.", http.StatusMisdirectedRequest)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// isLoopback reports whether only the machine itself reaches the address.
func isLoopback(addr net.Addr) bool {
	parsed, err := netip.ParseAddrPort(addr.String())
	return err == nil && parsed.Addr().IsLoopback()
}

// isLocalName reports whether a Host header is an IP address, localhost, or missing.
// The owner of any other name could let it resolve to this listener.
func isLocalName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil || host == "" || strings.EqualFold(host, "localhost")
}
