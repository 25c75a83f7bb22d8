//go:build lab

package proxies_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/join"
)

// fleet has a listener for each thing that is asked.
const fleet = `
fleets:
- name: shop/edge
  accessLog: All
  folder: FOLDER
  listeners:
  - {port: 8001, httpsRedirectPort: 443, routes: [{pathPrefix: /.well-known/acme-challenge, service: web}]}
  - {port: 8002, service: web, proxyProtocol: Required}
  - {port: 8003, service: web, trustedHops: 1}
  - {port: 8004, tls: {secretNames: [shop, blog]}, service: web}
  - {port: 8005, service: secure}
  - {port: 8006, service: secure, protocol: TCP}
  - {port: 8007, service: fast}
  - {port: 8008, service: header, protocol: TCP}
  - port: 8009
    routes:
    - {hosts: [shop.example.com], service: web}
    - {hosts: [shop.example.com], pathPrefix: /api/, service: api, requestTimeout: 5s, idleTimeout: 0s}
    - {hosts: ["*.example.com"], service: api}
  - {port: 8010, service: blog/closed}
  - {port: 8011, service: blog/open}
  - {port: 8012, httpsRedirectPort: 8443, address: "::"}
`

func TestContract92AProxyDoesWhatItsListenersSay(t *testing.T) {
	w := newWorld(t)
	chain, key := certificate(t, "secure.example.com", 1)
	own, err := tls.X509KeyPair(chain, key)
	must(t, err)
	web := backend(t, "web", nil)
	w.service("shop", "web", "", nil, web)
	w.service("shop", "api", "", nil, backend(t, "api", nil))
	w.service("shop", "secure", "https", map[string]string{join.SkipVerifyAnnotation: "true"}, backend(t, "secure", &tls.Config{Certificates: []tls.Certificate{own}}))
	w.service("shop", "fast", "kubernetes.io/h2c", nil, backend(t, "fast", nil))
	w.service("shop", "header", "", map[string]string{"endpoints.ablmnzde.github.io/proxy-protocol": "v2"}, headerBackend(t))
	w.service("blog", "closed", "", nil, web)
	w.service("blog", "open", "", map[string]string{"endpoints.ablmnzde.github.io/fleets": "shop/edge"}, web)
	w.secret("shop", "shop.example.com", 1)
	w.secret("blog", "blog.example.com", 2)
	w.serve(fleet)
	w.wantAllAcknowledged()
	for name, test := range map[string]func(*world, *testing.T){
		"redirect": redirects, "PROXY protocol": namesClients, "trusted hops": trusts, "TLS": encrypts, "TLS to endpoints": encryptsToEndpoints,
		"HTTP/2 to endpoints": speaksHTTP2, "hosts and paths": chooses, "Services of others": keepsApart, "WebSocket": upgrades, "paths": resolvesPaths, "health": isReady,
	} {
		t.Run(name, func(t *testing.T) { test(w, t) })
	}
	t.Run("as many connections as are allowed", func(t *testing.T) { isFull(w, t) })
	w.service("blog", "open", "", map[string]string{"endpoints.ablmnzde.github.io/fleets": "shop/other, blog/edge"}, web)
	w.until("a Service that names the fleet no more is none of it", func() bool {
		return strings.HasPrefix(through(t, 8011, get), "HTTP/1.1 503 ")
	})
	w.secret("shop", "shop.example.com", 3)
	w.until("the new certificate is shown", func() bool { return serial(t, "shop.example.com") == 3 })
	w.envoy.Stop()
	w.wantLog(t)
}

// ask sends a GET for a host to a port, without following a redirect.
func ask(t *testing.T, port int, host, path string, header http.Header) backendReport {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d%s", port, path), nil)
	must(t, err)
	request.Host = host
	for name, values := range header {
		request.Header[name] = values
	}
	return send(t, &http.Transport{DisableKeepAlives: true}, request)
}

func send(t *testing.T, transport *http.Transport, request *http.Request) backendReport {
	t.Helper()
	response, err := transport.RoundTrip(request)
	must(t, err)
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	must(t, err)
	var s backendReport
	if response.StatusCode == http.StatusOK {
		must(t, json.Unmarshal(body, &s))
	} else {
		s.URI = string(body)
	}
	s.Code, s.Location = response.StatusCode, response.Header.Get("Location")
	return s
}

