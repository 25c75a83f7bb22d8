package stream_test

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"io"
	"log/slog"
	"math/big"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/cache"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/join"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/stream"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/pkg/views"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/poll"
)

// cluster is a cache that the test fills.
type cluster struct {
	*cache.Cache

	revision cache.Revision
	// last are the newest Service and slice.
	last [2]cache.Input
}

// tell gives the cache an object.
func (c *cluster) tell(kind cache.Kind, in cache.Input) {
	c.last[kind] = in
	c.Set(0, kind, in)
}

// newCluster has the Service web with one endpoint in each namespace.
func newCluster(t testing.TB, namespaces ...string) *cluster {
	t.Helper()
	c := &cluster{Cache: cache.New(1), revision: 1}
	for _, kind := range []cache.Kind{cache.Services, cache.Slices} {
		if err := c.Replace(0, kind, nil, c.revision); err != nil {
			t.Fatal(err)
		}
	}
	for _, namespace := range namespaces {
		c.service(namespace)
		c.slice(namespace, 1)
	}
	return c
}

func (c *cluster) service(namespace string) {
	c.revision++
	c.tell(cache.Services, cache.Input{
		Key: join.Key{Namespace: namespace, Name: "web"}, Revision: c.revision,
		Service: join.ToService(&corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "web"},
			Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
		}),
	})
}

// slice gives the Service web endpoints by the last number of their address; those below
// zero are not ready.
func (c *cluster) slice(namespace string, endpoints ...int) {
	c.revision++
	object := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: namespace, Name: "web-1", Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Name: ptr.To("http"), Port: ptr.To(int32(8080))}},
	}
	for _, e := range endpoints {
		number := max(e, -e)
		object.Endpoints = append(object.Endpoints, discoveryv1.Endpoint{
			Addresses: []string{"10.0." + strconv.Itoa(number/256) + "." + strconv.Itoa(number%256)}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(e > 0)},
		})
	}
	c.tell(cache.Slices, cache.Input{Key: join.Key{Namespace: namespace, Name: object.Name}, Revision: c.revision, Slice: join.ToSlice(object)})
}

// authority signs certificates.
type authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
	pem         []byte
}

func newAuthority(t testing.TB) *authority {
	t.Helper()
	a := &authority{}
	template := &x509.Certificate{Subject: pkix.Name{CommonName: "authority"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign}
	a.key = newKey(t)
	a.pem = sign(t, template, template, a.key, a.key)
	block, _ := pem.Decode(a.pem)
	var err error
	if a.certificate, err = x509.ParseCertificate(block.Bytes); err != nil {
		t.Fatal(err)
	}
	return a
}

func newKey(t testing.TB) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func sign(t testing.TB, template, parent *x509.Certificate, key, signer *ecdsa.PrivateKey) []byte {
	t.Helper()
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	if err != nil {
		t.Fatal(err)
	}
	template.SerialNumber, template.NotBefore = serial, time.Now().Add(-time.Hour)
	if template.NotAfter.IsZero() {
		template.NotAfter = time.Now().Add(time.Hour)
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, &key.PublicKey, signer)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// issue returns a certificate for clients or servers, and its key, as PEM.
func (a *authority) issue(t testing.TB, usage x509.ExtKeyUsage, uris ...string) (certificate, key []byte) {
	t.Helper()
	return a.issued(t, &x509.Certificate{ExtKeyUsage: []x509.ExtKeyUsage{usage}}, uris...)
}

// issued returns a certificate after a template.
func (a *authority) issued(t testing.TB, template *x509.Certificate, uris ...string) (certificate, key []byte) {
	t.Helper()
	template.Subject, template.IPAddresses = pkix.Name{CommonName: "leaf"}, []net.IP{net.IPv4(127, 0, 0, 1)}
	for _, text := range uris {
		parsed, err := url.Parse(text)
		if err != nil {
			t.Fatal(err)
		}
		template.URIs = append(template.URIs, parsed)
	}
	private := newKey(t)
	der, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return sign(t, template, a.certificate, private, a.key), pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der})
}

