//go:build lab

package proxies_test

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/viewserver"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/xds"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/xds/resources"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// serverName is the host that proxies ask for.
const serverName = "endpoint-views-replicas.infra.svc"

// issuer is what cert-manager signs with: an authority below a root.
type issuer struct{ *authority }

func newIssuer(root *authority) issuer {
	root.t.Helper()
	below := newAuthority(root.t)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: "issuer"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, root.cert, below.key.Public(), root.key)
	must(root.t, err)
	below.cert, err = x509.ParseCertificate(der)
	must(root.t, err)
	below.pem = root.pem
	return issuer{below}
}

// renew puts into a folder what cert-manager writes into a Secret: the certificate and that
// of the issuer, another key in PKCS#1, and the root alone.
func (i issuer) renew(folder string, number int64, template x509.Certificate) {
	i.t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	must(i.t, err)
	template.SerialNumber, template.NotBefore, template.NotAfter = big.NewInt(number), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	template.KeyUsage = x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment
	der, err := x509.CreateCertificate(rand.Reader, &template, i.cert, key.Public(), i.key)
	must(i.t, err)
	chain := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: i.cert.Raw})...)
	place(i.t, folder, map[string][]byte{
		"tls.crt": chain, "tls.key": pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}), "ca.crt": []byte(i.pem),
	})
}

// renewal is a proxy and its server, with a Secret of cert-manager each.
type renewal struct {
	*world
	issuer issuer
	fleets *xds.Fleets
	at     netip.AddrPort
	// own and theirs are the folders of the server and the proxy.
	own, theirs string
	// shown is the number of the certificate that a proxy connected with.
	shown atomic.Int64
}

// renewServer and renewProxy change a Secret in place.
func (r *renewal) renewServer(number int64) {
	r.issuer.renew(r.own, number, x509.Certificate{DNSNames: []string{serverName}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}})
}

func (r *renewal) renewProxy(number int64) {
	uri := &url.URL{Scheme: "spiffe", Host: "cluster.local", Path: "/ns/shop/envoy/edge"}
	r.issuer.renew(r.theirs, number, x509.Certificate{URIs: []*url.URL{uri}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}})
}

// serve listens as the program does with these files.
func (r *renewal) serve(at string) {
	r.t.Helper()
	files := viewserver.TLS{
		CertificateFile: filepath.Join(r.own, "tls.crt"), KeyFile: filepath.Join(r.own, "tls.key"), ClientCAFile: filepath.Join(r.own, "ca.crt"),
	}
	r.at = r.listen(r.fleets, at, func(o *xds.Options) {
		o.Namespaces = func(string) []string { return nil }
		o.Accepts = func(*tls.ConnectionState) error { return nil }
		o.TLS = func() (*tls.Config, error) {
			config, err := files.Strict()
			if err != nil {
				return nil, err
			}
			config.VerifyConnection = func(s tls.ConnectionState) error {
				r.shown.Store(s.PeerCertificates[0].SerialNumber.Int64())
				return nil
			}
			return config, nil
		}
	})
}

// reconnects ends every stream and waits for the proxy, which shows this certificate.
func (r *renewal) reconnects(number int64) {
	r.t.Helper()
	r.stop()
	r.shown.Store(0)
	r.serve(r.at.String())
	r.wantAllAcknowledged()
	if got := r.shown.Load(); got != number {
		r.t.Errorf("the proxy shows certificate %x, want %x", got, number)
	}
}

// shows fails unless the server shows this certificate.
func (r *renewal) shows(number int64) {
	r.t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM([]byte(r.issuer.pem))
	config := &tls.Config{MinVersion: tls.VersionTLS13, RootCAs: roots, ServerName: serverName, NextProtos: []string{"h2"}}
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: waitLimit}, "tcp", r.at.String(), config)
	must(r.t, err)
	defer conn.Close()
	if got := conn.ConnectionState().PeerCertificates[0].SerialNumber.Int64(); got != number {
		r.t.Errorf("the server shows certificate %x, want %x", got, number)
	}
}

// has waits until the proxy has read this certificate.
func (r *renewal) has(number int64) {
	r.t.Helper()
	r.until(fmt.Sprintf("the proxy has certificate %x", number), func() bool {
		return strings.Contains(r.envoy.Get("/certs"), fmt.Sprintf(`"serial_number": "%x"`, number))
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

func TestContract132SecretsOfCertManagerAreRenewedWithoutARestart(t *testing.T) {
	w := newWorld(t)
	address := netns.Addresses(t, 1)[0]
	netns.Hosts(t, map[string]netip.Addr{serverName: address})
	root := newAuthority(t)
	r := &renewal{world: w, issuer: newIssuer(root), own: filepath.Join(w.folder, "server"), theirs: filepath.Join(w.folder, "proxy")}
	w.service("shop", "web", "", nil, backend(t, "web", nil))
	path := filepath.Join(t.TempDir(), "fleets.yaml")
	must(t, os.WriteFile(path, []byte("fleets: [{name: shop/edge, listeners: [{port: 8001, service: web}]}]\n"), 0o600))
	var err error
	r.fleets, err = xds.ReadFleets(path)
	must(t, err)
	r.renewServer(0x1001)
	r.renewProxy(0x2001)
	r.serve(netip.AddrPortFrom(address, 0).String())
	r.start(r.at, func(b *resources.Bootstrap) {
		b.Host, b.CertificateFolder, b.SecretsFolder = serverName, r.theirs, w.folder
	})
	r.wantAllAcknowledged()

	since := r.server.Streams()[0].Since
	r.renewProxy(0x2002)
	r.has(0x2002)
	r.renewServer(0x1002)
	r.shows(0x1002)
	r.goesOn(since)
	r.reconnects(0x2002)

	// Another authority below the same root: each side has it before the other one.
	r.issuer = newIssuer(root)
	since = r.server.Streams()[0].Since
	r.renewProxy(0x2003)
	r.has(0x2003)
	r.goesOn(since)
	r.reconnects(0x2003)
	r.renewServer(0x1003)
	r.shows(0x1003)
	r.reconnects(0x2003)
	r.issuer = newIssuer(root)
	r.renewServer(0x1004)
	r.shows(0x1004)
	r.reconnects(0x2003)
	r.goesOn(r.server.Streams()[0].Since)
}
