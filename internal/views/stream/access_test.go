package stream_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/stream"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/pkg/views"
)

const identities = `identities:
- {name: shop/haproxy, namespaces: [shop]}
- {name: ops/dns, namespaces: ["*"]}
- {name: shop/none}
- {name: shop/token, namespaces: [shop], tokenFile: TOKEN}
`

// secure is a server with these identities.
func secure(t *testing.T, c *cluster) *tlsServer {
	t.Helper()
	return start(t, c, identities)
}

func TestContract43EachClientSeesItsNamespacesAndNothingElse(t *testing.T) {
	s := secure(t, newCluster(t, "shop", "blog", "secret"))
	stranger := newAuthority(t)
	haproxy := "spiffe://cluster.local/ns/shop/client/haproxy"
	for name, c := range map[string]struct {
		client *http.Client
		bearer string
		query  string
		code   int
		sees   string // namespaces in the answer
	}{
		"its namespace":                      {client: s.client(t, s.ca, haproxy), code: 200, sees: "shop"},
		"its namespace, named":               {client: s.client(t, s.ca, haproxy), query: "?namespace=shop", code: 200, sees: "shop"},
		"another namespace":                  {client: s.client(t, s.ca, haproxy), query: "?namespace=blog", code: 403},
		"its own and another":                {client: s.client(t, s.ca, haproxy), query: "?namespace=shop,blog", code: 403},
		"another in a second parameter":      {client: s.client(t, s.ca, haproxy), query: "?namespace=shop&namespace=blog", code: 403},
		"all by a star":                      {client: s.client(t, s.ca, haproxy), query: "?namespace=*", code: 400},
		"gathered":                           {client: s.client(t, s.ca, haproxy), query: "?gather=true", code: 200, sees: "shop"},
		"a Service of another namespace":     {client: s.client(t, s.ca, haproxy), query: "?service=web", code: 200, sees: "shop"},
		"all":                                {client: s.client(t, s.ca, "spiffe://cluster.local/ns/ops/client/dns"), code: 200, sees: "blog secret shop"},
		"listed without namespaces":          {client: s.client(t, s.ca, "spiffe://cluster.local/ns/shop/client/none"), code: 403},
		"not listed":                         {client: s.client(t, s.ca, "spiffe://cluster.local/ns/shop/client/other"), code: 403},
		"the name as part of another":        {client: s.client(t, s.ca, "spiffe://cluster.local/ns/shop/client/haproxy2"), code: 403},
		"the name not at the end":            {client: s.client(t, s.ca, haproxy+"/more"), code: 401},
		"the name in the query":              {client: s.client(t, s.ca, "spiffe://cluster.local/y?/ns/shop/client/haproxy"), code: 401},
		"another trust domain":               {client: s.client(t, s.ca, "spiffe://example.com/ns/shop/client/haproxy"), code: 401},
		"an Envoy of the same name":          {client: s.client(t, s.ca, "spiffe://cluster.local/ns/shop/envoy/haproxy"), code: 401},
		"two names":                          {client: s.client(t, s.ca, haproxy, "spiffe://cluster.local/ns/ops/client/dns"), code: 401},
		"a certificate without a name":       {client: s.client(t, s.ca), code: 401},
		"nothing shown":                      {client: s.client(t, nil), code: 401},
		"a certificate of another authority": {client: s.client(t, stranger, haproxy), code: 0},
		"a token":                            {client: s.client(t, nil), bearer: token, code: 200, sees: "shop"},
		"a token and a certificate":          {client: s.client(t, s.ca, "spiffe://cluster.local/ns/ops/client/dns"), bearer: token, code: 200, sees: "shop"},
		"a wrong token":                      {client: s.client(t, nil), bearer: token + "x", code: 401},
		"a wrong token and a certificate":    {client: s.client(t, s.ca, haproxy), bearer: "wrong", code: 401},
		"an empty token":                     {client: s.client(t, nil), bearer: " ", code: 401},
		"a token for another namespace":      {client: s.client(t, nil), bearer: token, query: "?namespace=secret", code: 403},
		"an unknown parameter":               {client: s.client(t, s.ca, haproxy), query: "?namespaces=blog", code: 400},
	} {
		t.Run(name, func(t *testing.T) {
			for _, path := range []string{"", "watch"} {
				query := c.query
				if path == "watch" {
					query = strings.Replace("?watch=true&timeoutSeconds=1&"+strings.TrimPrefix(c.query, "?"), "&&", "&", 1)
				}
				code, body := get(t, c.client, s.url+"/api/v1/views"+strings.TrimSuffix(query, "&"), c.bearer)
				if code != c.code {
					t.Fatalf("%s: got %d %s, want %d", query, code, body, c.code)
				}
				for _, namespace := range []string{"blog", "secret", "shop"} {
					if sees := strings.Contains(body, `"namespace":"`+namespace+`"`); sees != strings.Contains(c.sees, namespace) {
						t.Errorf("%s: namespace %s in the answer: %t", query, namespace, sees)
					}
				}
			}
		})
	}
}