func write(t testing.TB, path string, text []byte) string {
	t.Helper()
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// tlsServer is a server with TLS and identities.
type tlsServer struct {
	*stream.Server

	url        string
	dir        string
	ca         *authority
	identities *stream.Identities
}

const token = "t0ken-of-sixteen-characters-or-more"

// start runs a server with the list of identities until the test ends.
func start(t *testing.T, c *cluster, identities string) *tlsServer {
	t.Helper()
	return startWith(t, c, identities, stream.Options{})
}

// startWith runs a server with these options and those that every one has.
func startWith(t *testing.T, c *cluster, identities string, options stream.Options) *tlsServer {
	t.Helper()
	s := &tlsServer{dir: t.TempDir(), ca: newAuthority(t)}
	certificate, key := s.ca.issue(t, x509.ExtKeyUsageServerAuth)
	write(t, filepath.Join(s.dir, "token"), []byte(token+"\n"))
	files := stream.TLS{
		CertificateFile: write(t, filepath.Join(s.dir, "tls.crt"), certificate),
		KeyFile:         write(t, filepath.Join(s.dir, "tls.key"), key),
		ClientCAFile:    write(t, filepath.Join(s.dir, "ca.crt"), s.ca.pem),
		TrustDomain:     "cluster.local",
	}
	var err error
	if s.identities, err = stream.ReadIdentities(s.list(t, identities)); err != nil {
		t.Fatal(err)
	}
	options.Address, options.TLS, options.Identities = netip.MustParseAddrPort("127.0.0.1:0"), files, s.identities
	options.Cache, options.Stale, options.Logger = c.Cache, current, discard()
	options.MostClients, options.MostOfOne = 10, 3
	s.Server = run(t, options)
	s.url = "https://" + s.Address().String()
	return s
}

// list writes the list of identities.
func (s *tlsServer) list(t *testing.T, text string) string {
	t.Helper()
	text = strings.ReplaceAll(text, "TOKEN", filepath.Join(s.dir, "token"))
	return write(t, filepath.Join(s.dir, "identities.yaml"), []byte(text))
}

// until waits for a condition.
func (s *tlsServer) until(t *testing.T, what string, holds func() bool) {
	t.Helper()
	poll.Until(t, 5*time.Minute, holds, func() string { return what })
}

func current(time.Time) (time.Time, error) { return time.Time{}, nil }

// run serves until the test ends.
func run(t *testing.T, options stream.Options) *stream.Server {
	t.Helper()
	server, err := stream.New(options)
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Listen(t.Context()); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := server.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(func() { cancel(); running.Wait() })
	return server
}

// client shows a certificate with these URI SANs, signed by the authority; none
// without one.
func (s *tlsServer) client(t *testing.T, by *authority, uris ...string) *http.Client {
	t.Helper()
	if by == nil {
		return s.shows(t, nil, nil)
	}
	return s.shows(t, by, &x509.Certificate{}, uris...)
}

// shows is a client whose certificate is made after a template; it shows none without
// an authority.
func (s *tlsServer) shows(t *testing.T, by *authority, template *x509.Certificate, uris ...string) *http.Client {
	t.Helper()
	config := &tls.Config{RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	config.RootCAs.AddCert(s.ca.certificate)
	if by != nil {
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
		certificate, key := by.issued(t, template, uris...)
		pair, err := tls.X509KeyPair(certificate, key)
		if err != nil {
			t.Fatal(err)
		}
		// Shown also where the server's authorities are others.
		config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) { return &pair, nil }
	}
	transport := &http.Transport{TLSClientConfig: config, ForceAttemptHTTP2: true}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// get sends a request and returns code and body; code 0 where there was no answer.
func get(t *testing.T, client *http.Client, address, bearer string) (int, string) {
	t.Helper()
	response := open(t, client, address, bearer)
	if response == nil {
		return 0, ""
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(body)
}

// ask is a request.
func ask(t *testing.T, address string) *http.Request {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	return request
}

// answer is what comes of a request: code, the protocol and the text; zero without one.
func answer(t *testing.T, client *http.Client, request *http.Request) (code, protocol int, text string) {
	t.Helper()
	response, err := client.Do(request)
	if err != nil {
		return 0, 0, ""
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.ProtoMajor, string(body)
}

func open(t *testing.T, client *http.Client, address, bearer string) *http.Response {
	t.Helper()
	request := ask(t, address)
	if bearer != "" {
		request.Header.Set("Authorization", "Bearer "+bearer)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil
	}
	return response
}

// event is one line of a stream.
type event struct {
	Type   views.EventType `json:"type"`
	Object struct {
		views.EndpointView
		Metadata struct {
			views.Metadata
			ResourceVersion string `json:"resourceVersion"`
		} `json:"metadata"`
		Code int `json:"code"`
	} `json:"object"`
}

// lines reads a stream line by line.
type lines struct{ *bufio.Scanner }

// change is the next line that is no mark.
func (l lines) change(t *testing.T) event {
	t.Helper()
	for {
		if e := l.next(t); e.Type != views.Bookmark {
			return e
		}
	}
}

// mark is where the stream can be gone on from next.
func (l lines) mark(t *testing.T) string {
	t.Helper()
	for {
		if e := l.next(t); e.Type == views.Bookmark {
			return e.Object.Metadata.ResourceVersion
		}
	}
}

func (l lines) next(t *testing.T) event {
	t.Helper()
	if !l.Scan() {
		t.Fatalf("the stream ended: %v", l.Err())
	}
	var e event
	if err := json.Unmarshal(l.Bytes(), &e); err != nil {
		t.Fatalf("%s: %v", l.Bytes(), err)
	}
	return e
}

// watch opens a stream.
func watch(t *testing.T, client *http.Client, address string) lines {
	t.Helper()
	return watchAs(t, client, address, "")
}

// watchAs opens a stream with a token.
func watchAs(t *testing.T, client *http.Client, address, bearer string) lines {
	t.Helper()
	response := open(t, client, address, bearer)
	if response == nil || response.StatusCode != http.StatusOK {
		t.Fatalf("got %v, want a stream", response)
	}
	t.Cleanup(func() { response.Body.Close() })
	return lines{bufio.NewScanner(response.Body)}
}

func mustAddress(text string) netip.AddrPort { return netip.MustParseAddrPort(text) }

func discard() *slog.Logger { return slog.New(slog.DiscardHandler) }
