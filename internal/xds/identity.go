package xds

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"regexp"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/view"
)

// Protocol is how a client is served.
type Protocol string

// The protocols, each for its kind of clients.
const (
	// Envoy gets changes only, by the delta protocol.
	Envoy Protocol = "envoy"
	// GRPC gets the state of the world.
	GRPC Protocol = "grpc"
)

// identity is what the certificate of a client says. It is taken when the stream opens;
// what a message says of its node never changes it.
type identity struct {
	protocol Protocol
	// name is NAMESPACE/NAME, empty without certificates.
	name, namespace string
	state           *tls.ConnectionState
}

// trusted reports whether there are no certificates: on a loopback address everybody may
// see everything.
func (i identity) trusted() bool { return i.state == nil }

// Why a client is refused.
var (
	errNoCertificate = errors.New("no client certificate was shown; show one with a URI SAN that ends in /ns/NAMESPACE/envoy/NAME or /ns/NAMESPACE/client/NAME")
	errNoName        = errors.New("the client certificate names no client; it has to have one URI SAN that ends in /ns/NAMESPACE/envoy/NAME or /ns/NAMESPACE/client/NAME")
	errTwoNames      = errors.New("the client certificate names several clients; it has to have one URI SAN that ends in /ns/NAMESPACE/envoy/NAME or /ns/NAMESPACE/client/NAME")
)

// namePath is the end of the path of a URI SAN that names a client.
var namePath = regexp.MustCompile(`(?:^|/)ns/([^/]+)/(envoy|client)/([^/]+)$`)

// identify returns what the certificate of a stream says.
func identify(ctx context.Context, secured bool) (identity, error) {
	if !secured {
		return identity{}, nil
	}
	from, _ := peer.FromContext(ctx)
	if from == nil {
		return identity{}, errNoCertificate
	}
	info, ok := from.AuthInfo.(credentials.TLSInfo)
	if !ok || len(info.State.VerifiedChains) == 0 {
		return identity{}, errNoCertificate
	}
	found, err := nameOf(info.State.PeerCertificates[0])
	found.state = &info.State
	return found, err
}

// nameOf returns the one name of a certificate.
func nameOf(certificate *x509.Certificate) (identity, error) {
	var found []identity
	for _, uri := range certificate.URIs {
		if match := namePath.FindStringSubmatch(uri.Path); match != nil {
			one := identity{protocol: GRPC, namespace: match[1], name: match[1] + "/" + match[3]}
			if match[2] == "envoy" {
				one.protocol = Envoy
			}
			found = append(found, one)
		}
	}
	switch len(found) {
	case 0:
		return identity{}, errNoName
	case 1:
		return found[0], nil
	}
	return identity{}, errTwoNames
}

// mayUse reports whether a fleet may use a Service: one of its own namespace, or one that
// names the fleet.
func mayUse(fleet, namespace string, service *view.Service) bool {
	if service.Namespace == namespace {
		return true
	}
	for _, name := range service.Fleets {
		if name == fleet {
			return true
		}
	}
	return false
}