func TestContract43AStreamEndsWhenItsRightsChange(t *testing.T) {
	c := newCluster(t, "shop", "blog")
	s := secure(t, c)
	haproxy := s.client(t, s.ca, "spiffe://cluster.local/ns/shop/client/haproxy")
	events := watch(t, haproxy, s.url+"/api/v1/views?watch=true")
	events.next(t)
	events.next(t)
	s.list(t, "identities: [{name: shop/haproxy, namespaces: [blog]}]\n")
	if e := events.next(t); e.Type != views.Error || e.Object.Code != http.StatusGone {
		t.Errorf("got %+v, want 410", e)
	}
	if code, body := get(t, haproxy, s.url+"/api/v1/views", ""); code != 200 || strings.Contains(body, `"namespace":"shop"`) {
		t.Errorf("got %d %s, want the new rights", code, body)
	}
}

// TestContract43ATokenIsOfTheRightsThatItWasGivenFor: the rights of a client change while it
// has no stream. It has to learn what is there, and what it may not see any more.
func TestContract43ATokenIsOfTheRightsThatItWasGivenFor(t *testing.T) {
	s := secure(t, newCluster(t, "shop", "blog"))
	haproxy := s.client(t, s.ca, haproxyURI)
	address := s.url + "/api/v1/views"
	may := func(namespaces string) {
		t.Helper()
		s.list(t, "identities: [{name: shop/haproxy, namespaces: ["+namespaces+"]}]\n")
		s.until(t, "the rights are these", func() bool { return strings.Join(s.identities.Namespaces("shop/haproxy"), ", ") == namespaces })
	}
	for _, c := range []struct {
		before, after string
		code          int
	}{
		{"shop", "shop, blog", http.StatusGone},
		{"shop, blog", "blog", http.StatusGone},
		{"blog", "blog, shop", http.StatusGone},
		{"blog, shop", "shop, blog", http.StatusOK},
	} {
		may(c.before)
		_, list := get(t, haproxy, address, "")
		token := regexp.MustCompile(`"resourceVersion":"([^"]+)"`).FindStringSubmatch(list)[1]
		mark := watch(t, haproxy, address+"?watch=true&timeoutSeconds=1&resourceVersion="+token).mark(t)
		may(c.after)
		for of, token := range map[string]string{"a list": token, "a stream": mark} {
			if code, text := get(t, haproxy, address+"?watch=true&timeoutSeconds=1&resourceVersion="+token, ""); code != c.code {
				t.Errorf("%s of namespaces %s, and now %s: got %d %s, want %d", of, c.before, c.after, code, text, c.code)
			}
		}
	}
}

func TestContract43AWrongListOfIdentitiesChangesNothing(t *testing.T) {
	s := secure(t, newCluster(t, "shop"))
	haproxy := s.client(t, s.ca, "spiffe://cluster.local/ns/shop/client/haproxy")
	for _, text := range []string{"identities: [", "identity: []\n", "identities: [{name: haproxy}]\n"} {
		s.list(t, identities)
		s.until(t, "the list is in effect", func() bool { return s.identities.Problem() == nil })
		s.list(t, text)
		s.until(t, "what is wrong with the list is told", func() bool {
			err := s.identities.Problem()
			return err != nil && strings.Contains(err.Error(), "identities.yaml")
		})
		if code, _ := get(t, haproxy, s.url+"/api/v1/views", ""); code != 200 {
			t.Errorf("%q: got %d, want the last good list in effect", text, code)
		}
	}
}

