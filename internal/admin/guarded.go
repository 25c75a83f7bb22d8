package admin

import (
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// policy lets the page have its own style sheet and forms, and nothing else: no
// script, image, frame or connection, whoever wrote the name of a node.
const policy = "default-src 'none'; style-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"

// guarded adds to every answer the headers that keep browsers strict. On a
// loopback address it also refuses names of others: a web page that somebody on
// this machine looks at could have its own name resolve to 127.0.0.1, and would
// read the names and addresses of the nodes from here ("DNS rebinding"). Elsewhere
// any name is right, for it is the operator who published us under it.
func guarded(next http.Handler, local bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header := w.Header()
		header.Set("Content-Security-Policy", policy)
		header.Set("X-Content-Type-Options", "nosniff")
		header.Set("Referrer-Policy", "no-referrer")
		header.Set("Cross-Origin-Resource-Policy", "same-origin")
		header.Set("Cache-Control", "no-store")
		if local && !isLocalName(r.Host) {
			http.Error(w, "This listens on the machine itself, and answers only to localhost and to IP addresses.\n"+
				"A proxy before it has to send such a Host header, or ADMIN_ADDRESS (METRICS_ADDRESS) has to be another address.", http.StatusMisdirectedRequest)
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

// isLocalName reports whether a Host header names no host that someone else could
// have resolve to us: it is an IP address, localhost, or missing.
func isLocalName(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	_, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return err == nil || host == "" || strings.EqualFold(host, "localhost")
}
