package xds_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"errors"
	"math/big"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/status"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/join"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds"
)

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{key: newKey(t)}
	a.certificate = a.sign(t, &x509.Certificate{Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}, a.key)
	return a
}

func newKey(t *testing.T) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func (a *authority) sign(t *testing.T, template *x509.Certificate, key *ecdsa.PrivateKey) *x509.Certificate {
	t.Helper()
	parent := a.certificate
	if parent == nil {
		parent = template
	}
	template.SerialNumber, template.NotBefore, template.NotAfter = big.NewInt(time.Now().UnixNano()), time.Now().Add(-time.Hour), time.Now().Add(time.Hour)
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	made, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// issue makes a certificate with these URI SANs.
func (a *authority) issue(t *testing.T, uris ...string) tls.Certificate {
	t.Helper()
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: "leaf"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth},
	}
	for _, text := range uris {
		parsed, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		template.URIs = append(template.URIs, parsed)
	}
	key := newKey(t)
	return tls.Certificate{Certificate: [][]byte{a.sign(t, template, key).Raw}, PrivateKey: key}
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.certificate)
	return pool
}

// client are the credentials of a client with these URI SANs.
func (a *authority) client(t *testing.T, uris ...string) credentials.TransportCredentials {
	t.Helper()
	return credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12, RootCAs: a.pool(), Certificates: []tls.Certificate{a.issue(t, uris...)}})
}

// rights are what a test says of clients while the server runs.
type rights struct {
	mu         sync.Mutex
	namespaces map[string][]string
	revoked    bool
}

func (r *rights) of(client string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.namespaces[client]
}

func (r *rights) accepts(*tls.ConnectionState) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.revoked {
		return errors.New("revoked")
	}
	return nil
}

// secured serves the cluster with certificates.
func secured(t *testing.T, c *cluster) (*server, *authority, *rights) {
	t.Helper()
	a, r := newAuthority(t), &rights{namespaces: map[string][]string{"shop/caller": {"shop"}, "infra/all": {"*"}}}
	own := a.issue(t)
	s := start(t, c, func(o *xds.Options) {
		o.TLS = func() (*tls.Config, error) {
			return &tls.Config{
				MinVersion: tls.VersionTLS12, Certificates: []tls.Certificate{own}, ClientCAs: a.pool(), ClientAuth: tls.RequireAndVerifyClientCert, NextProtos: []string{"h2"},
			}, nil
		}
		o.TrustDomain, o.Namespaces, o.Accepts = "cluster.local", r.of, r.accepts
	})
	return s, a, r
}

// foreign has a Service in two namespaces, and one that the fleet of the other may use.
func foreign(t *testing.T) *cluster {
	t.Helper()
	c := newCluster(t)
	for _, namespace := range []string{"blog", "shop"} {
		c.service(namespace, "web", port("http", 80))
		c.slice(namespace, "web-1", "web", "http", 8080, ready("10.0.0.1")...)
	}
	c.serviceOf(&corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: "blog", Name: "shared", Annotations: map[string]string{join.FleetsAnnotation: "news/edge, shop/edge"}},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{port("http", 80)}},
	})
	return c
}