func TestMistakesInAListOfIdentitiesAreNamed(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "short"), []byte("short"))
	write(t, filepath.Join(dir, "long"), []byte(token))
	for text, want := range map[string]string{
		"identities: [{name: haproxy}]":                                                                    "NAMESPACE/NAME",
		"identities: [{name: a/b}, {name: a/b}]":                                                           "is listed twice",
		"identities: [{name: a/b, namespaces: ['shop*']}]":                                                 "no namespace",
		"identities: [{name: a/b, tokenFile: " + dir + "/missing}]":                                        "cannot be read",
		"identities: [{name: a/b, tokenFile: " + dir + "/short}]":                                          "could be guessed",
		"identities: [{name: a/b, tokenFile: " + dir + "/long}, {name: a/c, tokenFile: " + dir + "/long}]": "the token of a/b",
		"identities: [{name: a/b, namespace: x}]":                                                          "unknown field",
		"identities: [null]": "is empty",
	} {
		_, err := stream.ReadIdentities(write(t, filepath.Join(dir, "list"), []byte(text)))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", text, err, want)
		}
		if err != nil && strings.Contains(err.Error(), token) {
			t.Errorf("the token is in %v", err)
		}
	}
}

func TestContract43CertificatesAreReadAgainAtEachHandshake(t *testing.T) {
	s := secure(t, newCluster(t, "shop"))
	other := newAuthority(t)
	certificate, key := other.issue(t, x509.ExtKeyUsageServerAuth)
	write(t, filepath.Join(s.dir, "tls.crt"), certificate)
	write(t, filepath.Join(s.dir, "tls.key"), key)
	before := s.ca
	write(t, filepath.Join(s.dir, "ca.crt"), other.pem)
	s.ca = other // whom clients trust
	haproxy := "spiffe://cluster.local/ns/shop/client/haproxy"
	if code, body := get(t, s.client(t, other, haproxy), s.url+"/api/v1/views", ""); code != 200 {
		t.Errorf("got %d %s of the new authority, want 200", code, body)
	}
	if code, _ := get(t, s.client(t, before, haproxy), s.url+"/api/v1/views", ""); code != 0 {
		t.Errorf("got %d of the authority that was taken away, want no connection", code)
	}
}

// TestContract181CertificatesThatCannotBeUsedLeaveTheLastGoodOnes in effect, for views and for xDS:
// otherwise no client that comes back learns what died.
func TestContract181CertificatesThatCannotBeUsedLeaveTheLastGoodOnes(t *testing.T) {
	s := secure(t, newCluster(t, "shop"))
	files := stream.TLS{CertificateFile: filepath.Join(s.dir, "tls.crt"), KeyFile: filepath.Join(s.dir, "tls.key"), ClientCAFile: filepath.Join(s.dir, "ca.crt")}
	xds := files.Current(stream.Strict)
	if _, err := xds(); err != nil {
		t.Fatal(err)
	}
	if code, body := get(t, s.client(t, nil), s.url+"/api/v1/views", token); code != http.StatusOK {
		t.Fatalf("got %d %s", code, body)
	}
	certificate, key := s.ca.issue(t, x509.ExtKeyUsageServerAuth)
	for name, text := range map[string][]byte{"tls.key": key, "ca.crt": []byte("nothing"), "tls.crt": nil} {
		before, err := os.ReadFile(filepath.Join(s.dir, name))
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(s.dir, name), text)
		if files.Check() == nil {
			t.Errorf("%s: nothing is told", name)
		}
		if code, body := get(t, s.client(t, s.ca, haproxyURI), s.url+"/api/v1/views", ""); code != http.StatusOK {
			t.Errorf("%s: got %d %s, want the last good certificates in effect", name, code, body)
		}
		if config, err := xds(); err != nil || config.ClientAuth != tls.RequireAndVerifyClientCert {
			t.Errorf("%s: xDS gets %v, %v", name, config, err)
		}
		write(t, filepath.Join(s.dir, name), before)
	}
	write(t, filepath.Join(s.dir, "tls.crt"), certificate)
	write(t, filepath.Join(s.dir, "tls.key"), key)
	if config, err := xds(); err != nil || !slices.Equal(config.Certificates[0].Certificate[0], leafOf(t, certificate)) {
		t.Errorf("the new certificate is not in effect: %v", err)
	}
}

