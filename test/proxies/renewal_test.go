//go:build lab

package proxies_test

import (
	"crypto/tls"
	"crypto/x509"
	"net"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/stream"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// serverName is the host that proxies ask for.
const serverName = "endpoint-views-replicas.infra.svc"

// renewal is a proxy and its server, with a Secret of cert-manager each: a kubelet brings it
// when the test says so.
type renewal struct {
	*world
	certs  *certManager
	fleets *xds.Fleets
	at     netip.AddrPort
	// own and theirs are the folders of the server and the proxy.
	own, theirs string
	// shown is the number of the certificate that a proxy connected with.
	shown atomic.Value
}

// reads places a Secret where the server or the proxy reads it, as a kubelet does, and
// returns the number of its certificate.
func (r *renewal) reads(folder string, secret *corev1.Secret) string {
	r.t.Helper()
	place(r.t, folder, secret.Data)
	return serialOf(r.t, secret)
}

// serve listens as the program does with these files.
func (r *renewal) serve(at string) {
	r.t.Helper()
	files := stream.TLS{
		CertificateFile: filepath.Join(r.own, "tls.crt"), KeyFile: filepath.Join(r.own, "tls.key"), ClientCAFile: filepath.Join(r.own, "ca.crt"),
	}
	current := files.Current(stream.Strict)
	r.at = r.listen(r.fleets, at, func(o *xds.Options) {
		o.TrustDomain, o.Namespaces = "cluster.local", func(string) []string { return nil }
		o.Accepts = func(*tls.ConnectionState) error { return nil }
		o.TLS = func() (*tls.Config, error) {
			config, err := current()
			if err != nil {
				return nil, err
			}
			config = config.Clone()
			config.VerifyConnection = func(s tls.ConnectionState) error {
				r.shown.Store(number(s.PeerCertificates[0]))
				return nil
			}
			return config, nil
		}
	})
}

// reconnects ends every stream and waits for the proxy, which shows this certificate.
func (r *renewal) reconnects(want string) {
	r.t.Helper()
	r.stop()
	r.shown.Store("")
	r.serve(r.at.String())
	r.wantAllAcknowledged()
	if got := r.shown.Load(); got != want {
		r.t.Errorf("the proxy shows certificate %v, want %s", got, want)
	}
}

// shows fails unless the server shows this certificate.
func (r *renewal) shows(want string) {
	r.t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(r.certs.secret("shop", "edge-xds").Data["ca.crt"])
	config := &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: roots, ServerName: serverName, NextProtos: []string{"h2"}}
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: waitLimit}, "tcp", r.at.String(), config)
	must(r.t, err)
	defer conn.Close()
	if got := number(conn.ConnectionState().PeerCertificates[0]); got != want {
		r.t.Errorf("the server shows certificate %s, want %s", got, want)
	}
}

// has waits until the proxy has read this certificate.
func (r *renewal) has(number string) {
	r.t.Helper()
	r.until("the proxy has certificate "+number, func() bool {
		return strings.Contains(r.envoy.Get("/certs"), number+`"`) // there may be a 0 before
	})
}

// goesOn fails unless the stream is the one of before, and requests are answered.
func (r *renewal) goesOn(since time.Time) {
	r.t.Helper()
	if streams := r.server.Streams(); len(streams) != 1 || !streams[0].Since.Equal(since) {
		r.t.Errorf("got streams %+v, want the one since %v", streams, since)
	}
	if code, text := status(r.t, "127.0.0.1:8001", "/"); code != http.StatusOK {
		r.t.Errorf("got %d %s", code, text)
	}
}

func TestContract132CertManagerRenewsCertificatesWithoutARestart(t *testing.T) {
	w, m := newWorld(t), newCertManager(t)
	address := netns.Addresses(t, 1)[0]
	netns.Hosts(t, map[string]netip.Addr{serverName: address})
	r := &renewal{world: w, certs: m, own: filepath.Join(w.folder, "server"), theirs: filepath.Join(w.folder, "proxy")}
	w.service("shop", "web", "", nil, backend(t, "web", nil))
	path := filepath.Join(t.TempDir(), "fleets.yaml")
	must(t, os.WriteFile(path, []byte("fleets: [{name: shop/edge, listeners: [{port: 8001, service: web}]}]\n"), 0o600))
	var err error
	r.fleets, err = xds.ReadFleets(path)
	must(t, err)
	server := r.reads(r.own, m.secret("infra", "endpoint-views-tls"))
	proxy := r.reads(r.theirs, m.secret("shop", "edge-xds"))
	r.serve(netip.AddrPortFrom(address, 0).String())
	r.start(r.at, func(b *envoyconfig.Bootstrap) {
		b.Host, b.CertificateFolder, b.SecretsFolder = serverName, r.theirs, w.folder
	})
	r.wantAllAcknowledged()
	r.shows(server)

	since := r.server.Streams()[0].Since
	// follows brings a renewed Secret to one side; the other one still has what it had.
	follows := func(what string, to func(namespace, name string) *corev1.Secret) {
		t.Log(what)
		if what == "server" {
			server = r.reads(r.own, to("infra", "endpoint-views-tls"))
		} else {
			proxy = r.reads(r.theirs, to("shop", "edge-xds"))
		}
		r.has(proxy)
		r.shows(server)
		r.goesOn(since)
		r.reconnects(proxy)
		since = r.server.Streams()[0].Since
	}
	follows("proxy", m.renew)
	follows("server", m.renew)

	// The authority gets another certificate for its key, and each side hears of it alone.
	m.renew("cert-manager", rootName)
	follows("server", m.renew)
	follows("proxy", m.renew)

	// Another authority below it, which changes with its key as well.
	m.below()
	below := func(namespace, name string) *corev1.Secret { return m.signedBy("below", namespace, name) }
	follows("proxy", below)
	follows("server", below)
	m.renew("cert-manager", "below")
	follows("server", m.renew)
}
