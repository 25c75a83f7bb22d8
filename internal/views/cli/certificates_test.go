package cli_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev3 "github.com/envoyproxy/go-control-plane/envoy/config/core/v3"
	discoveryv3 "github.com/envoyproxy/go-control-plane/envoy/service/discovery/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/certificates"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/cli"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
)

// infra is an API server with the namespaces infra and shop.
type infra struct {
	cp     *controlplane.ControlPlane
	client kubernetes.Interface
}

func newInfra(t *testing.T) infra {
	t.Helper()
	i := infra{cp: controlplane.Start(t, controlplane.Options{})}
	var err error
	if i.client, err = kubernetes.NewForConfig(i.cp.Config()); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"infra", "shop"} {
		if _, err := i.client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	return i
}

// serverName is how the tests reach the server.
const serverName = "endpoint-views.infra.svc"

// run runs the command as the Job does.
func (i infra) run(t *testing.T, more ...string) (code int, stderr string) {
	t.Helper()
	code, _, stderr = carryOut(t, []string{"KUBECONFIG=" + i.cp.Kubeconfig(t)}, append([]string{
		"certificates", "--authority", "infra/authority", "--server", "infra/tls", "--server-name", serverName, "--token", "infra/token",
	}, more...)...)
	return code, stderr
}

// renew does what a run at another time does.
func (i infra) renew(t *testing.T, at time.Time) {
	t.Helper()
	client, err := kube.New(kube.Options{Way: kube.Fixed(i.cp.Config())})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	name := func(namespace, name string) types.NamespacedName {
		return types.NamespacedName{Namespace: namespace, Name: name}
	}
	err = certificates.Renew(t.Context(), certificates.SecretOptions{
		Client: client, Authority: name("infra", "authority"), Server: name("infra", "tls"), ServerNames: []string{serverName}, TrustDomain: "cluster.local",
		Fleets: []certificates.FleetSecret{{Fleet: name("shop", "edge"), Secret: name("shop", "edge-xds")}}, Written: func(types.NamespacedName) {},
	}, at)
	if err != nil {
		t.Fatal(err)
	}
}

