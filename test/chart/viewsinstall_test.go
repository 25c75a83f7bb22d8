package chart_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/pkg/views"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/kubelet"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/stage"
)

const (
	viewsRelease = "endpoint-views"
	viewsToken   = "canary-token-of-haproxy"
)

// viewsServe installs endpoint-views twice, for two namespaces and for all: with the
// chart's rights both replicas become ready and stream, and nothing else is allowed.
func viewsServe(t *testing.T, c *cloud) {
	for _, namespace := range []string{"shop", "blog"} {
		space := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}
		if _, err := c.Client.CoreV1().Namespaces().Create(t.Context(), space, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		createShown(t, c, namespace)
	}
	for name, shown := range map[string][]string{"two namespaces": {"shop", "blog"}, "every namespace": {"*"}} {
		t.Run(name, func(t *testing.T) {
			v := installViews(t, c, "views-"+strings.ReplaceAll(name, " ", "-"), shown)
			v.replicasServe(t)
			v.nothingElseIsAllowed(t)
			v.helm(t, v.version, "uninstall", viewsRelease, "--namespace", v.namespace, "--wait")
		})
	}
}

// createShown makes a Service that is shown, with one endpoint.
func createShown(t *testing.T, c *cloud, namespace string) {
	t.Helper()
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Annotations: map[string]string{"endpoints.ablmnzde.github.io/views": "true"}},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "http", Port: 80}}},
	}
	if _, err := c.Client.CoreV1().Services(namespace).Create(t.Context(), service, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	addEndpoint(t, c, namespace, "10.9.0.1")
}

// addEndpoint makes a slice of that Service with one endpoint.
func addEndpoint(t *testing.T, c *cloud, namespace, address string) {
	t.Helper()
	name, port := "http", int32(8080)
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{GenerateName: "web-", Labels: map[string]string{discoveryv1.LabelServiceName: "web"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: &name, Port: &port}},
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{address}}},
	}
	if _, err := c.Client.DiscoveryV1().EndpointSlices(namespace).Create(t.Context(), slice, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// viewsInstalled is a release of endpoint-views.
type viewsInstalled struct {
	*installation
	shown []string
	roots *x509.CertPool
}

// user is the name of the ServiceAccount as a user.
func (v *viewsInstalled) user() string {
	return "system:serviceaccount:" + v.namespace + ":" + viewsRelease
}

// installViews makes the Secrets that the notes name in a restricted namespace, and
// installs the chart.
func installViews(t *testing.T, c *cloud, namespace string, shown []string) *viewsInstalled {
	t.Helper()
	v := &viewsInstalled{&installation{c, helms[1], namespace}, shown, x509.NewCertPool()}
	c.prepare(t, namespace)
	cert, key := certificate(t, viewsRelease+"."+namespace+".svc")
	v.roots.AppendCertsFromPEM([]byte(cert))
	for name, data := range map[string]map[string]string{
		"endpoint-views-tls": {"tls.crt": cert, "tls.key": key}, "haproxy-token": {"token": viewsToken},
	} {
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, StringData: data}
		if _, err := c.Client.CoreV1().Secrets(namespace).Create(t.Context(), secret, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	said := c.helm(t, v.version, append([]string{
		"install", viewsRelease, viewsDir, "--namespace", namespace, "--set", "namespaces={" + strings.Join(shown, ",") + "}",
	}, without(complete, "namespaces={shop}")...)...)
	if strings.Contains(strings.ToLower(said), "warning") || !strings.Contains(said, viewsRelease+"."+namespace+".svc") {
		t.Errorf("NOTES: got\n%s", said)
	}
	return v
}

// without leaves a value and its flag out.
func without(args []string, value string) []string {
	at := slices.Index(args, value)
	return slices.Concat(args[:at-1], args[at+1:])
}

// certificate makes a server's certificate, signed by itself, and its key.
func certificate(t *testing.T, name string) (cert, private string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{name}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed})),
		string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}))
}