// leafOf is a certificate in PEM as it is sent.
func leafOf(t *testing.T, certificate []byte) []byte {
	t.Helper()
	block, _ := pem.Decode(certificate)
	if block == nil {
		t.Fatal("there is no certificate")
	}
	return block.Bytes
}

// TestManyStreamsShareOneConnection: over TLS clients get HTTP/2.
func TestManyStreamsShareOneConnection(t *testing.T) {
	s := secure(t, newCluster(t, "shop"))
	response := open(t, s.client(t, nil), s.url+"/api/v1/views", token)
	defer response.Body.Close()
	if response.ProtoMajor != 2 {
		t.Errorf("got %s, want HTTP/2", response.Proto)
	}
}

func TestContract44ClientsAreBounded(t *testing.T) {
	s := secure(t, newCluster(t, "shop"))
	haproxy := s.client(t, s.ca, "spiffe://cluster.local/ns/shop/client/haproxy")
	for range 3 {
		watch(t, haproxy, s.url+"/api/v1/views?watch=true").next(t)
	}
	code, body := get(t, haproxy, s.url+"/api/v1/views?watch=true", "")
	if code != http.StatusTooManyRequests || !strings.Contains(body, "VIEWS_MAX_CLIENTS_PER_IDENTITY") {
		t.Errorf("got %d %s, want 429 and the setting", code, body)
	}
	dns := s.client(t, s.ca, "spiffe://cluster.local/ns/ops/client/dns")
	watch(t, dns, s.url+"/api/v1/views?watch=true").next(t) // another one has its own share
}

// TestContract143ConnectionsWithoutAnIdentityShutOutNobody: each was answered with 401, and stays
// open.
func TestContract143ConnectionsWithoutAnIdentityShutOutNobody(t *testing.T) {
	c := newCluster(t, "shop")
	s := secure(t, c)
	haproxy := s.client(t, s.ca, "spiffe://cluster.local/ns/shop/client/haproxy")
	events := watch(t, haproxy, s.url+"/api/v1/views?watch=true")
	events.next(t)
	for n := range 200 {
		if code, body := get(t, s.client(t, s.ca), s.url+"/api/v1/views", ""); code != http.StatusUnauthorized {
			t.Fatalf("connection %d: got %d %s, want 401", n, code, body)
		}
	}
	if code, body := get(t, s.client(t, s.ca, "spiffe://cluster.local/ns/ops/client/dns"), s.url+"/api/v1/views", ""); code != http.StatusOK {
		t.Errorf("got %d %s of a client that is known", code, body)
	}
	c.slice("shop", 1, 2, 3)
	events.change(t) // its connection was not closed
}

func TestContract43WithoutIdentitiesOnlyLoopbackIsServedAndOnlyByItsName(t *testing.T) {
	c := newCluster(t, "shop")
	options := stream.Options{Address: mustAddress("192.0.2.1:1"), Cache: c.Cache, Stale: current, MostClients: 1, MostOfOne: 1, Logger: discard()}
	if _, err := stream.New(options); err == nil {
		t.Error("got a server that everybody may ask, want an error")
	}
	options.Address = mustAddress("127.0.0.1:0")
	server := run(t, options)
	request, err := http.NewRequestWithContext(context.WithoutCancel(t.Context()), http.MethodGet, "http://"+server.Address().String()+"/api/v1/views", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = "evil.example.org"
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusMisdirectedRequest {
		t.Errorf("got %s for a name that may be anybody's, want 421", response.Status)
	}
}
