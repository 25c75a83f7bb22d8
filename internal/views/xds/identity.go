package xds

import (
	"crypto/tls"
	"errors"
	"slices"
	"strings"

	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/peer"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/certificates"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/join"
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
	name  string
	state *tls.ConnectionState
}

// trusted reports whether there are no certificates: on a loopback address everybody may
// see everything.
func (i identity) trusted() bool { return i.state == nil }

// identify returns what the certificate of the other end of a stream says.
func (s *Server) identify(from *peer.Peer) (identity, error) {
	if s.opts.TLS == nil {
		return identity{}, nil
	}
	info, ok := from.AuthInfo.(credentials.TLSInfo)
	if !ok || len(info.State.VerifiedChains) == 0 {
		return identity{}, errors.New("no client certificate was shown; show one with a URI SAN spiffe://VIEWS_TRUST_DOMAIN/ns/NAMESPACE/envoy/NAME or .../client/NAME")
	}
	c, err := certificates.ClientOf(info.State.PeerCertificates[0], s.opts.TrustDomain)
	if err != nil {
		return identity{}, err
	}
	found := identity{protocol: GRPC, name: c.String(), state: &info.State}
	if c.Kind == certificates.Fleet {
		found.protocol = Envoy
	}
	return found, nil
}

// mayUse reports whether a fleet may use a Service: one of its own namespace, or one that
// names the fleet.
func mayUse(fleet string, service *join.Service) bool {
	return strings.HasPrefix(fleet, service.Namespace+"/") || slices.Contains(service.Fleets, fleet)
}
