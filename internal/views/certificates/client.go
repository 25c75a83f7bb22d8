package certificates

import (
	"crypto/x509"
	"fmt"
	"regexp"
)

// Kind is what kind of client a certificate is for.
type Kind string

// The kinds.
const (
	// Fleet is an Envoy of a fleet.
	Fleet Kind = "envoy"
	// Other is a client of gRPC, or of the stream.
	Other Kind = "client"
)

// Client is who shows a certificate.
type Client struct {
	Kind            Kind
	Namespace, Name string
}

// String is NAMESPACE/NAME.
func (c Client) String() string { return c.Namespace + "/" + c.Name }

// spiffeID is the whole of a URI that names a client, a SPIFFE ID
// (https://spiffe.io/docs/latest/spiffe-specs/spiffe-id/).
var spiffeID = regexp.MustCompile(`^spiffe://([a-z0-9._-]+)/ns/([a-z0-9-]+)/(envoy|client)/([a-z0-9.-]+)$`)

// ClientOf returns whom a certificate names: by the one URI of it that has the form
// spiffe://TRUST_DOMAIN/ns/NAMESPACE/envoy/NAME, or client in place of envoy. One of another
// trust domain is refused, whatever else the certificate says.
func ClientOf(certificate *x509.Certificate, trustDomain string) (Client, error) {
	var found []Client
	for _, uri := range certificate.URIs {
		m := spiffeID.FindStringSubmatch(uri.String())
		switch {
		case m == nil:
		case m[1] != trustDomain:
			return Client{}, remedied("is of another trust domain than VIEWS_TRUST_DOMAIN", trustDomain)
		default:
			found = append(found, Client{Kind: Kind(m[3]), Namespace: m[2], Name: m[4]})
		}
	}
	switch len(found) {
	case 0:
		return Client{}, remedied("names no client", trustDomain)
	case 1:
		return found[0], nil
	}
	return Client{}, remedied("names several clients", trustDomain)
}

func remedied(reason, trustDomain string) error {
	return fmt.Errorf("the client certificate %s; it has to have one URI SAN spiffe://%s/ns/NAMESPACE/envoy/NAME or spiffe://%[2]s/ns/NAMESPACE/client/NAME", reason, trustDomain)
}
