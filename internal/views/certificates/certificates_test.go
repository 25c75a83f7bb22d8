package certificates_test

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/certificates"
)

// start is the time at which the tests begin.
var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

var (
	server = certificates.Owner{Names: []string{"endpoint-views.infra", "endpoint-views.infra.svc"}}
	edge   = certificates.Owner{TrustDomain: "example.com", Namespace: "shop", Name: "edge"}
)

// installation is what the Secrets hold.
type installation struct{ authority, server, edge map[string][]byte }

// renew does what a run of the command does.
func (i installation) renew(t *testing.T, now time.Time) installation {
	t.Helper()
	var authorities certificates.Authorities
	var err error
	if i.authority != nil {
		if authorities, err = certificates.Parse(i.authority); err != nil {
			t.Fatal(err)
		}
	}
	if authorities, err = authorities.Renewed(now); err != nil {
		t.Fatal(err)
	}
	var next installation
	if next.authority, err = authorities.Data(); err != nil {
		t.Fatal(err)
	}
	if next.server, err = authorities.Issue(now, server, i.server); err != nil {
		t.Fatal(err)
	}
	if next.edge, err = authorities.Issue(now, edge, i.edge); err != nil {
		t.Fatal(err)
	}
	return next
}

// certificate is the one of a Secret.
func certificate(t *testing.T, data map[string][]byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(data[certificates.CertificateKey])
	if block == nil {
		t.Fatal("there is no certificate")
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// accepts says why one side does not accept the other.
func accepts(t *testing.T, now time.Time, mine, theirs map[string][]byte, as x509.ExtKeyUsage) error {
	t.Helper()
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(mine[certificates.AuthorityKey])
	_, err := certificate(t, theirs).Verify(x509.VerifyOptions{Roots: roots, CurrentTime: now, KeyUsages: []x509.ExtKeyUsage{as}})
	return err
}

func same(a, b map[string][]byte) bool { return maps.EqualFunc(a, b, slices.Equal) }

// TestContract106RenewalCutsNobodyOff goes through three years, six hours at a time: what a
// Pod has that is a day behind its Secret, and what one has that is current, accept each
// other, in both directions.
func TestContract106RenewalCutsNobodyOff(t *testing.T) {
	t.Parallel()
	const step, behind = 6 * time.Hour, 4
	history := []installation{installation{}.renew(t, start)}
	authorities, signed := map[string]bool{}, 0
	for now := start.Add(step); now.Before(start.AddDate(3, 0, 0)); now = now.Add(step) {
		newest := history[len(history)-1].renew(t, now)
		if !same(newest.edge, history[len(history)-1].edge) {
			signed++
		}
		history = append(history, newest)
		old := history[max(0, len(history)-1-behind)]
		// A fleet or a server that is new at this moment.
		fresh := installation{authority: newest.authority}.renew(t, now)
		for _, pair := range [][2]installation{{newest, old}, {old, newest}, {newest, newest}, {old, old}, {fresh, old}, {old, fresh}} {
			if err := accepts(t, now, pair[0].server, pair[1].edge, x509.ExtKeyUsageClientAuth); err != nil {
				t.Fatalf("%v: the server refuses the fleet: %v", now, err)
			}
			if err := accepts(t, now, pair[0].edge, pair[1].server, x509.ExtKeyUsageServerAuth); err != nil {
				t.Fatalf("%v: the fleet refuses the server: %v", now, err)
			}
		}
		authorities[string(certificate(t, newest.edge).AuthorityKeyId)] = true
		history = history[max(0, len(history)-1-behind):]
	}
	// Each half a year another authority, each 20 days another certificate.
	if len(authorities) < 5 || signed < 50 || signed > 80 {
		t.Errorf("got %d authorities and %d changes in three years", len(authorities), signed)
	}
}

// TestContract106WhatAnEnvoySaysOfItsAuthoritiesIsNoFalseAlarm: it says when the first certificate
// of a file expires, and an alert fires a week before. The oldest authority is trusted to its end.
func TestContract106WhatAnEnvoySaysOfItsAuthoritiesIsNoFalseAlarm(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	has := installation{}
	for now := start; now.Before(start.AddDate(2, 0, 0)); now = now.Add(day) {
		has = has.renew(t, now)
		block, _ := pem.Decode(has.edge[certificates.AuthorityKey])
		first, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		if left := first.NotAfter.Sub(now); left < 7*day {
			t.Fatalf("%v: the first authority expires in %s", now, left)
		}
	}
}

func TestContract105ACertificateNamesItsOwnerAndNobodyElse(t *testing.T) {
	t.Parallel()
	made := installation{}.renew(t, start)
	of := certificate(t, made.edge)
	if len(of.URIs) != 1 || of.URIs[0].String() != "spiffe://example.com/ns/shop/envoy/edge" || len(of.DNSNames) != 0 || of.IsCA {
		t.Errorf("the fleet: got %v and %v", of.URIs, of.DNSNames)
	}
	if err := accepts(t, start, made.edge, made.edge, x509.ExtKeyUsageServerAuth); err == nil {
		t.Error("a fleet can be taken for the server")
	}
	if err := accepts(t, start, made.server, made.server, x509.ExtKeyUsageClientAuth); err == nil {
		t.Error("the server can be taken for a client")
	}
	if of := certificate(t, made.server); !slices.Equal(of.DNSNames, server.Names) || len(of.URIs) != 0 {
		t.Errorf("the server: got %v and %v", of.DNSNames, of.URIs)
	}
	if bytes.Contains(made.edge[certificates.AuthorityKey], []byte("PRIVATE")) || len(made.edge) != 3 {
		t.Error("the Secret of a fleet has more than its own key")
	}
	if other := (installation{}).renew(t, start); accepts(t, start, made.server, other.edge, x509.ExtKeyUsageClientAuth) == nil {
		t.Error("a fleet of another installation is accepted")
	}
}

func TestWhatIsGoodStaysAndWhatIsNotIsMadeAnew(t *testing.T) {
	t.Parallel()
	made := installation{}.renew(t, start)
	if again := made.renew(t, start.Add(19*24*time.Hour)); !same(again.edge, made.edge) || !same(again.server, made.server) || !same(again.authority, made.authority) {
		t.Error("something was made anew that is good for eleven days")
	}
	authorities, err := certificates.Parse(made.authority)
	if err != nil {
		t.Fatal(err)
	}
	foreign := installation{}.renew(t, start).edge
	foreign[certificates.AuthorityKey] = made.edge[certificates.AuthorityKey]
	for name, c := range map[string]struct {
		now time.Time
		has map[string][]byte
	}{
		"it is due":             {start.Add(21 * 24 * time.Hour), made.edge},
		"it is another's":       {start, made.server},
		"it is of another hand": {start, foreign},
		"it is no certificate":  {start, map[string][]byte{certificates.CertificateKey: []byte("x"), certificates.PrivateKey: []byte("y")}},
		"there is none":         {start, nil},
	} {
		got, err := authorities.Issue(c.now, edge, c.has)
		if err != nil {
			t.Fatal(err)
		}
		if same(got, c.has) || accepts(t, c.now, made.server, got, x509.ExtKeyUsageClientAuth) != nil {
			t.Errorf("%s: it was not made anew", name)
		}
	}
}

// TestAnAuthorityThatCannotBeReadIsNeverReplaced: another one would cut off everybody.
func TestAnAuthorityThatCannotBeReadIsNeverReplaced(t *testing.T) {
	t.Parallel()
	good, other := installation{}.renew(t, start).authority, installation{}.renew(t, start)
	for name, data := range map[string]map[string][]byte{
		"nothing":       {},
		"no key":        {certificates.AuthorityKey: good[certificates.AuthorityKey]},
		"another's key": {certificates.AuthorityKey: good[certificates.AuthorityKey], certificates.AuthorityPrivateKey: other.authority[certificates.AuthorityPrivateKey]},
		"no authority":  {certificates.AuthorityKey: other.edge[certificates.CertificateKey], certificates.AuthorityPrivateKey: other.edge[certificates.PrivateKey]},
		"no key at all": {certificates.AuthorityKey: good[certificates.AuthorityKey], certificates.AuthorityPrivateKey: []byte("-----BEGIN PRIVATE KEY-----\nc2VjcmV0\n-----END PRIVATE KEY-----\n")},
	} {
		if _, err := certificates.Parse(data); err == nil || strings.Contains(err.Error(), "c2VjcmV0") {
			t.Errorf("%s: got %v, want an error without what is in it", name, err)
		}
	}
}