func TestContract67AFleetGetsItsNamespaceAndWhatNamesItAndNothingElse(t *testing.T) {
	s, a, _ := secured(t, foreign(t))
	for name, ask := range map[string]func(*proxy){
		"everything":           func(p *proxy) { p.ask(clusters) },
		"everything by a star": func(p *proxy) { p.ask(clusters, "*") },
		"by name":              func(p *proxy) { p.ask(clusters, "web.blog:80", "shared.blog:80", "web.shop:80") },
		"endpoints by a star":  func(p *proxy) { p.ask(endpoints, "*") },
		"endpoints by name":    func(p *proxy) { p.ask(endpoints, "web.blog:80", "shared.blog:80", "web.shop:80") },
	} {
		t.Run(name, func(t *testing.T) {
			p := connect(t, s, "a", "shop/edge", a.client(t, "spiffe://cluster.local/ns/shop/envoy/edge"))
			ask(p)
			p.next()
			got := append(p.names(clusters), p.names(endpoints)...)
			if !slices.Equal(got, []string{"shared.blog:80", "web.shop:80"}) {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestContract67AServiceThatNamesAFleetNoMoreIsTakenFromIt(t *testing.T) {
	c := foreign(t)
	s, a, _ := secured(t, c)
	p := connect(t, s, "a", "shop/edge", a.client(t, "spiffe://cluster.local/ns/shop/envoy/edge"))
	p.ask(clusters)
	p.next()
	c.service("blog", "shared", port("http", 80))
	p.next()
	if got := p.names(clusters); !slices.Equal(got, []string{"web.shop:80"}) {
		t.Errorf("got %v", got)
	}
}

func TestContract67AForeignFleetIsNotServedWhateverTheNodeSays(t *testing.T) {
	s, a, _ := secured(t, foreign(t))
	for name, c := range map[string]struct {
		uris  []string
		fleet string
		code  codes.Code
	}{
		"the node names another fleet":    {[]string{"spiffe://cluster.local/ns/shop/envoy/edge"}, "blog/edge", codes.PermissionDenied},
		"the certificate names no client": {[]string{"spiffe://example.com/workload"}, "shop/edge", codes.Unauthenticated},
		"it is of another trust domain":   {[]string{"spiffe://example.com/ns/shop/envoy/edge"}, "shop/edge", codes.Unauthenticated},
		"it names two":                    {[]string{"spiffe://cluster.local/ns/shop/envoy/edge", "spiffe://cluster.local/ns/blog/envoy/edge"}, "shop/edge", codes.Unauthenticated},
		"it is that of a client of gRPC":  {[]string{"spiffe://cluster.local/ns/shop/client/caller"}, "shop/caller", codes.PermissionDenied},
	} {
		t.Run(name, func(t *testing.T) {
			p := connect(t, s, "a", c.fleet, a.client(t, c.uris...))
			p.ask(clusters)
			if err := p.ends(); status.Code(err) != c.code {
				t.Errorf("got %v, want %v", err, c.code)
			}
		})
	}
}

func TestContract67AStreamThatChangesItsNodeEnds(t *testing.T) {
	s, a, _ := secured(t, foreign(t))
	for name, node := range map[string]*corev3.Node{"another name": {Id: "b", Cluster: "shop/edge"}, "another fleet": {Id: "a", Cluster: "blog/edge"}} {
		p := connect(t, s, "a", "shop/edge", a.client(t, "spiffe://cluster.local/ns/shop/envoy/edge"))
		p.ask(clusters)
		p.next()
		p.node = node
		p.ask(endpoints, "web.blog:80")
		if err := p.ends(); status.Code(err) != codes.PermissionDenied {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestContract67AnotherAuthorityIsRefusedAndARevokedOneEndsTheStream(t *testing.T) {
	s, a, r := secured(t, foreign(t))
	stranger := newAuthority(t)
	creds := credentials.NewTLS(&tls.Config{MinVersion: tls.VersionTLS12, RootCAs: a.pool(), Certificates: []tls.Certificate{stranger.issue(t, "spiffe://cluster.local/ns/shop/envoy/edge")}})
	connection, err := grpc.NewClient(s.address, grpc.WithTransportCredentials(creds))
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	if stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(connection).DeltaAggregatedResources(t.Context()); err == nil {
		if _, err = stream.Recv(); err == nil {
			t.Error("a certificate of another authority is served")
		}
	}
	until(t, "the refused connection is counted", func() bool { return s.Stats().Denied > 0 })
	p := connect(t, s, "a", "shop/edge", a.client(t, "spiffe://cluster.local/ns/shop/envoy/edge"))
	p.ask(clusters)
	p.next()
	r.mu.Lock()
	r.revoked = true
	r.mu.Unlock()
	if err := p.ends(); status.Code(err) != codes.Unauthenticated {
		t.Errorf("got %v", err)
	}
}

func TestContract67WithoutCertificatesOnlyALoopbackAddressIsServed(t *testing.T) {
	c := newCluster(t)
	options := xds.Options{Address: netip.MustParseAddrPort("0.0.0.0:0"), Cache: c.Cache, MostClients: 1, MostOfOne: 1, Logger: discard()}
	if _, err := xds.New(options); err == nil {
		t.Error("an address that others reach is served without certificates")
	}
}
