package kubernetes_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/kubernetes"
)

func TestIncompleteOptionsAreRefused(t *testing.T) {
	for name, options := range map[string]kubernetes.Options{
		"no way":       {},
		"bad selector": {Way: remote("/remote"), Selector: "pool=("},
	} {
		if _, err := kubernetes.New(options); err == nil || name == "bad selector" && !strings.Contains(err.Error(), "SECURED_NODE_SELECTOR") {
			t.Errorf("%s: got %v, want an error that names the variable", name, err)
		}
	}
}

func TestAKubeconfigThatCannotBeUsedIsNamedAtOnceAndNeverQuoted(t *testing.T) {
	user := "users: [{name: u, user: {token: " + canary + "}}]\n"
	cluster := "clusters: [{name: c, cluster: {server: 'https://admin:" + canary + "@127.0.0.1:1/%zz'}}]\n"
	context := "contexts: [{name: c, context: {cluster: c, user: u}}]\ncurrent-context: c\n"
	tests := []struct{ name, text, want string }{
		{"not there", "", "no such file or directory; create it, or correct SECURED_KUBECONFIG"},
		{"no YAML", user + "\t" + canary + ": [", "cannot be parsed as a kubeconfig"},
		{"a list", "[" + canary + "]", "cannot be parsed as a kubeconfig"},
		{"another type", "users: " + canary, "cannot be parsed as a kubeconfig"},
		{"without the context", user + "current-context: other\n", "SECURED_KUBECONFIG"},
		{"an odd server", user + cluster + context, "SECURED_KUBECONFIG"},
		{"a missing token file", strings.Replace(user, "token: "+canary, "tokenFile: missing", 1) + strings.Replace(cluster, "/%zz", "", 1) + context, "missing"},
		{"a certificate that is none", strings.Replace(user, "token: "+canary, "client-certificate-data: "+canary, 1) + context, "SECURED_KUBECONFIG"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "kubeconfig")
			if test.text != "" {
				write(t, path, test.text)
			}
			source := newSource(t, kubernetes.Options{Way: remote(path)})
			run(t, source)
			nodes, err := source.Read(t.Context())
			if err == nil || nodes != nil {
				t.Fatalf("got %d nodes, %v, want an error", len(nodes), err)
			}
			if text := err.Error(); !strings.Contains(text, test.want) || strings.Contains(text, canary) {
				t.Errorf("got %q, want %q and no secret", text, test.want)
			}
		})
	}
}

func TestAMissingKubeconfigNeverMeansTheClusterWeRunIn(t *testing.T) {
	t.Setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
	t.Setenv("KUBERNETES_SERVICE_PORT", "1")
	path := filepath.Join(t.TempDir(), "kubeconfig")
	write(t, path, "apiVersion: v1\nkind: Config\n")
	source := newSource(t, kubernetes.Options{Way: remote(path)})
	run(t, source)
	if _, err := source.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "SECURED_KUBECONFIG") {
		t.Errorf("got %v, want an error about the kubeconfig", err)
	}
}

func TestAKubeconfigThatIsBeingWrittenEndsNoWatch(t *testing.T) {
	a := newAPI(t, serve(whole()))
	kubeconfig := a.kubeconfig(t)
	source := newSource(t, kubernetes.Options{Way: remote(kubeconfig)})
	run(t, source)
	read(t, source)
	before := a.requests()
	write(t, kubeconfig, "users: [")
	<-time.After(500 * time.Millisecond) // ten looks at the file, and more than the grace
	read(t, source)
	if got := a.requests(); got != before {
		t.Errorf("got %d requests, want no more than %d", got, before)
	}
}
