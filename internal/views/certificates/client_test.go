package certificates_test

import (
	"crypto/x509"
	"net/url"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/certificates"
)

// TestContract221ACertificateNamesItsClientByOneWholeURI: nothing that only looks like the name of
// a client is one.
func TestContract221ACertificateNamesItsClientByOneWholeURI(t *testing.T) {
	t.Parallel()
	const edge = "spiffe://example.com/ns/shop/envoy/edge"
	for name, c := range map[string]struct {
		uris []string
		// want is who it is, or what the refusal says.
		want, refusal string
	}{
		"a fleet":                          {uris: []string{edge}, want: "envoy shop/edge"},
		"a client":                         {uris: []string{"spiffe://example.com/ns/shop/client/dns.a"}, want: "client shop/dns.a"},
		"another URI beside it":            {uris: []string{"https://example.com/ns/shop/envoy/other", edge}, want: "envoy shop/edge"},
		"no URI":                           {refusal: "names no client"},
		"another trust domain":             {uris: []string{"spiffe://example.org/ns/shop/envoy/edge"}, refusal: "of another trust domain"},
		"a domain below it":                {uris: []string{"spiffe://a.example.com/ns/shop/envoy/edge"}, refusal: "of another trust domain"},
		"another one beside it":            {uris: []string{edge, "spiffe://example.org/ns/shop/envoy/edge"}, refusal: "of another trust domain"},
		"two names":                        {uris: []string{edge, "spiffe://example.com/ns/blog/envoy/edge"}, refusal: "several clients"},
		"the same name twice":              {uris: []string{edge, edge}, refusal: "several clients"},
		"another scheme":                   {uris: []string{"https://example.com/ns/shop/envoy/edge"}, refusal: "names no client"},
		"the name at the end of a path":    {uris: []string{"spiffe://example.com/a/ns/shop/envoy/edge"}, refusal: "names no client"},
		"a name of two parts":              {uris: []string{"spiffe://example.com/ns/shop/envoy/edge/b"}, refusal: "names no client"},
		"a port":                           {uris: []string{"spiffe://example.com:443/ns/shop/envoy/edge"}, refusal: "names no client"},
		"a user":                           {uris: []string{"spiffe://a@example.com/ns/shop/envoy/edge"}, refusal: "names no client"},
		"a query":                          {uris: []string{edge + "?a"}, refusal: "names no client"},
		"a fragment":                       {uris: []string{edge + "#a"}, refusal: "names no client"},
		"a slash that is written as %2F":   {uris: []string{"spiffe://example.com/ns/shop%2Fenvoy/envoy/edge"}, refusal: "names no client"},
		"capitals, which no namespace has": {uris: []string{"spiffe://example.com/ns/Shop/envoy/edge"}, refusal: "names no client"},
	} {
		certificate := &x509.Certificate{}
		for _, text := range c.uris {
			uri, err := url.Parse(text)
			if err != nil {
				t.Fatal(err)
			}
			certificate.URIs = append(certificate.URIs, uri)
		}
		got, err := certificates.ClientOf(certificate, "example.com")
		switch {
		case c.refusal != "" && (err == nil || !strings.Contains(err.Error(), c.refusal) || !strings.Contains(err.Error(), "spiffe://example.com/ns/NAMESPACE/")):
			t.Errorf("%s: got %v, %v, want a refusal that says %q and the form", name, got, err, c.refusal)
		case c.refusal == "" && (err != nil || string(got.Kind)+" "+got.String() != c.want):
			t.Errorf("%s: got %v %v, %v, want %s", name, got.Kind, got, err, c.want)
		}
	}
}
