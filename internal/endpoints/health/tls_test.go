package health_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"net"
	"net/netip"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// authority is a CA of a test.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) authority {
	t.Helper()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test CA"}, IsCA: true,
		BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		NotBefore: time.Now().AddDate(-1, 0, 0), NotAfter: time.Now().AddDate(1, 0, 0),
	}
	der, key := sign(t, template, authority{})
	certificate, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return authority{certificate, key}
}

// sign makes a key and its certificate, by the authority or, without one, by
// itself.
func sign(t *testing.T, template *x509.Certificate, by authority) ([]byte, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	parent, signer := by.certificate, by.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	return der, key
}

// issue returns a certificate for names and addresses that ends at a time.
func (a authority) issue(t *testing.T, notAfter time.Time, names ...string) tls.Certificate {
	t.Helper()
	template := &x509.Certificate{SerialNumber: big.NewInt(2), NotBefore: time.Now().AddDate(0, -1, 0), NotAfter: notAfter}
	for _, name := range names {
		if ip := net.ParseIP(name); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, name)
		}
	}
	der, key := sign(t, template, a)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}
}

// pool returns a function for TLS.Roots that trusts the authority.
func (a authority) pool() (*x509.CertPool, error) {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool, nil
}

// secureBackend answers requests over TLS with 200.
func secureBackend(t *testing.T, config *tls.Config) (port uint16) {
	t.Helper()
	return backend(t, loopback, func(conn *net.TCPConn) {
		secured := tls.Server(conn, config)
		if secured.Handshake() != nil {
			return
		}
		readRequest(secured)
		_, _ = secured.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
		readRequest(secured)
	})
}

func TestContract09TheCertificateDecidesOverHTTPS(t *testing.T) {
	const ok, bad = inventory.Ready, inventory.ProbeTLS
	ours, other := newAuthority(t), newAuthority(t)
	nextYear, yesterday := time.Now().AddDate(1, 0, 0), time.Now().AddDate(0, 0, -1)
	tests := []struct {
		name        string
		certificate tls.Certificate
		host        string
		tls         health.TLS
		reason      inventory.Reason
		message     string
	}{
		{"good, for the address", ours.issue(t, nextYear, "127.0.0.1"), "", health.TLS{Roots: ours.pool}, ok, "answered 200 OK"},
		{"good, for the host", ours.issue(t, nextYear, "web.example"), "web.example", health.TLS{Roots: ours.pool}, ok, "(host web.example) answered 200 OK"},
		{"good, for an IPv6 address as host", ours.issue(t, nextYear, "fd00::1"), "fd00::1", health.TLS{Roots: ours.pool}, ok, "(host fd00::1) answered 200 OK"},
		{"good, for the server name", ours.issue(t, nextYear, "tls.example"), "web.example", health.TLS{Roots: ours.pool, ServerName: "tls.example"}, ok, "answered 200 OK"},
		{"expired", ours.issue(t, yesterday, "127.0.0.1"), "", health.TLS{Roots: ours.pool}, bad, "expired"},
		{"for another address", ours.issue(t, nextYear, "127.0.0.9"), "", health.TLS{Roots: ours.pool}, bad, "127.0.0.9"},
		{"for another name", ours.issue(t, nextYear, "web.example"), "", health.TLS{Roots: ours.pool, ServerName: "tls.example"}, bad, "tls.example"},
		{"of an unknown CA", other.issue(t, nextYear, "127.0.0.1"), "", health.TLS{Roots: ours.pool}, bad, "unknown authority"},
		{"of no CA of the system", ours.issue(t, nextYear, "127.0.0.1"), "", health.TLS{}, bad, "certificate"},
		{"anything where insecure", other.issue(t, yesterday, "tls.example"), "", health.TLS{Insecure: true}, ok, "answered 200 OK"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			port := secureBackend(t, &tls.Config{Certificates: []tls.Certificate{test.certificate}})
			outcome := inventory.Refused
			if test.reason == ok {
				outcome = inventory.Pass
			}
			checker := newChecker(t, health.Options{Mode: health.HTTPS, Port: port, Host: test.host, TLS: test.tls})
			got := expect(t, checker, loopback, outcome, test.reason)
			if !strings.Contains(got.Message, test.message) {
				t.Errorf("got message %q, want %q in it", got.Message, test.message)
			}
		})
	}
}