func (i infra) secret(t *testing.T, namespace, name string) *corev1.Secret {
	t.Helper()
	secret, err := i.client.CoreV1().Secrets(namespace).Get(t.Context(), name, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return secret
}

// bring writes a Secret into a folder, as a kubelet does.
func bring(t *testing.T, folder string, data map[string][]byte) {
	t.Helper()
	for name, text := range data {
		if err := os.WriteFile(filepath.Join(folder, "..new"), text, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Rename(filepath.Join(folder, "..new"), filepath.Join(folder, name)); err != nil {
			t.Fatal(err)
		}
	}
}

func TestContract105TheCommandMakesSecretsAndTouchesNoOther(t *testing.T) {
	t.Parallel()
	i := newInfra(t)
	fleets := []string{"--fleet", "shop/edge", "--fleet", "shop/front=front"}
	if code, stderr := i.run(t, fleets...); code != 0 {
		t.Fatalf("got %d %s", code, stderr)
	}
	before := map[string]string{}
	for name, of := range map[string]string{"authority": "infra", "tls": "infra", "token": "infra", "edge-xds": "shop", "front": "shop"} {
		secret := i.secret(t, of, name)
		before[name] = secret.ResourceVersion
		if name != "authority" && len(secret.Data["ca.key"]) > 0 {
			t.Errorf("%s has the key of the authority", name)
		}
	}
	if token := i.secret(t, "infra", "token").Data["token"]; len(token) < 32 {
		t.Errorf("got a token of %d characters", len(token))
	}
	if code, stderr := i.run(t, fleets...); code != 0 {
		t.Fatalf("again: got %d %s", code, stderr)
	}
	for name, of := range map[string]string{"authority": "infra", "tls": "infra", "token": "infra", "edge-xds": "shop", "front": "shop"} {
		if got := i.secret(t, of, name).ResourceVersion; got != before[name] {
			t.Errorf("%s was written again", name)
		}
	}
	foreign := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "own-xds"}, StringData: map[string]string{"tls.key": "theirs"}}
	if _, err := i.client.CoreV1().Secrets("shop").Create(t.Context(), foreign, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	code, stderr := i.run(t, "--fleet", "shop/own", "--fleet", "nowhere/edge", "--fleet", "shop/late")
	if code != 4 || !strings.Contains(stderr, "Secret shop/own-xds exists and was not made by this installation") || !strings.Contains(stderr, "Secret nowhere/edge-xds") {
		t.Errorf("got %d %s", code, stderr)
	}
	if got := i.secret(t, "shop", "own-xds"); string(got.Data["tls.key"]) != "theirs" || len(got.Data) != 1 {
		t.Error("a Secret of somebody else was changed")
	}
	i.secret(t, "shop", "late-xds") // a Secret that cannot be written holds up no other
	broken := i.secret(t, "infra", "authority")
	broken.Data["ca.key"] = []byte("nothing")
	if _, err := i.client.CoreV1().Secrets("infra").Update(t.Context(), broken, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	if code, stderr := i.run(t, fleets...); code != 4 || !strings.Contains(stderr, "Secret infra/authority") || !strings.Contains(stderr, "restore it") {
		t.Errorf("an authority that cannot be read: got %d %s", code, stderr)
	}
	if got := i.secret(t, "shop", "edge-xds").ResourceVersion; got != before["edge-xds"] {
		t.Error("a certificate was made anew because the authority could not be read")
	}
}

func TestAWrongCommandLineOfCertificatesSaysWhatToWrite(t *testing.T) {
	t.Parallel()
	good := "--authority a/b --server a/c --server-name x"
	for line, want := range map[string]string{
		"":                                 "--server-name is needed",
		"--server-name x --server a/c":     "--authority= is no NAMESPACE/NAME",
		"--server-name x --authority a/b":  "--server= is no NAMESPACE/NAME",
		good + " --token x":                "--token=x is no NAMESPACE/NAME",
		good + " --fleet edge":             "--fleet=edge is no NAMESPACE/NAME",
		good + " --fleet shop/edge=Upper":  "names no Secret",
		good + " --fleet shop/edge=a now?": "unknown command",
	} {
		code, _, stderr := carryOut(t, nil, append([]string{"certificates"}, strings.Fields(line)...)...)
		if code != 2 || !strings.Contains(stderr, want) {
			t.Errorf("%s: got %d %s, want 2 and %q", line, code, stderr, want)
		}
	}
}

// serveRun is `serve` with certificates from a folder.
type serveRun struct {
	address string
	log     *lines
}

type lines struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// serveIn runs `serve` until the test ends.
func (i infra) serveIn(t *testing.T, folder string) serveRun {
	t.Helper()
	identities := filepath.Join(t.TempDir(), "identities.yaml")
	if err := os.WriteFile(identities, []byte("identities: []\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	r := serveRun{log: &lines{}}
	program := cli.Program{Version: "v1.2.3", Stdout: r.log, Stderr: r.log, Environ: []string{
		"KUBECONFIG=" + i.cp.Kubeconfig(t), "VIEWS_ADDRESS=127.0.0.1:0", "METRICS_ADDRESS=127.0.0.1:0", "XDS_ADDRESS=127.0.0.1:0", "LOG_FORMAT=json",
		"VIEWS_TLS_CERT_FILE=" + filepath.Join(folder, "tls.crt"), "VIEWS_TLS_KEY_FILE=" + filepath.Join(folder, "tls.key"),
		"VIEWS_CLIENT_CA_FILE=" + filepath.Join(folder, "ca.crt"), "VIEWS_IDENTITIES_FILE=" + identities,
	}}
	ended := make(chan int, 1)
	go func() { ended <- program.Run(ctx, []string{"serve"}) }()
	t.Cleanup(func() {
		stop()
		if code := <-ended; code != 0 {
			t.Errorf("serve: exit status %d\n%s", code, r.log)
		}
	})
	address := regexp.MustCompile(`"xds_address":"([^"]+)"`)
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if found := address.FindAllStringSubmatch(r.log.String(), -1); found != nil && !strings.HasSuffix(found[len(found)-1][1], ":0") {
			r.address = found[len(found)-1][1]
			return r
		}
		if time.Now().After(deadline) {
			t.Fatalf("serve does not listen\n%s", r.log)
		}
	}
}

// envoy is a stream of a fleet with a certificate.
type envoy = discoveryv3.AggregatedDiscoveryService_DeltaAggregatedResourcesClient

// connect opens a stream with what a Secret holds, and asks for clusters.
func (r serveRun) connect(t *testing.T, data map[string][]byte) (envoy, error) {
	t.Helper()
	pair, err := tls.X509KeyPair(data["tls.crt"], data["tls.key"])
	if err != nil {
		t.Fatal(err)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(data["ca.crt"])
	connection, err := grpc.NewClient(r.address, grpc.WithTransportCredentials(credentials.NewTLS(&tls.Config{
		Certificates: []tls.Certificate{pair}, RootCAs: roots, ServerName: serverName, MinVersion: tls.VersionTLS12,
	})))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = connection.Close() })
	stream, err := discoveryv3.NewAggregatedDiscoveryServiceClient(connection).DeltaAggregatedResources(t.Context())
	if err != nil {
		return nil, err
	}
	return stream, asks(stream, "type.googleapis.com/envoy.config.cluster.v3.Cluster")
}

// asks asks for all of a type and waits for the answer.
func asks(stream envoy, kind string) error {
	if err := stream.Send(&discoveryv3.DeltaDiscoveryRequest{TypeUrl: kind, Node: &corev3.Node{Id: "edge-1", Cluster: "shop/edge"}}); err != nil {
		_, err = stream.Recv()
		return err
	}
	_, err := stream.Recv()
	return err
}

// TestContract106ARenewalNeedsNoRestart has a server and fleets whose certificates and
// authority are replaced under it, one side after the other. Times are moved back rather
// than waited for.
func TestContract106ARenewalNeedsNoRestart(t *testing.T) {
	t.Parallel()
	i := newInfra(t)
	const day = 24 * time.Hour
	now := time.Now()
	// The first authority is 208 days old. The second one came 25 days ago, when the first
	// one still signed; by now it is the second one's turn.
	i.renew(t, now.Add(-208*day))
	i.renew(t, now.Add(-25*day))
	first := maps.Clone(i.secret(t, "shop", "edge-xds").Data)
	folder := t.TempDir()
	bring(t, folder, i.secret(t, "infra", "tls").Data)
	server := i.serveIn(t, folder)
	open, err := server.connect(t, first)
	if err != nil {
		t.Fatalf("before: %v", err)
	}
	if code, stderr := i.run(t, "--fleet", "shop/edge"); code != 0 {
		t.Fatalf("renew: %s", stderr)
	}
	second := i.secret(t, "shop", "edge-xds").Data
	if slices.Equal(first["tls.crt"], second["tls.crt"]) || !slices.Equal(first["ca.crt"], second["ca.crt"]) {
		t.Fatal("the certificate was not renewed, or the authorities are others")
	}
	if _, err := server.connect(t, second); err != nil {
		t.Errorf("a fleet with the new certificate at a server with the old one: %v", err)
	}
	bring(t, folder, i.secret(t, "infra", "tls").Data)
	for name, data := range map[string]map[string][]byte{"old": first, "new": second} {
		if _, err := server.connect(t, data); err != nil {
			t.Errorf("a fleet with the %s certificate at a server with the new one: %v", name, err)
		}
	}
	if err := asks(open, "type.googleapis.com/envoy.config.listener.v3.Listener"); err != nil {
		t.Errorf("the stream of before: %v", err)
	}
	stranger := newInfra(t)
	stranger.renew(t, now)
	theirs := stranger.secret(t, "shop", "edge-xds").Data
	theirs["ca.crt"] = second["ca.crt"]
	if _, err := server.connect(t, theirs); err == nil {
		t.Error("a certificate of another authority is accepted")
	}
	asServer := maps.Clone(i.secret(t, "infra", "tls").Data)
	if _, err := server.connect(t, asServer); err == nil {
		t.Error("the certificate of the server is accepted as that of a client")
	}
}
