package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/preflight"
)

const poolAndBinding = `apiVersion: endpoints.ablmnzde.github.io/v1alpha1
kind: EndpointPool
metadata: {name: blue}
spec:
  source: {kubernetes: {}}
  credentials: blue
  subnets: [10.0.0.0/24]
  allow: [{namespaces: [shop], ports: ["30080"]}]
---
apiVersion: endpoints.ablmnzde.github.io/v1alpha1
kind: EndpointBinding
metadata: {name: web, namespace: shop}
spec: {pools: [{name: blue}], ports: [{port: 30080}]}
`

// remoteKubeconfig is one whose token does not say when it expires.
const remoteKubeconfig = `{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}],
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1", insecure-skip-tls-verify: true}}], users: [{name: u, user: {token: opaque}}]}`

// mounted returns the environment of a folder with one file of documents, and of one with
// the credentials that they name.
func mounted(t *testing.T, text string) []string {
	t.Helper()
	dir, credentials := t.TempDir(), t.TempDir()
	for path, content := range map[string]string{
		filepath.Join(dir, "documents.yaml"): text, filepath.Join(credentials, "blue", "kubeconfig"): remoteKubeconfig,
	} {
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return []string{"DOCUMENTS_DIR=" + dir, "CREDENTIALS_DIR=" + credentials}
}

func TestConfigValidateReadsTheDocuments(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := run(t, mounted(t, poolAndBinding), "config", "validate")
	if code != 0 || stdout != "The configuration is valid, with 1 pool and 1 binding.\n" {
		t.Errorf("got status %d, %q and %q", code, stdout, stderr)
	}
	wrong := strings.NewReplacer("10.0.0.0/24", "10.0.0.1/24", "[{name: blue}]", "[{name: blue}, {name: blue}]").Replace(poolAndBinding)
	code, _, stderr = run(t, mounted(t, wrong), "config", "validate")
	for _, want := range []string{
		"2 mistakes in the documents:",
		`documents.yaml:7: EndpointPool blue spec.subnets[0]="10.0.0.1/24": 10.0.0.1/24 has bits set after its prefix; write 10.0.0.0/24`,
		`documents.yaml:13: EndpointBinding shop/web spec.pools[1].name="blue": is in the list twice; remove one of them`,
	} {
		if code != 2 || !strings.Contains(stderr, want) {
			t.Errorf("got status %d and %q, want 2 and %q", code, stderr, want)
		}
	}
	code, _, stderr = run(t, []string{"DOCUMENTS_DIR=/nonexistent"}, "config", "validate")
	if code != 2 || !strings.Contains(stderr, "the folder DOCUMENTS_DIR is not there") {
		t.Errorf("got status %d and %q", code, stderr)
	}
}

func TestCheckReportsEachMistakeOfTheDocuments(t *testing.T) {
	t.Parallel()
	environ := mounted(t, poolAndBinding)
	if code, stdout, _ := run(t, environ, "check", "--only", "documents"); code != 0 || !strings.Contains(stdout, "1 pool, 1 binding") {
		t.Errorf("got status %d and %s", code, stdout)
	}
	for text, want := range map[string]struct {
		id     preflight.ID
		result preflight.Result
		words  string
	}{
		strings.Replace(poolAndBinding, "30080}]", "22}]", 1):                               {preflight.DocumentsValid, preflight.Fail, "does not allow the namespace shop to use port 22"},
		strings.Replace(poolAndBinding, "pools: [{name: blue}]", "pools: [{name: blu}]", 1): {preflight.ServiceValid, preflight.Fail, "may not use a pool blu"},
		strings.Replace(poolAndBinding, "credentials: blue", "credentials: b", 1):           {preflight.SourceRead, preflight.Fail, "has no file kubeconfig"},
		strings.Replace(poolAndBinding, "kubernetes: {}", "ionos: {datacenterID: 8feda53f-15f0-447f-badf-ebe32dad2fc0, lanID: 2}", 1): {
			preflight.SourceRead, preflight.Fail, "has no file token"},
		"a: [": {preflight.DocumentsValid, preflight.Fail, "is not YAML or JSON"},
	} {
		environ := mounted(t, text)
		_, report := checked(t, environ, "--only", "documents,source,service")
		found := false
		for _, c := range report.Checks {
			found = found || c.ID == want.id && c.Result == want.result && strings.Contains(c.Message, want.words) && c.Remedy != ""
		}
		if !found {
			t.Errorf("%s: got %+v, want %v with %q", text, report.Checks, want.id, want.words)
		}
	}
	_, report := checked(t, environ[:1], "--only", "source")
	if !report.Failed(preflight.SourceRead) {
		t.Errorf("without CREDENTIALS_DIR: got %+v", report.Checks)
	}
}

// Names of files and fields are as others wrote them.
func TestContract189AWarningHasNoCharacterThatATerminalHides(t *testing.T) {
	t.Parallel()
	environ := mounted(t, strings.Replace(poolAndBinding, "spec:", "spec:\n  \"x\\e[2J\\u202e\": 1", 1))
	if err := os.WriteFile(filepath.Join(strings.TrimPrefix(environ[0], "DOCUMENTS_DIR="), "\u202ea\n.yaml"), []byte(strings.NewReplacer("blue", "green", "web", "other").Replace(poolAndBinding)), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, stderr := run(t, environ, "config", "show", "-o", "documents")
	if code != 0 || strings.ContainsAny(stdout+stderr, "\x1b\u202e") || !strings.Contains(stderr, "spec.x\ufffd[2J\ufffd: is not a field") || !strings.Contains(stdout, "# \ufffda\ufffd.yaml:") {
		t.Errorf("got status %d, %s and %q", code, stdout, stderr)
	}
}

func TestACommandForManyServicesHasToBeToldWhich(t *testing.T) {
	t.Parallel()
	environ := mounted(t, poolAndBinding)
	for command, says := range map[string]string{
		"explain -A":            "no node to explain",
		"explain -n shop":       "no node to explain",
		"explain -n shop a b c": "3 arguments: give one Service at a time",
		"status web":            "a Service needs its namespace: `status -n NAMESPACE web`",
		"status -n shop a b":    "2 arguments: give one Service at a time",
		"status -A -n shop web": "-A and -n exclude each other",
		"diff -A web":           "a Service needs its namespace: `diff -n NAMESPACE web`",
	} {
		if code, _, stderr := run(t, environ, strings.Fields(command)...); code != 2 || !strings.Contains(stderr, says) {
			t.Errorf("%s: got status %d and %q, want 2 and %q", command, code, stderr, says)
		}
	}
	for _, command := range []string{"status -n default other", "explain -n shop web w1", "diff -n shop", "check -n shop", "check --service other"} {
		if code, _, stderr := run(t, base, strings.Fields(command)...); code != 2 || !strings.Contains(stderr, "this configuration fills Service default/web") {
			t.Errorf("%s with variables: got status %d and %q", command, code, stderr)
		}
	}
}

func TestConfigShowPrintsDocumentsThatAreReadAgain(t *testing.T) {
	t.Parallel()
	code, stdout, stderr := run(t, replaced("SECURED_SUBNET_CIDR=10.0.0.0/24"), "config", "show", "-o", "documents")
	if code != 0 || stderr != "" || !strings.Contains(stdout, "adopt: web-remote") || !strings.Contains(stdout, "# ADMIN_ADDRESS=127.0.0.1:0 stays a variable.") {
		t.Errorf("got status %d, %s and %q", code, stdout, stderr)
	}
	environ := mounted(t, stdout)
	if code, _, stderr := run(t, environ, "config", "validate"); code != 0 {
		t.Errorf("the output is not valid: %s", stderr)
	}
	code, stdout, _ = run(t, environ, "config", "show", "-o", "documents")
	if code != 0 || !strings.Contains(stdout, "releaseAfter: 10m0s") || !strings.Contains(stdout, "# documents.yaml:") {
		t.Errorf("got status %d and %s, want defaults and places", code, stdout)
	}
	again := mounted(t, stdout)
	if code, third, _ := run(t, again, "config", "show", "-o", "documents"); code != 0 || strings.Count(third, "kind: ") != 2 {
		t.Errorf("got status %d and %s", code, third)
	}
	// Variables allow a subnet that documents do not.
	if code, _, stderr := run(t, base, "config", "show", "-o", "documents"); code != 0 || !strings.Contains(stderr, "contains a loopback address") {
		t.Errorf("got status %d and %q", code, stderr)
	}
}
