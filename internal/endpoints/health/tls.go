package health

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"sync"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// TLS says how HTTPS checks trust a backend.
type TLS struct {
	// Roots returns the certificates to trust, so that rotated ones work
	// without a restart: it is called again for checks a second later. Where
	// it is nil or returns nil, the system's roots are trusted. Certificates
	// that were read stay in use until there are others; an error before is a
	// LocalError.
	Roots func() (*x509.CertPool, error)
	// ServerName is the name to ask for and to find in the certificate. Where
	// it is empty, Options.Host is, and without that the address.
	ServerName string
	// Insecure accepts any certificate.
	Insecure bool
}

// getSecurely is get over TLS.
func (c *Checker) getSecurely(ctx, bounded context.Context, conn *net.TCPConn, target netip.AddrPort) answer {
	tried := attempt{target: target, step: handshaking, what: "TLS handshake with " + target.String()}
	config, err := c.tlsConfig(target)
	if err == nil && bounded.Err() != nil { // a file that hangs says nothing of the backend
		err = fmt.Errorf("%w: the authorities of the health check could not be read within HEALTH_CHECK_TIMEOUT=%s; look at the file system", errLocal, c.options.Timeout)
	}
	if err != nil {
		return c.judge(ctx, tried, err)
	}
	secured := tls.Client(conn, config)
	if err := secured.HandshakeContext(bounded); err != nil {
		return c.judge(ctx, tried, err)
	}
	// The backend hears that TLS is over before it sees the end of the stream.
	defer func() { _ = secured.CloseWrite() }()
	return c.get(ctx, secured, target)
}

// tlsConfig returns the configuration for one check. Only the roots and the name
// differ between checks, and sessions are never resumed, so that each check sees
// the certificate.
func (c *Checker) tlsConfig(target netip.AddrPort) (*tls.Config, error) {
	config := &tls.Config{
		MinVersion:         tls.VersionTLS12,
		NextProtos:         []string{"http/1.1"},
		ServerName:         cmp.Or(c.options.TLS.ServerName, c.options.Host, target.Addr().String()),
		InsecureSkipVerify: c.options.TLS.Insecure, //nolint:gosec // only where the operator says so
	}
	if c.options.TLS.Insecure || c.options.TLS.Roots == nil {
		return config, nil
	}
	pool, err := c.roots.get(c.options.TLS.Roots)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errLocal, err)
	}
	config.RootCAs = pool
	return config, nil
}

// judgeTLS judges what crypto/tls says of the backend.
func (c *Checker) judgeTLS(tried attempt, err error) answer {
	steady := c.startWall.Add(time.Since(c.startMono)) // a jump of the clock must not make certificates expire
	if invalid, ok := errors.AsType[x509.CertificateInvalidError](err); ok && invalid.Reason == x509.Expired && !steady.Before(invalid.Cert.NotBefore) && !steady.After(invalid.Cert.NotAfter) {
		return localError(tried.what + ": the certificate is valid by the time since the start, but the clock of this machine has jumped; set the clock")
	}
	if _, ok := errors.AsType[x509.SystemRootsError](err); ok {
		return localError(err.Error())
	}
	return refused(inventory.ProbeTLS, tried.what+": "+err.Error())
}

// rootsAge is how long the roots of one check serve the following ones, so that
// a thousand checks do not read a thousand times what changes once a year.
const rootsAge = time.Second

// roots remembers what TLS.Roots returned.
type roots struct {
	mu   sync.Mutex
	at   time.Time
	pool *x509.CertPool
	// read says that pool was read, err why the newest could not be.
	read bool
	err  error
}

// get returns what load returned lately, or what it returns now. What was read before stays
// where nothing else can be read.
func (r *roots) get(load func() (*x509.CertPool, error)) (*x509.CertPool, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.at.IsZero() || time.Since(r.at) > rootsAge {
		pool, err := load()
		switch {
		case err == nil && pool == nil && r.pool != nil:
			err = errNoRoots
		case err == nil:
			r.pool, r.read = pool, true
		}
		r.at, r.err = time.Now(), err
	}
	if r.read {
		return r.pool, nil
	}
	return nil, r.err
}

var errNoRoots = errors.New("the file with the authorities of the health check is gone; put it back, or restart the controller to trust those of the system")

// Trouble is why HTTPS checks cannot read their authorities now; nil where there is no reason.
func (c *Checker) Trouble() error {
	c.roots.mu.Lock()
	defer c.roots.mu.Unlock()
	return c.roots.err
}
