package certificates

import (
	"bytes"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"maps"
	"net/url"
	"slices"
	"time"
)

const (
	// life is how long a certificate is valid; it is renewed when a third of that remains.
	life = 30 * 24 * time.Hour
	// skew is how far the clocks of two machines may be apart.
	skew = time.Hour
)

// Owner is who has a certificate: a server, which has names, or a fleet.
type Owner struct {
	// Names are those by which clients reach a server.
	Names []string
	// TrustDomain, Namespace and Name are those of a fleet; empty for a server.
	TrustDomain, Namespace, Name string
}

// uri is how the certificate of a fleet names it.
func (o Owner) uri() *url.URL {
	return &url.URL{Scheme: "spiffe", Host: o.TrustDomain, Path: "/ns/" + o.Namespace + "/" + string(Fleet) + "/" + o.Name}
}

// template is the certificate before it is signed.
func (o Owner) template(now time.Time) *x509.Certificate {
	t := &x509.Certificate{NotBefore: now.Add(-skew), NotAfter: now.Add(life), KeyUsage: x509.KeyUsageDigitalSignature}
	if o.Name == "" {
		t.Subject, t.DNSNames, t.ExtKeyUsage = pkix.Name{CommonName: "endpoint-views"}, o.Names, []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
		return t
	}
	t.Subject, t.URIs, t.ExtKeyUsage = pkix.Name{CommonName: "endpoint-views fleet"}, []*url.URL{o.uri()}, []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	return t
}

// names reports whether a certificate names the owner.
func (o Owner) names(c *x509.Certificate) bool {
	if o.Name == "" {
		return slices.Equal(c.DNSNames, o.Names)
	}
	return len(c.URIs) == 1 && c.URIs[0].String() == o.uri().String()
}

// Issue returns what the Secret of an owner is to hold. A certificate that is good for a
// while stays; the authorities are always the newest.
func (a Authorities) Issue(now time.Time, of Owner, has map[string][]byte) (map[string][]byte, error) {
	if len(a.all) == 0 {
		return nil, errors.New("there is no authority that signs")
	}
	data := make(map[string][]byte)
	maps.Copy(data, has)
	data[AuthorityKey] = a.Trusted()
	if a.good(now, of, has) {
		return data, nil
	}
	signer := a.signer(now)
	template := of.template(now)
	if template.NotAfter.After(signer.certificate.NotAfter) {
		template.NotAfter = signer.certificate.NotAfter
	}
	one, err := sign(template, signer)
	if err != nil {
		return nil, err
	}
	if data[PrivateKey], err = encodeKey(one.key); err != nil {
		return nil, err
	}
	data[CertificateKey] = encodeCertificate(one.certificate.Raw)
	return data, nil
}

// good reports whether a Secret holds a certificate of the owner that will do for a while.
func (a Authorities) good(now time.Time, of Owner, has map[string][]byte) bool {
	certificates, err := parseCertificates(has[CertificateKey])
	keys, wrong := parseKeys(has[PrivateKey])
	if err != nil || wrong != nil || len(certificates) != 1 || len(keys) != 1 || !keys[0].PublicKey.Equal(certificates[0].PublicKey) {
		return false
	}
	c := certificates[0]
	signed := slices.ContainsFunc(a.all, func(by pair) bool {
		return bytes.Equal(by.certificate.SubjectKeyId, c.AuthorityKeyId) && c.CheckSignatureFrom(by.certificate) == nil
	})
	return signed && of.names(c) && now.Before(c.NotAfter.Add(-life/3))
}
