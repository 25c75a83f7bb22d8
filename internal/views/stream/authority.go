package stream

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/system"
)

// errNotTrusted says that a certificate counts no more on a connection that it opened.
var errNotTrusted = errors.New("the client certificate has expired, or its authority is no longer trusted; connect again with a current one")

// authority is the authority of clients' certificates. A handshake verifies a
// certificate once, but its connection may last: so each request verifies it again,
// against the authority as the file says it now.
type authority struct {
	file string

	mu      sync.Mutex
	pool    *x509.CertPool
	checked time.Time
}

// readAuthority reads the certificates of a file.
func readAuthority(file string) (*x509.CertPool, error) {
	text, err := system.ReadFile(file, longestFile)
	if err != nil {
		return nil, fmt.Errorf("read the authority of clients: %w", err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, fmt.Errorf("%s holds no certificate in PEM", file)
	}
	return pool, nil
}

// current returns the certificates of the file; the same pool while the file says the
// same. A file that cannot be read leaves the last good one in effect.
func (a *authority) current() *x509.CertPool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.pool != nil && time.Since(a.checked) < every {
		return a.pool
	}
	a.checked = time.Now()
	if pool, err := readAuthority(a.file); err == nil && !pool.Equal(a.pool) {
		a.pool = pool
	}
	return a.pool
}

// accepts says why the certificate of a connection does not count any more.
func (a *authority) accepts(state *tls.ConnectionState) error {
	options := x509.VerifyOptions{
		Roots: a.current(), Intermediates: x509.NewCertPool(), KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	if options.Roots == nil { // nil would be the authorities of the system
		return errNotTrusted
	}
	for _, certificate := range state.PeerCertificates[1:] {
		options.Intermediates.AddCert(certificate)
	}
	if _, err := state.PeerCertificates[0].Verify(options); err != nil {
		return errNotTrusted
	}
	return nil
}
