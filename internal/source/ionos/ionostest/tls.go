package ionostest

import (
	"net/http"
	"net/http/httptest"
)

// NewTLSServer serves a handler as the real API is served: by HTTP/2 over TLS.
// Its certificate is for 127.0.0.1; Client of the server trusts it.
func NewTLSServer(handler http.Handler) *httptest.Server {
	server := httptest.NewUnstartedServer(handler)
	server.EnableHTTP2 = true
	server.StartTLS()
	return server
}
