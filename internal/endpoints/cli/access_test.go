package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// A kubeconfig that is not there, or cannot be parsed, ends every command before
// it takes another cluster, and without a word of what stands in the file.
func TestContract34AKubeconfigThatCannotBeUsedEndsTheProgram(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(broken, []byte("users:\n- user: {token: s3cr3t-t0ken\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, path, want string }{
		{"missing", filepath.Join(t.TempDir(), "none"), "no such file or directory"},
		{"malformed", broken, "cannot be parsed"},
	}
	for _, test := range tests {
		for _, command := range []string{"run", "diff"} {
			t.Run(test.name+" "+command, func(t *testing.T) {
				env := []string{
					"STATIC_NODES=w=10.0.0.1", "SECURED_SUBNET_CIDR=10.0.0.0/24", "TARGET_SERVICE_NAME=web", "TARGET_PORT=80",
					"STORE_KIND=client-go", "KUBECONFIG=" + test.path, "KUBERNETES_SERVICE_HOST=127.0.0.1", "KUBERNETES_SERVICE_PORT=1",
				}
				code, _, stderr := run(t, env, command)
				if code != 2 || !strings.Contains(stderr, test.want) || !strings.Contains(stderr, "KUBECONFIG="+test.path) {
					t.Errorf("got status %d and %q, want 2 and %q", code, stderr, test.want)
				}
				if strings.Contains(stderr, "s3cr3t") {
					t.Errorf("the secret is in %q", stderr)
				}
			})
		}
	}
}

// client-go quotes the proxy-url that it does not accept, with the password in it.
func TestContract35NoCommandShowsThePasswordOfAProxy(t *testing.T) {
	path := filepath.Join(t.TempDir(), "config")
	const text = `{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c}}],
clusters: [{name: c, cluster: {server: "https://127.0.0.1:1", proxy-url: "http://admin:s3cr3t/x@127.0.0.1:3128"}}]}`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env := []string{
		"SECURED_SUBNET_CIDR=10.0.0.0/24", "TARGET_SERVICE_NAME=web", "TARGET_PORT=80", "KUBERNETES_SERVICE_HOST=127.0.0.1", "KUBERNETES_SERVICE_PORT=1",
	}
	local := append([]string{"STATIC_NODES=w=10.0.0.1", "STORE_KIND=client-go", "KUBECONFIG=" + path}, env...)
	remote := append([]string{"SOURCE_KIND=kubernetes", "SECURED_KUBECONFIG=" + path, "STORE_KIND=memory"}, env...)
	for name, env := range map[string][]string{"KUBECONFIG": local, "SECURED_KUBECONFIG": remote} {
		for _, command := range []string{"run --once", "diff", "check"} {
			t.Run(name+" "+command, func(t *testing.T) {
				code, stdout, stderr := run(t, env, strings.Fields(command)...)
				if text := stdout + stderr; code == 0 || !strings.Contains(text, "proxy-url") || strings.Contains(text, "s3cr3t") {
					t.Errorf("got status %d and %s\nwant an error that names proxy-url and not the password", code, text)
				}
			})
		}
	}
}