func TestContract09ATLSBackendThatRefusesIsARefusal(t *testing.T) {
	ours := newAuthority(t)
	good := []tls.Certificate{ours.issue(t, time.Now().AddDate(1, 0, 0), "127.0.0.1")}
	tests := []struct {
		name   string
		port   uint16
		reason inventory.Reason
	}{
		{"speaks plain HTTP", backend(t, loopback, func(conn *net.TCPConn) {
			_, _ = conn.Write([]byte("HTTP/1.1 400 Bad Request\r\n\r\n"))
			readRequest(conn)
		}), inventory.ProbeTLS},
		{"speaks old TLS only", secureBackend(t, &tls.Config{Certificates: good, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}), inventory.ProbeTLS},
		{"wants a certificate of ours, TLS 1.3", secureBackend(t, &tls.Config{Certificates: good, ClientAuth: tls.RequireAnyClientCert}), inventory.ProbeTLS},
		{"wants a certificate of ours, TLS 1.2", secureBackend(t, &tls.Config{Certificates: good, ClientAuth: tls.RequireAnyClientCert, MaxVersion: tls.VersionTLS12}), inventory.ProbeTLS},
		{"resets in the handshake", backend(t, loopback, func(conn *net.TCPConn) { _ = conn.SetLinger(0) }), inventory.ProbeRefused},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			checker := newChecker(t, health.Options{Mode: health.HTTPS, Port: test.port, TLS: health.TLS{Roots: ours.pool}})
			expect(t, checker, loopback, inventory.Refused, test.reason)
		})
	}
}

func TestContract09RootsThatCannotBeReadAreALocalError(t *testing.T) {
	ours := newAuthority(t)
	port := secureBackend(t, &tls.Config{Certificates: []tls.Certificate{ours.issue(t, time.Now().AddDate(1, 0, 0), "127.0.0.1")}})
	unreadable := health.TLS{Roots: func() (*x509.CertPool, error) { return nil, errors.New("ca.crt: permission denied") }}
	checker := newChecker(t, health.Options{Mode: health.HTTPS, Port: port, TLS: unreadable})
	got := expect(t, checker, loopback, inventory.LocalError, "")
	if !strings.Contains(got.Message, "ca.crt: permission denied") {
		t.Errorf("got message %q, want the cause in it", got.Message)
	}
	// A backend that does not even accept is down with any roots.
	expect(t, checker, netip.MustParseAddr("127.0.0.2"), inventory.Refused, inventory.ProbeRefused)
}

func TestRotatedRootsWorkWithoutARestart(t *testing.T) {
	before, after := newAuthority(t), newAuthority(t)
	var current atomic.Pointer[authority]
	current.Store(&before)
	port := secureBackend(t, &tls.Config{Certificates: []tls.Certificate{after.issue(t, time.Now().AddDate(1, 0, 0), "127.0.0.1")}})
	roots := func() (*x509.CertPool, error) { return current.Load().pool() }
	checker := newChecker(t, health.Options{Mode: health.HTTPS, Port: port, TLS: health.TLS{Roots: roots}})
	expect(t, checker, loopback, inventory.Refused, inventory.ProbeTLS)
	current.Store(&after)
	eventually(t, "refused checks", 0, func() int {
		if checker.Check(t.Context(), loopback).Outcome == inventory.Pass {
			return 0
		}
		return 1
	})
}

