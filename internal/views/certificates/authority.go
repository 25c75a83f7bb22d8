package certificates

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"fmt"
	"slices"
	"time"
)

const (
	// authorityLife is how long an authority is valid. Another one joins it when half of
	// that is over.
	authorityLife = 365 * 24 * time.Hour
	// settling is how long an authority is trusted before it signs, if another one can
	// sign meanwhile: the kubelets bring a Secret to its Pods within minutes.
	settling = 24 * time.Hour
)

// The keys of a Secret.
const (
	// CertificateKey and PrivateKey are those of one certificate.
	CertificateKey = "tls.crt"
	PrivateKey     = "tls.key"
	// AuthorityKey has the authorities that are trusted, AuthorityPrivateKey their
	// private keys, which only the Secret of the authorities has.
	AuthorityKey        = "ca.crt"
	AuthorityPrivateKey = "ca.key"
)

// Authorities are those of one installation, oldest first. The zero value has none.
type Authorities struct{ all []pair }

// pair is a certificate with its key.
type pair struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// made is when a certificate was made.
func (p pair) made() time.Time { return p.certificate.NotBefore.Add(skew) }

// Parse reads what the Secret of the authorities holds.
func Parse(data map[string][]byte) (Authorities, error) {
	certificates, err := parseCertificates(data[AuthorityKey])
	if err != nil {
		return Authorities{}, fmt.Errorf("read %s: %w", AuthorityKey, err)
	}
	keys, err := parseKeys(data[AuthorityPrivateKey])
	if err != nil {
		return Authorities{}, fmt.Errorf("read %s: %w", AuthorityPrivateKey, err)
	}
	if len(certificates) != len(keys) || len(keys) == 0 {
		return Authorities{}, fmt.Errorf("%d certificates and %d keys: each authority has one of both", len(certificates), len(keys))
	}
	var a Authorities
	for i, certificate := range certificates {
		if !keys[i].PublicKey.Equal(certificate.PublicKey) || !certificate.IsCA {
			return Authorities{}, errors.New("a key is not that of its certificate, or a certificate is not that of an authority")
		}
		a.all = append(a.all, pair{certificate, keys[i]})
	}
	return a, nil
}

// Data is what the Secret of the authorities is to hold.
func (a Authorities) Data() (map[string][]byte, error) {
	var certificates, keys bytes.Buffer
	for _, one := range a.all {
		text, err := encodeKey(one.key)
		if err != nil {
			return nil, err
		}
		certificates.Write(encodeCertificate(one.certificate.Raw))
		keys.Write(text)
	}
	return map[string][]byte{AuthorityKey: certificates.Bytes(), AuthorityPrivateKey: keys.Bytes()}, nil
}

// Trusted are the certificates of all authorities, the newest first: an Envoy says when the first
// one expires, and the oldest does so without harm.
func (a Authorities) Trusted() []byte {
	var text bytes.Buffer
	for _, one := range slices.Backward(a.all) {
		text.Write(encodeCertificate(one.certificate.Raw))
	}
	return text.Bytes()
}

// Renewed leaves out the authorities that have expired, and adds one where half of the life
// of the newest is over.
func (a Authorities) Renewed(now time.Time) (Authorities, error) {
	next := Authorities{all: slices.DeleteFunc(slices.Clone(a.all), func(one pair) bool { return !now.Before(one.certificate.NotAfter) })}
	if n := len(next.all); n > 0 && now.Before(next.all[n-1].made().Add(authorityLife/2)) {
		return next, nil
	}
	template := &x509.Certificate{
		// Two authorities never have the same name: some libraries look for them by it.
		Subject:   pkix.Name{CommonName: "endpoint-views " + now.UTC().Format(time.RFC3339)},
		NotBefore: now.Add(-skew), NotAfter: now.Add(authorityLife),
		IsCA: true, BasicConstraintsValid: true, MaxPathLenZero: true, KeyUsage: x509.KeyUsageCertSign,
	}
	one, err := sign(template, nil)
	if err != nil {
		return Authorities{}, err
	}
	next.all = append(next.all, one)
	return next, nil
}

// signer is the newest authority that everybody knows by now; where there is none, the
// oldest.
func (a Authorities) signer(now time.Time) *pair {
	for i := len(a.all) - 1; i > 0; i-- {
		if !now.Before(a.all[i].made().Add(settling)) {
			return &a.all[i]
		}
	}
	return &a.all[0]
}
