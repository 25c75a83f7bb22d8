//go:build lab

package proxies_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/join"
)

// authority signs certificates of endpoints.
type authority struct {
	t    *testing.T
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  string
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	must(t, err)
	cert, err := x509.ParseCertificate(der)
	must(t, err)
	return &authority{t, cert, key, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}))}
}

// signs is how an endpoint speaks TLS with a certificate of these names.
func (a *authority) signs(until time.Time, names ...string) *tls.Config {
	a.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(a.t, err)
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: "endpoint"}, DNSNames: names, NotBefore: time.Now().Add(-time.Hour), NotAfter: until, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), a.key)
	must(a.t, err)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
}

// encrypted leads a port to each of the Services below.
const encrypted = `
fleets:
- name: shop/edge
  listeners:
  - {port: 8101, service: host}
  - {port: 8102, service: named}
  - {port: 8103, service: foreign}
  - {port: 8104, service: expired}
  - {port: 8105, service: unchecked}
  - {port: 8106, service: unsaid}
  - {port: 8107, service: fast}
  - {port: 8108, service: behind}
`

func TestContract108AnEndpointIsSentARequestOnlyWithTheCertificateThatTheServiceWants(t *testing.T) {
	w := newWorld(t)
	ours, theirs := newAuthority(t), newAuthority(t)
	later := time.Now().Add(time.Hour)
	checked := func(more ...string) map[string]string {
		all := map[string]string{join.AuthorityAnnotation: ours.pem}
		for i := 0; i < len(more); i += 2 {
			all[more[i]] = more[i+1]
		}
		return all
	}
	named := checked(join.ServerNameAnnotation, "worker.internal")
	worker := backend(t, "named", ours.signs(later, "worker.internal"))
	w.service("shop", "host", "https", checked(), backend(t, "host", ours.signs(later, "shop.example.com", "*.wild.example.com")))
	w.service("shop", "named", "https", named, worker)
	w.service("shop", "foreign", "https", named, backend(t, "foreign", theirs.signs(later, "worker.internal")))
	w.service("shop", "expired", "https", named, backend(t, "expired", ours.signs(time.Now().Add(-time.Minute), "worker.internal")))
	w.service("shop", "unchecked", "https", map[string]string{join.SkipVerifyAnnotation: "true"}, backend(t, "unchecked", theirs.signs(later, "other.internal")))
	w.service("shop", "unsaid", "https", nil, backend(t, "unsaid", ours.signs(later, "shop.example.com")))
	fast := ours.signs(later, "worker.internal")
	fast.NextProtos = []string{"h2"}
	w.service("shop", "fast", "grpcs", named, backend(t, "fast", fast))
	w.service("shop", "behind", "https", checked(join.ServerNameAnnotation, "other.internal"), worker)
	w.serve(encrypted)
	w.wantAllAcknowledged()

	for _, c := range []struct {
		port                   int
		host, backend, askedOf string
	}{
		{8101, "shop.example.com", "host", "shop.example.com"},
		{8101, "a.wild.example.com", "host", "a.wild.example.com"},
		{8101, "other.example.com", "", ""}, // the certificate does not have what the client asks for
		{8102, "shop.example.com", "named", "worker.internal"},
		{8102, "203.0.113.1", "named", "worker.internal"},
		{8103, "shop.example.com", "", ""}, // another authority
		{8104, "shop.example.com", "", ""}, // expired
		{8105, "shop.example.com", "unchecked", "shop.example.com"},
		{8108, "shop.example.com", "", ""}, // another name
	} {
		got := ask(t, c.port, c.host, "/", nil)
		if got.Backend != c.backend || got.ServerName != c.askedOf || c.backend == "" && got.Code != http.StatusServiceUnavailable {
			t.Errorf("port %d, host %s: got %d from %q, which was asked for %q: %s; want %q and %q", c.port, c.host, got.Code, got.Backend, got.ServerName, got.URI, c.backend, c.askedOf)
		}
	}
	if got := ask(t, 8106, "shop.example.com", "/", nil); got.Code != http.StatusServiceUnavailable || !strings.Contains(got.URI, join.AuthorityAnnotation) {
		t.Errorf("got %d %q where nothing says how certificates are checked, want 503 with the remedy", got.Code, got.URI)
	}
	if got := ask(t, 8107, "shop.example.com", "/", nil); got.Backend != "fast" || got.Protocol != "HTTP/2.0" || got.ServerName != "worker.internal" {
		t.Errorf("got %+v, want HTTP/2 in TLS", got)
	}

	t.Run("an authority that is none takes nothing away", func(t *testing.T) {
		w.service("shop", "named", "https", map[string]string{join.AuthorityAnnotation: "not a certificate", join.ServerNameAnnotation: "worker.internal"}, worker)
		w.until("the proxy rejects it", func() bool { return w.rejects("CDS") })
		if got := ask(t, 8102, "shop.example.com", "/", nil); got.Backend != "named" {
			t.Errorf("got %d %s, want that the last good authority counts", got.Code, got.URI)
		}
	})
	t.Run("a proxy that starts meanwhile serves everything else", func(t *testing.T) {
		w.envoy.Stop()
		w.run(w.bootstrap)
		w.until("the others are served", func() bool { code, _ := status(t, "127.0.0.1:8105", "/"); return code == http.StatusOK })
		w.until("the rejection is told", func() bool { return w.rejects("CDS") })
		w.until("every other cluster is acknowledged", func() bool {
			return slices.Equal(w.unacknowledged("CDS"), []string{"named.shop:80:tls"})
		})
	})
	t.Run("a new authority counts without a restart", func(t *testing.T) {
		both := map[string]string{join.AuthorityAnnotation: ours.pem + theirs.pem, join.ServerNameAnnotation: "worker.internal"}
		w.service("shop", "named", "https", both, backend(t, "new", theirs.signs(later, "worker.internal")))
		w.until("the endpoint of the new authority answers", func() bool { return ask(t, 8102, "shop.example.com", "/", nil).Backend == "new" })
		w.until("the rejection is over", func() bool { return !w.rejects("CDS") })
	})
}

// unacknowledged are the resources of a type that the proxy was sent and has not acknowledged.
func (w *world) unacknowledged(kind string) []string {
	var all []string
	for _, stream := range w.server.Streams() {
		for _, sent := range stream.Sent {
			for _, r := range sent.Resources {
				if sent.Type == kind && r.AcknowledgedAt == nil {
					all = append(all, r.Name)
				}
			}
		}
	}
	return all
}

// rejects reports whether the proxy rejects a resource of a type.
func (w *world) rejects(kind string) bool {
	for _, stream := range w.server.Streams() {
		for _, sent := range stream.Sent {
			if sent.Type == kind && sent.Rejected != nil {
				return true
			}
		}
	}
	return false
}
