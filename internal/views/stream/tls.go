package stream

import (
	"cmp"
	"crypto/tls"
	"fmt"
	"sync/atomic"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/system"
)

// TLS are the files of the server's certificate and key, and of the authority that
// clients' certificates have to be of. All are read again at each handshake, the
// authority also while a connection lasts.
type TLS struct {
	CertificateFile, KeyFile string
	// ClientCAFile is empty where clients show tokens only.
	ClientCAFile string
	// TrustDomain is that of the clients' certificates.
	TrustDomain string
}

// on reports whether there is a certificate at all.
func (t TLS) on() bool { return t.CertificateFile != "" }

// Check says whether the files can be used as they are.
func (t TLS) Check() error {
	if !t.on() {
		return nil
	}
	_, err := t.read()
	return err
}

// Current returns what makes the configuration of a connection, which is not to be changed. Files
// that cannot be used leave the last good ones in effect.
func (t TLS) Current(change func(*tls.Config)) func() (*tls.Config, error) {
	var good atomic.Pointer[tls.Config]
	return func() (*tls.Config, error) {
		config, err := t.read()
		if last := good.Load(); err != nil && last != nil {
			return last, nil
		}
		if err == nil {
			change(config)
			good.Store(config)
		}
		return config, err
	}
}

// Strict changes a configuration to that of a connection whose client has to show a certificate.
func Strict(config *tls.Config) {
	config.ClientAuth, config.NextProtos = tls.RequireAndVerifyClientCert, []string{"h2"}
}

// read makes the configuration of one connection. No session is resumed: that would
// pass by an authority that was taken away.
func (t TLS) read() (*tls.Config, error) {
	text, textErr := system.ReadFile(t.CertificateFile, longestFile)
	key, keyErr := system.ReadFile(t.KeyFile, longestFile)
	certificate, err := tls.X509KeyPair(text, key)
	if err := cmp.Or(textErr, keyErr, err); err != nil {
		return nil, fmt.Errorf("read the certificate %s and its key %s: %w", t.CertificateFile, t.KeyFile, err)
	}
	config := &tls.Config{
		MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{certificate},
		NextProtos: []string{"h2", "http/1.1"}, SessionTicketsDisabled: true,
	}
	if t.ClientCAFile == "" {
		return config, nil
	}
	if config.ClientCAs, err = readAuthority(t.ClientCAFile); err != nil {
		return nil, err
	}
	// A client may show a token instead; one that shows neither sees nothing.
	config.ClientAuth = tls.VerifyClientCertIfGiven
	return config, nil
}