// replicasServe runs both Pods; each streams what stands there and what comes.
func (v *viewsInstalled) replicasServe(t *testing.T) {
	run := v.Kubelet
	run.Program = built.Views(t)
	for n, pod := range v.pods(t) {
		changes, port, probes := map[string]string{}, "8443", "http://127.0.0.1:8083"
		if n == 1 { // two Pods on one machine cannot have the same ports
			port, probes = "9443", "http://127.0.0.1:9083"
			changes["VIEWS_ADDRESS"], changes["METRICS_ADDRESS"] = "0.0.0.0:9443", "0.0.0.0:9083"
		}
		process := run.Start(t, &pod, changes)
		for _, path := range []string{"/livez", "/readyz", "/metrics"} {
			stage.Until(t, probes+path, func() bool { return kubelet.Probe(probes + path) })
		}
		v.streams(t, "https://127.0.0.1:"+port, fmt.Sprintf("10.9.%d.%d", len(v.shown), n+2))
		process.Stop(t)
		if strings.Contains(process.Log(), viewsToken) {
			t.Error("the token is in the log")
		}
	}
	v.wasNeverDenied(t)
}

// streams reads a stream of the namespace shop, in which an address comes up.
func (v *viewsInstalled) streams(t *testing.T, server, address string) {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: v.roots, ServerName: viewsRelease + "." + v.namespace + ".svc"}}
	defer transport.CloseIdleConnections()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server+"/api/v1/views", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := transport.RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	if response.StatusCode != http.StatusUnauthorized {
		t.Errorf("a client without a token: got %s, want 401", response.Status)
	}
	client, err := views.New(views.Options{
		Servers: []string{server}, HTTP: &http.Client{Transport: transport}, Namespaces: []string{"shop"},
		Token: func() (string, error) { return viewsToken, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), stage.WaitTimeout)
	defer cancel()
	seen := map[views.EventType][]string{}
	err = client.Watch(ctx, func(event views.Event) error {
		if event.Type == views.Synced {
			addEndpoint(t, v.cloud, "shop", address)
			return nil
		}
		seen[event.Type] = append(seen[event.Type], event.View.Spec.Address)
		if event.View.Spec.Address == address {
			return errSeen
		}
		return nil
	})
	if got := seen[views.Added]; !errors.Is(err, errSeen) || len(seen) != 1 || !slices.Contains(got, "10.9.0.1") {
		t.Errorf("got %v and %v, want 10.9.0.1 and then %s", seen, err, address)
	}
}

// errSeen ends a stream in which everything came up.
var errSeen = errors.New("seen")

// wasNeverDenied reads in the audit log that the rights were enough.
func (v *viewsInstalled) wasNeverDenied(t *testing.T) {
	t.Helper()
	used := map[string]bool{}
	for _, e := range v.CP.Audit() {
		if e.User != v.user() {
			continue
		}
		used[e.Verb+" "+e.Resource] = true
		if e.Code == 401 || e.Code == 403 {
			t.Errorf("denied: %+v", e)
		}
	}
	for _, want := range []string{"watch endpointslices", "watch services"} {
		if !used[want] {
			t.Errorf("got no request %q in %v: is the audit log that of this user?", want, used)
		}
	}
}

// nothingElseIsAllowed compares the rights with reading Services and slices where they
// are shown.
func (v *viewsInstalled) nothingElseIsAllowed(t *testing.T) {
	spaces := []string{v.namespace, "shop", "blog", "default"}
	var want []string
	for _, space := range spaces {
		if v.shown[0] != "*" && !slices.Contains(v.shown, space) {
			continue
		}
		where := ""
		if space != v.namespace {
			where = fmt.Sprintf(" in namespace %q", space)
		}
		for _, right := range []string{"get", "list", "watch"} {
			want = append(want, right+" services"+where, right+" endpointslices.discovery.k8s.io"+where)
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, v.granted(t, v.user(), spaces...)); diff != "" {
		t.Errorf("rights (-needed +granted):\n%s", diff)
	}
}
