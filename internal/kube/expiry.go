package kube

import (
	"crypto/x509"
	"encoding/pem"
	"time"

	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

// Credential is what identifies the user to an API server.
type Credential string

// The credentials that may say when they end, and Plugin, which does not and
// renews itself.
const (
	Token             Credential = "token"
	ClientCertificate Credential = "client certificate"
	Plugin            Credential = "exec plugin"
)

// Expiry is when a credential ends.
type Expiry struct {
	// Credential is the one that ends; empty where it does not say when.
	Credential Credential
	// Begins is since when it is valid; zero where it does not say.
	Begins time.Time
	// Ends is until when it is valid; zero where that is not known.
	Ends time.Time
}

const (
	// longestNotice is how long before a credential expires the warning begins, unless
	// the last 1/noticeShare of its lifetime is shorter: a program renews such a
	// credential, and is late by then.
	longestNotice = 14 * 24 * time.Hour
	noticeShare   = 10
)

// ExpiryOf returns when the credential of a configuration ends, of a certificate
// and a token the one that ends sooner. Everything has to be inline, as Snapshot
// returns it. It is not known of opaque tokens, of passwords, and of what an exec
// plugin gets. Signatures are for the API server to check.
func ExpiryOf(config *rest.Config) Expiry {
	certificate := expiryOfCertificate(config.CertData)
	begins, ends := transport.TokenValidity(config.BearerToken)
	switch {
	case !ends.IsZero() && (!certificate.Known() || ends.Before(certificate.Ends)):
		return Expiry{Token, begins, ends}
	case !certificate.Known() && config.ExecProvider != nil:
		return Expiry{Credential: Plugin}
	}
	return certificate
}

// Known reports whether it is known when the credential ends.
func (e Expiry) Known() bool { return !e.Ends.IsZero() }

// Lifetime is how long the credential is valid in all, 0 where that is not known.
func (e Expiry) Lifetime() time.Duration {
	if e.Begins.IsZero() || !e.Begins.Before(e.Ends) {
		return 0
	}
	return e.Ends.Sub(e.Begins)
}

// Soon reports whether it is time to renew the credential: it ends within 14 days,
// and within a tenth of its lifetime.
func (e Expiry) Soon(now time.Time) bool {
	notice := longestNotice
	if lifetime := e.Lifetime(); lifetime > 0 {
		notice = min(notice, lifetime/noticeShare)
	}
	return e.Known() && e.Ends.Sub(now) < notice
}

// expiryOfCertificate reads the first certificate, which is the client's own.
func expiryOfCertificate(data []byte) Expiry {
	for {
		var block *pem.Block
		if block, data = pem.Decode(data); block == nil {
			return Expiry{}
		}
		if block.Type != "CERTIFICATE" {
			continue
		}
		certificate, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return Expiry{}
		}
		return Expiry{Credential: ClientCertificate, Begins: certificate.NotBefore, Ends: certificate.NotAfter}
	}
}
