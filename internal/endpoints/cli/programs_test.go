package cli_test

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/preflight"
)

// remoteCluster is an API server with the node w1, for those who show the token issued.
func remoteCluster(t *testing.T) (url string) {
	t.Helper()
	node := map[string]any{
		"kind": "Node", "apiVersion": "v1", "metadata": map[string]string{"name": "w1", "resourceVersion": "1"},
		"status": map[string]any{
			"addresses": []map[string]string{{"type": "InternalIP", "address": "10.0.0.11"}}, "conditions": []map[string]string{{"type": "Ready", "status": "True"}},
		},
	}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer issued" {
			refuse(w, http.StatusUnauthorized, "Unauthorized", "Unauthorized")
			return
		}
		answerList(w, r, "Node", "v1", "100", []any{node})
	}))
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return server.URL
}

// programKubeconfig runs a program for its token, which leaves a file when it runs.
func programKubeconfig(url, ran string) string {
	const issued = `{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"issued"}}`
	return fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}],
clusters: [{name: c, cluster: {server: %q, insecure-skip-tls-verify: true}}],
users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: /bin/sh, args: [-c, %q]}}}]}`,
		url, fmt.Sprintf(": > '%s'; echo '%s'", ran, issued))
}

// Contract 81: a kubeconfig that runs a program is the platform's to allow, by a file.
// Whoever may write pools into the API server has none run by naming its credentials.
func TestContract81APoolOfTheAPIServerRunsNoProgram(t *testing.T) {
	t.Parallel()
	const static = "static: {nodes: [{name: w1, addresses: [10.0.0.11]}]}}\n"
	readBy := func(source string) string {
		return strings.Replace(poolObject, static, source+"}\n  credentials: blue\n", 1)
	}
	const byNodes, byCloud = "kubernetes: {}", "ionos: {datacenterID: 8feda53f-15f0-447f-badf-ebe32dad2fc0, lanID: 2}"
	url := remoteCluster(t)
	for name, c := range map[string]struct {
		source string
		object bool
	}{
		"in a file": {byNodes, false}, "in the API server": {byNodes, true}, "in the API server, of the cloud": {byCloud, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool, ran := readBy(c.source), filepath.Join(t.TempDir(), "ran")
			environ := mounted(t, inFile(pool))
			credentials := filepath.Join(strings.TrimPrefix(environ[1], "CREDENTIALS_DIR="), "blue")
			writeFile(t, filepath.Join(credentials, "kubeconfig"), programKubeconfig(url, ran))
			writeFile(t, filepath.Join(credentials, "token"), "opaque")
			if c.object {
				environ = append(withObjects(t, pool), environ[1])
			}
			environ = append(environ, "IONOS_API_URL=https://127.0.0.1:1") // no test asks the real one
			code, stdout, stderr := run(t, environ, "inventory", "--pool", "blue")
			_, err := os.Stat(ran)
			if runs := err == nil; runs == c.object || err != nil && !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("got %v, want that the program runs: %t", err, !c.object)
			}
			if _, report := checked(t, environ); report.Failed(preflight.SourceRead) != c.object {
				t.Errorf("got %+v, want that check refuses the kubeconfig: %t", report.Checks, c.object)
			}
			if !c.object {
				if code != 0 || !strings.Contains(stdout, "10.0.0.11") {
					t.Errorf("got status %d, %q and %q, want the node", code, stdout, stderr)
				}
				return
			}
			if code != 3 || stdout != "" || !strings.Contains(stderr, "the kubeconfig runs a program (exec") || !strings.Contains(stderr, "use a token") {
				t.Errorf("got status %d, %q and %q, want why it is refused and the remedy", code, stdout, stderr)
			}
		})
	}
}