func redirects(_ *world, t *testing.T) {
	first := ask(t, 8001, "shop.example.com", "/cart?a=1", nil)
	if got, want := first.Location, "https://shop.example.com/cart?a=1"; first.Code != http.StatusPermanentRedirect || got != want {
		t.Errorf("got %d to %q, want 308 to %q", first.Code, got, want)
	}
	if got := ask(t, 8001, "shop.example.com", "/.well-known/acme-challenge/token", nil); got.Backend != "web" {
		t.Errorf("got %+v, want the answer of the Service that proves the name", got)
	}
	second := ask(t, 8012, "shop.example.com", "/", nil)
	if got, want := second.Location, "https://shop.example.com:8443/"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// through sends text to a port and returns what comes back, empty where the connection is
// closed.
func through(t *testing.T, port int, text string) string {
	t.Helper()
	conn, err := net.DialTimeout("tcp", fmt.Sprintf("127.0.0.1:%d", port), waitLimit)
	must(t, err)
	defer conn.Close()
	must(t, conn.SetDeadline(time.Now().Add(waitLimit)))
	_, _ = io.WriteString(conn, text)
	answer, _ := io.ReadAll(conn)
	return string(answer)
}

const get = "GET / HTTP/1.1\r\nHost: shop.example.com\r\nConnection: close\r\n\r\n"

func namesClients(_ *world, t *testing.T) {
	if got := through(t, 8002, "PROXY TCP4 203.0.113.7 198.51.100.1 4000 80\r\n"+get); !strings.Contains(got, `"X-Forwarded-For":["203.0.113.7"]`) {
		t.Errorf("got %q, want the address of the header", got)
	}
	if got := through(t, 8002, get); got != "" {
		t.Errorf("got %q without a header, want a closed connection", got)
	}
	if got := through(t, 8008, ""); got != "127.0.0.1\n" {
		t.Errorf("got %q, want that the endpoint is told the client", got)
	}
}

func trusts(_ *world, t *testing.T) {
	forged := http.Header{"X-Forwarded-For": {"198.51.100.1, 203.0.113.9"}, "X-Envoy-Original-Path": {"/forged"}}
	got := ask(t, 8003, "shop.example.com", "/", forged)
	if client := got.Header.Get("X-Envoy-External-Address"); client != "203.0.113.9" {
		t.Errorf("the client is %q, want that of the trusted proxy", client)
	}
	got = ask(t, 8011, "shop.example.com", "/", forged)
	if client := got.Header.Get("X-Envoy-External-Address"); client != "127.0.0.1" {
		t.Errorf("the client is %q, want that of the connection", client)
	}
	if got.Header.Get("X-Envoy-Original-Path") != "" {
		t.Error("a header of Envoy that a client writes reaches the endpoint")
	}
}

// dial opens TLS to the listener with certificates.
func dial(t *testing.T, name string, protocols ...string) *tls.Conn {
	t.Helper()
	conn, err := tls.Dial("tcp", "127.0.0.1:8004", &tls.Config{ServerName: name, InsecureSkipVerify: true, NextProtos: protocols})
	must(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func serial(t *testing.T, name string) int64 {
	t.Helper()
	return dial(t, name).ConnectionState().PeerCertificates[0].SerialNumber.Int64()
}

func encrypts(_ *world, t *testing.T) {
	for name, want := range map[string]int64{"shop.example.com": 1, "blog.example.com": 2, "other.example.com": 1} {
		if got := serial(t, name); got != want {
			t.Errorf("a client that asks for %s is shown certificate %d, want %d", name, got, want)
		}
	}
	if got := dial(t, "shop.example.com", "h2", "http/1.1").ConnectionState().NegotiatedProtocol; got != "h2" {
		t.Errorf("got protocol %q, want h2", got)
	}
	if _, err := tls.Dial("tcp", "127.0.0.1:8004", &tls.Config{InsecureSkipVerify: true, MaxVersion: tls.VersionTLS11}); err == nil {
		t.Error("TLS 1.1 is spoken")
	}
}

func encryptsToEndpoints(_ *world, t *testing.T) {
	if got := ask(t, 8005, "secure.example.com", "/", nil); got.Backend != "secure" || got.ServerName != "secure.example.com" {
		t.Errorf("got %+v, want TLS with the name that the client asked for", got)
	}
	// The same port by TCP: the TLS is between the client and the endpoint.
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{ServerName: "through.example.com", InsecureSkipVerify: true}}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://127.0.0.1:8006/", nil)
	must(t, err)
	if got := send(t, transport, request); got.ServerName != "through.example.com" {
		t.Errorf("got %+v, want the client's own TLS", got)
	}
}

func speaksHTTP2(_ *world, t *testing.T) {
	if got := ask(t, 8007, "shop.example.com", "/", nil); got.Backend != "fast" || got.Protocol != "HTTP/2.0" {
		t.Errorf("got %+v, want HTTP/2", got)
	}
	if got := ask(t, 8009, "shop.example.com", "/", nil); got.Protocol != "HTTP/1.1" {
		t.Errorf("got %+v, want HTTP/1.1", got)
	}
}

func chooses(_ *world, t *testing.T) {
	for request, want := range map[string]string{
		"shop.example.com /": "web", "shop.example.com:8009 /": "web", "shop.example.com /api": "api", "shop.example.com /api/users": "api",
		"shop.example.com /apis": "web", "a.example.com /": "api", "b.a.example.com /x": "api", "example.org /": "",
	} {
		host, path, _ := strings.Cut(request, " ")
		got := ask(t, 8009, host, path, nil)
		if got.Backend != want || want == "" && got.Code != http.StatusNotFound {
			t.Errorf("%s: got %d %+v, want %q", request, got.Code, got, want)
		}
	}
}

func keepsApart(_ *world, t *testing.T) {
	got := ask(t, 8010, "shop.example.com", "/", nil)
	if got.Code != http.StatusServiceUnavailable || !strings.Contains(got.URI, "This proxy knows no Service blog/closed") {
		t.Errorf("got %d %q of a Service of another namespace", got.Code, got.URI)
	}
	if got := ask(t, 8011, "shop.example.com", "/", nil); got.Backend != "web" {
		t.Errorf("got %+v of a Service that names the fleet", got)
	}
}

func upgrades(_ *world, t *testing.T) {
	conn, err := new(net.Dialer).DialContext(context.Background(), "tcp", "127.0.0.1:8011")
	must(t, err)
	defer conn.Close()
	must(t, conn.SetDeadline(time.Now().Add(waitLimit)))
	_, _ = io.WriteString(conn, "GET /chat HTTP/1.1\r\nHost: shop.example.com\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
	r := bufio.NewReader(conn)
	response, err := http.ReadResponse(r, nil)
	must(t, err)
	defer response.Body.Close()
	if response.StatusCode != http.StatusSwitchingProtocols {
		t.Fatalf("got %s", response.Status)
	}
	_, _ = io.WriteString(conn, "hello\n")
	if got, err := r.ReadString('\n'); got != "hello\n" {
		t.Errorf("got %q, %v", got, err)
	}
}

func resolvesPaths(_ *world, t *testing.T) {
	for path, want := range map[string]string{
		"/x/../api/users": "api /api/users", "/x/%2e%2e/api": "api /api", "/api/a%2Fb": "api /api/a%2Fb", "/a//b": "web /a//b",
	} {
		if got := ask(t, 8009, "shop.example.com", path, nil); got.Backend+" "+got.URI != want {
			t.Errorf("%s: got %s %s, want %s", path, got.Backend, got.URI, want)
		}
	}
}

func isReady(_ *world, t *testing.T) {
	for path, want := range map[string]int{"/ready": 200, "/stats/prometheus": 200, "/quitquitquit": 404, "/config_dump": 404} {
		response, err := http.Get("http://127.0.0.1:9902" + path)
		must(t, err)
		if response.Body.Close(); response.StatusCode != want {
			t.Errorf("%s: got %d, want %d", path, response.StatusCode, want)
		}
	}
}

// isFull takes every connection that the proxy accepts, and returns when it accepts some
// again: it notices a little later that one has ended.
func isFull(w *world, t *testing.T) {
	var taken []net.Conn
	for range mostConnections {
		w.until("a connection is accepted", func() bool {
			conn, err := net.Dial("tcp", "127.0.0.1:8011")
			must(t, err)
			taken = append(taken, conn)
			// The proxy counts it by the time it answers.
			_, _ = io.WriteString(conn, "GET / HTTP/1.1\r\nHost: shop.example.com\r\n\r\n")
			response, err := http.ReadResponse(bufio.NewReader(conn), nil)
			if err == nil {
				_ = response.Body.Close()
			}
			return err == nil
		})
	}
	if got := through(t, 8011, get); got != "" {
		t.Errorf("got %q beyond the bound, want a closed connection", got)
	}
	response, err := http.Get("http://127.0.0.1:9902/ready")
	must(t, err)
	if response.Body.Close(); response.StatusCode != http.StatusOK {
		t.Errorf("a proxy that is full says %s, want that it is ready", response.Status)
	}
	for _, conn := range taken {
		must(t, conn.Close())
	}
	w.until("they have ended", func() bool { return w.envoy.Stat("http.port-8011.downstream_cx_active") == 0 })
	w.until("one is accepted", func() bool { return through(t, 8011, get) != "" })
}

// wantLog wants that every request has a line, without its query.
func (w *world) wantLog(t *testing.T) {
	t.Helper()
	found := false
	for _, line := range w.envoy.AccessLog() {
		var entry struct {
			Method, Path, Cluster string
			Code                  int
		}
		if err := json.Unmarshal([]byte(line), &entry); err != nil || strings.Contains(line, "a=1") {
			t.Errorf("got %s, %v", line, err)
		}
		found = found || entry.Path == "/cart" && entry.Code == http.StatusPermanentRedirect
	}
	if !found {
		t.Errorf("the request that was redirected has no line")
	}
}
