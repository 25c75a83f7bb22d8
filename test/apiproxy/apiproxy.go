package apiproxy

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Proxy is a running proxy before one API server.
type Proxy struct {
	t       testing.TB
	gate    *gate
	caPEM   []byte
	target  *url.URL
	handler *httputil.ReverseProxy
	admin   http.RoundTripper
	// users are the ways to the API server, each with the credentials of one
	// user, by the token that stands for them here.
	users sync.Map

	mu       sync.Mutex
	fault    Fault
	points   []*point
	watches  map[*http.Request]func()
	requests []Request
}

// Start runs a proxy on a free port of the address until the test ends. The
// config is an administrator's access to the API server.
func Start(t testing.TB, address netip.Addr, admin *rest.Config) *Proxy {
	t.Helper()
	serving, caPEM, err := selfSigned(address)
	if err != nil {
		t.Fatalf("apiproxy: %v", err)
	}
	target, err := url.Parse(admin.Host)
	if err != nil {
		t.Fatalf("apiproxy: %v", err)
	}
	p := &Proxy{t: t, caPEM: caPEM, target: target, watches: map[*http.Request]func(){}}
	p.admin = connect(t, admin)
	p.handler = &httputil.ReverseProxy{
		Rewrite:       func(r *httputil.ProxyRequest) { r.SetURL(target) },
		Transport:     roundTripper(p.forward),
		FlushInterval: -1,
		ErrorLog:      log.New(io.Discard, "", 0), // faults are meant
		ErrorHandler:  func(http.ResponseWriter, *http.Request, error) { panic(http.ErrAbortHandler) },
	}
	if p.gate, err = newGate(t.Context(), address); err != nil {
		t.Fatalf("apiproxy: %v", err)
	}
	server := &http.Server{
		Handler:     http.HandlerFunc(p.serve),
		ErrorLog:    log.New(io.Discard, "", 0),
		ConnContext: withConnection,
		TLSConfig:   &tls.Config{Certificates: []tls.Certificate{serving}, NextProtos: []string{"h2", "http/1.1"}},
	}
	var serves sync.WaitGroup
	serves.Go(func() {
		if err := server.ServeTLS(p.gate, "", ""); !errors.Is(err, http.ErrServerClosed) {
			t.Errorf("apiproxy: %v", err)
		}
	})
	t.Cleanup(func() {
		p.gate.letThrough()
		p.gate.resetAll()  // also what is stranded
		_ = server.Close() // connections that are cut off report it
		serves.Wait()
	})
	return p
}

// Address is where the proxy listens.
func (p *Proxy) Address() netip.AddrPort { return p.gate.address }

// Kubeconfig writes a kubeconfig by which a program reaches the API server
// through the proxy as the user of the config, which is an access to the API
// server itself. It is removed with t.
func (p *Proxy) Kubeconfig(t testing.TB, user *rest.Config) string {
	t.Helper()
	random := make([]byte, 16)
	_, _ = rand.Read(random) // never fails
	token := hex.EncodeToString(random)
	p.users.Store(token, connect(t, user))

	const name = "proxy"
	file := clientcmdapi.NewConfig()
	file.CurrentContext = name
	file.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	file.Clusters[name] = &clientcmdapi.Cluster{Server: "https://" + p.gate.address.String(), CertificateAuthorityData: p.caPEM}
	file.AuthInfos[name] = &clientcmdapi.AuthInfo{Token: token}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		t.Fatalf("apiproxy: write %s: %v", path, err)
	}
	return path
}

// connect makes a way to the API server whose connections end with the test.
func connect(t testing.TB, config *rest.Config) http.RoundTripper {
	t.Helper()
	config = rest.CopyConfig(config)
	// With a proxy function client-go gives this client connections of its own.
	config.Proxy = http.ProxyFromEnvironment
	transport, err := rest.TransportFor(config)
	if err != nil {
		t.Fatalf("apiproxy: %v", err)
	}
	t.Cleanup(func() { utilnet.CloseIdleConnectionsFor(transport) })
	return transport
}

// Requests returns every request that arrived so far, in order, also the requests
// that a fault answered.
func (p *Proxy) Requests() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// roundTripper makes a function a way to a server.
type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements [http.RoundTripper].
func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// forward sends a request to the API server with the credentials of its user.
func (p *Proxy) forward(r *http.Request) (*http.Response, error) {
	token, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	user, ok := p.users.Load(token)
	if !ok {
		return nil, fmt.Errorf("no user has the token of %s %s", r.Method, r.URL)
	}
	r.Header.Del("Authorization")
	response, err := user.(http.RoundTripper).RoundTrip(r)
	if err != nil {
		return nil, err
	}
	p.pass(r, Answered)
	return response, nil
}

// connectionKey is where the context of a request holds its connection.
type connectionKey struct{}

// withConnection puts the connection into the context of its requests.
func withConnection(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, conn)
}

// hangUp resets the connection of a request.
func hangUp(r *http.Request) {
	if conn, ok := r.Context().Value(connectionKey{}).(net.Conn); ok {
		reset(conn)
	}
	panic(http.ErrAbortHandler)
}
