//go:build lab

package proxies_test

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/child"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
)

// certManager is an API server with a real cert-manager, without its webhook.
type certManager struct {
	t      *testing.T
	api    *controlplane.ControlPlane
	client *kubernetes.Clientset
	child  *child.Child
}

// newCertManager has the issuers and Certificates of the how-to and of the chart, as far as
// these make them.
func newCertManager(t *testing.T) *certManager {
	t.Helper()
	m := &certManager{t: t, api: controlplane.Start(t, controlplane.Options{})}
	var err error
	m.client, err = kubernetes.NewForConfig(m.api.Config())
	must(t, err)
	m.kubectl("", "apply", "--server-side", "--filename", definitions(t))
	m.kubectl("", "wait", "--for=condition=Established", "crd", "--all", "--timeout=2m")
	for _, namespace := range []string{"cert-manager", "infra", "shop"} {
		m.kubectl("", "create", "namespace", namespace)
	}
	m.child, err = child.Start(exec.Command(built.Tool(t, "cert-manager"), "--kubeconfig", m.api.Kubeconfig(t)), filepath.Join(t.TempDir(), "cert-manager.log"))
	must(t, err)
	t.Cleanup(m.child.Kill)

	for _, block := range documented(t) {
		m.kubectl(block, "apply", "--validate=strict", "--filename", "-")
	}
	args := []string{
		"template", "endpoint-views", "../../helm/endpoint-views", "--namespace", "infra", "--values", "../../helm/endpoint-views/ci/certmanager-values.yaml",
		"--show-only", "templates/certificates.yaml",
	}
	chart, err := exec.CommandContext(t.Context(), built.Tool(t, "helm4"), args...).Output()
	must(t, err)
	m.kubectl(string(chart), "apply", "--validate=strict", "--server-side", "--force-conflicts", "--filename", "-")
	m.kubectl("", "wait", "--for=condition=Ready", "certificates", "--all", "--all-namespaces", "--timeout=2m")
	return m
}

// definitions is the folder with those of cert-manager's kinds, of the version that runs.
func definitions(t *testing.T) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", "github.com/cert-manager/cert-manager")
	command.Dir, command.Env = filepath.Join("..", "..", "tools", "cert-manager"), append(os.Environ(), "GOWORK=off")
	out, err := command.Output()
	must(t, err)
	var module struct{ Dir string }
	must(t, json.Unmarshal(out, &module))
	return filepath.Join(module.Dir, "deploy", "crds")
}

// documented are the objects of cert-manager that the how-to shows.
func documented(t *testing.T) []string {
	t.Helper()
	text, err := os.ReadFile("../../docs/how-to/fleets.md")
	must(t, err)
	var found []string
	for _, block := range regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		if strings.HasPrefix(block[1], "apiVersion: cert-manager.io/") {
			found = append(found, block[1])
		}
	}
	if len(found) != 2 {
		t.Fatalf("got %d blocks with objects of cert-manager, want 2", len(found))
	}
	return found
}

func (m *certManager) kubectl(input string, args ...string) string {
	m.t.Helper()
	command := exec.CommandContext(m.t.Context(), m.api.KubectlPath(), args...)
	command.Env = []string{"HOME=" + m.t.TempDir(), "KUBECONFIG=" + m.api.Kubeconfig(m.t)}
	command.Stdin = strings.NewReader(input)
	out, err := command.CombinedOutput()
	if err != nil {
		m.t.Fatalf("kubectl %s: %v\n%s\n%s", strings.Join(args, " "), err, out, m.child.Tail())
	}
	return string(out)
}

// secret is what the Secret of a Certificate holds, which has the same name here.
func (m *certManager) secret(namespace, name string) *corev1.Secret {
	m.t.Helper()
	secret, err := m.client.CoreV1().Secrets(namespace).Get(context.WithoutCancel(m.t.Context()), name, metav1.GetOptions{})
	must(m.t, err)
	return secret
}

// renew does what `cmctl renew` does, and returns the new Secret.
func (m *certManager) renew(namespace, name string) *corev1.Secret {
	m.t.Helper()
	return m.issued(namespace, name, func() {
		now := time.Now().UTC().Format(time.RFC3339)
		patch := fmt.Sprintf(`[{"op": "add", "path": "/status/conditions/-", "value":
			{"type": "Issuing", "status": "True", "reason": "ManuallyTriggered", "message": "Certificate re-issuance manually triggered", "lastTransitionTime": %q}}]`, now)
		m.kubectl("", "--namespace", namespace, "patch", "certificate", name, "--subresource=status", "--type=json", "--patch", patch)
	})
}

// issued waits until cert-manager has written another certificate into a Secret.
func (m *certManager) issued(namespace, name string, why func()) *corev1.Secret {
	m.t.Helper()
	before := m.secret(namespace, name)
	why()
	for end := time.Now().Add(waitLimit); ; time.Sleep(20 * time.Millisecond) {
		now := m.secret(namespace, name)
		if !bytes.Equal(now.Data["tls.crt"], before.Data["tls.crt"]) {
			if bytes.Equal(now.Data["tls.key"], before.Data["tls.key"]) != (name == rootName) {
				m.t.Errorf("%s/%s: only the authority keeps its key", namespace, name)
			}
			return now
		}
		if time.Now().After(end) {
			m.t.Fatalf("cert-manager does not renew %s/%s\n%s\n%s", namespace, name, m.kubectl("", "--namespace", namespace, "describe", "certificate", name), m.child.Tail())
		}
	}
}

// rootName is the name of the authority of the how-to, in the namespace of cert-manager.
const rootName = "endpoint-views"

// below makes an authority below that of the how-to, and an issuer that signs with it.
func (m *certManager) below() {
	m.t.Helper()
	m.kubectl(`{"apiVersion": "v1", "kind": "List", "items": [
		{"apiVersion": "cert-manager.io/v1", "kind": "Certificate", "metadata": {"name": "below", "namespace": "cert-manager"},
			"spec": {"secretName": "below", "commonName": "below", "isCA": true, "issuerRef": {"name": "endpoint-views", "kind": "ClusterIssuer"}}},
		{"apiVersion": "cert-manager.io/v1", "kind": "ClusterIssuer", "metadata": {"name": "below"}, "spec": {"ca": {"secretName": "below"}}}]}`,
		"apply", "--validate=strict", "--filename", "-")
}

// signedBy lets another issuer sign a certificate, and returns the new Secret.
func (m *certManager) signedBy(issuer, namespace, name string) *corev1.Secret {
	m.t.Helper()
	return m.issued(namespace, name, func() {
		m.kubectl("", "--namespace", namespace, "patch", "certificate", name, "--type=merge", "--patch", fmt.Sprintf(`{"spec": {"issuerRef": {"name": %q}}}`, issuer))
	})
}

// serialOf is the number of the certificate of a Secret, in hexadecimal digits.
func serialOf(t *testing.T, secret *corev1.Secret) string {
	t.Helper()
	block, _ := pem.Decode(secret.Data["tls.crt"])
	if block == nil {
		t.Fatalf("the Secret %s has no certificate", secret.Name)
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	must(t, err)
	return number(certificate)
}

func number(c *x509.Certificate) string { return fmt.Sprintf("%x", c.SerialNumber) }