// TestContract181AuthoritiesThatCannotBeReadAnyMoreStay: a backend that answers no is refused, and
// one that answers yes passes, as before. The checker says why.
func TestContract181AuthoritiesThatCannotBeReadAnyMoreStay(t *testing.T) {
	ours := newAuthority(t)
	config := &tls.Config{Certificates: []tls.Certificate{ours.issue(t, time.Now().AddDate(1, 0, 0), "127.0.0.1")}}
	for name, lost := range map[string]error{"an error": errors.New("ca.crt: holds no certificate"), "there are none": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var broken atomic.Bool
			var loads atomic.Int32
			port := backend(t, loopback, func(conn *net.TCPConn) {
				secured := tls.Server(conn, config)
				if secured.Handshake() != nil {
					return
				}
				status := "200 OK"
				if strings.HasPrefix(readRequest(secured), "GET /no ") {
					status = "503 Service Unavailable"
				}
				_, _ = secured.Write([]byte("HTTP/1.1 " + status + "\r\nContent-Length: 0\r\n\r\n"))
				readRequest(secured)
			})
			roots := func() (*x509.CertPool, error) {
				if loads.Add(1); broken.Load() {
					return nil, lost
				}
				return ours.pool()
			}
			trust := health.TLS{Roots: roots}
			yes := newChecker(t, health.Options{Mode: health.HTTPS, Port: port, TLS: trust})
			no := newChecker(t, health.Options{Mode: health.HTTPS, Port: port, Path: "/no", TLS: trust})
			all := func() {
				expect(t, yes, loopback, inventory.Pass, inventory.Ready)
				expect(t, no, loopback, inventory.Refused, inventory.ProbeStatus)
			}
			all()
			if err := yes.Trouble(); err != nil {
				t.Errorf("got trouble %v with good authorities", err)
			}
			broken.Store(true)
			for before := loads.Load(); loads.Load() < before+2; {
				all()
			}
			if yes.Trouble() == nil || no.Trouble() == nil || lost != nil && !errors.Is(yes.Trouble(), lost) {
				t.Errorf("got trouble %v and %v, want why the authorities of before stay", yes.Trouble(), no.Trouble())
			}
			broken.Store(false)
			for before := loads.Load(); loads.Load() < before+2; {
				all()
			}
			if err := yes.Trouble(); err != nil {
				t.Errorf("got trouble %v after the authorities were there again", err)
			}
		})
	}
}

// TestContract181AuthoritiesThatHangAreALocalError: a file that is read for longer than a check may
// take says nothing of the backend.
func TestContract181AuthoritiesThatHangAreALocalError(t *testing.T) {
	t.Parallel()
	ours := newAuthority(t)
	port := secureBackend(t, &tls.Config{Certificates: []tls.Certificate{ours.issue(t, time.Now().AddDate(1, 0, 0), "127.0.0.1")}})
	const timeout = time.Second
	hangs := func() (*x509.CertPool, error) {
		time.Sleep(timeout * 5 / 4) // a check that takes half as long again counts for nothing anyway
		return ours.pool()
	}
	checker := newChecker(t, health.Options{Mode: health.HTTPS, Port: port, Timeout: timeout, TLS: health.TLS{Roots: hangs}})
	if got := checker.Check(t.Context(), loopback); got.Outcome != inventory.LocalError {
		t.Errorf("got %s (%s), want %s", got.Outcome, got.Message, inventory.LocalError)
	}
}

func TestContract32AJumpOfTheClockTakesNoEndpointDownByCertificate(t *testing.T) {
	ours := newAuthority(t)
	yesterday := time.Now().AddDate(0, 0, -1)
	port := secureBackend(t, &tls.Config{Certificates: []tls.Certificate{ours.issue(t, yesterday, "127.0.0.1")}})
	tests := []struct {
		name    string
		jump    time.Duration
		outcome inventory.Outcome
		reason  inventory.Reason
	}{
		{"no jump", 0, inventory.Refused, inventory.ProbeTLS},
		{"a jump over the end of the certificate", 48 * time.Hour, inventory.LocalError, ""},
		{"a jump that changes nothing", time.Hour, inventory.Refused, inventory.ProbeTLS},
		{"a jump back", -48 * time.Hour, inventory.Refused, inventory.ProbeTLS},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			checker := newChecker(t, health.Options{Mode: health.HTTPS, Port: port, TLS: health.TLS{Roots: ours.pool}})
			checker.MoveWallClock(test.jump)
			expect(t, checker, loopback, test.outcome, test.reason)
		})
	}
}
