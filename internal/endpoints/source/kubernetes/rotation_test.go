package kubernetes_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/kubernetes"
)

func TestContract04ATokenFileIsReadAgain(t *testing.T) {
	var mu sync.Mutex
	valid := "first-" + canary
	a := newAPI(t, func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		ok := r.Header.Get("Authorization") == "Bearer "+valid
		mu.Unlock()
		if !ok {
			status(http.StatusUnauthorized, metav1.StatusReasonUnauthorized, "Unauthorized")(w, r)
			return
		}
		serve(whole())(w, r)
	})
	dir := t.TempDir()
	token := filepath.Join(dir, "token")
	write(t, token, valid+"\n")
	kubeconfig := write(t, filepath.Join(dir, "kubeconfig"), fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c,
contexts: [{name: c, context: {cluster: c, user: u}}], clusters: [{name: c, cluster: {server: "%s", insecure-skip-tls-verify: true}}],
users: [{name: u, user: {tokenFile: token}}]}`, a.URL))
	source := newSource(t, kubernetes.Options{Way: remote(kubeconfig)})
	run(t, source)
	read(t, source)
	drain(source)
	mu.Lock()
	valid = "second-" + canary
	mu.Unlock()
	a.CloseClientConnections()
	await(t, source, "the refusal", failed)
	for deadline := time.Now().Add(waitTimeout); ; {
		_, err := source.Read(t.Context())
		if err == nil || strings.Contains(err.Error(), canary) || time.Now().After(deadline) {
			t.Fatalf("got %v, want the remedy and no token", err)
		}
		if strings.Contains(err.Error(), "renew them") {
			break
		}
		<-time.After(10 * time.Millisecond)
	}
	write(t, token, valid)
	await(t, source, "the new token", func(nodes []inventory.Node, err error) bool { return err == nil && len(nodes) == 1 })
}

func TestContract04AnExecPluginIsAskedAgain(t *testing.T) {
	a := newAPI(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer good-"+canary {
			status(http.StatusUnauthorized, metav1.StatusReasonUnauthorized, r.Header.Get("Authorization"))(w, r)
			return
		}
		serve(whole())(w, r)
	})
	dir := t.TempDir()
	state := write(t, filepath.Join(dir, "state"), "bad-"+canary)
	plugin := filepath.Join(dir, "plugin")
	script := fmt.Sprintf(`#!/bin/sh
printf '{"apiVersion":"client.authentication.k8s.io/v1","kind":"ExecCredential","status":{"token":"%%s"}}' "$(cat %s)"
`, state)
	if err := os.WriteFile(plugin, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	kubeconfig := write(t, filepath.Join(dir, "kubeconfig"), fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c,
contexts: [{name: c, context: {cluster: c, user: u}}], clusters: [{name: c, cluster: {server: "%s", insecure-skip-tls-verify: true}}],
users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: "%s", interactiveMode: Never}}}]}`, a.URL, plugin))
	source := newSource(t, kubernetes.Options{Way: remote(kubeconfig)})
	run(t, source)
	if _, err := source.Read(t.Context()); err == nil || strings.Contains(err.Error(), canary) {
		t.Errorf("got %v, want a refusal without the token", err)
	}
	write(t, state, "good-"+canary)
	await(t, source, "the new credentials", func(nodes []inventory.Node, err error) bool { return err == nil && len(nodes) == 1 })
}

// The plugin does not end before the test lets it, so a wait for it would not end.
func TestAnExecPluginThatHangsDelaysNothing(t *testing.T) {
	a := newAPI(t, serve(whole()))
	dir := t.TempDir()
	begun, end := filepath.Join(dir, "begun"), filepath.Join(dir, "end")
	for _, fifo := range []string{begun, end} {
		if err := syscall.Mkfifo(fifo, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	kubeconfig := write(t, filepath.Join(dir, "kubeconfig"), fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c,
contexts: [{name: c, context: {cluster: c, user: u}}], clusters: [{name: c, cluster: {server: "%s", insecure-skip-tls-verify: true}}],
users: [{name: u, user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: sh, args: ["-c", "echo >%s; read line <%s"], interactiveMode: Never}}}]}`, a.URL, begun, end))
	source := newSource(t, kubernetes.Options{Way: remote(kubeconfig)})
	stop := run(t, source)
	if _, err := os.ReadFile(begun); err != nil { // when the plugin writes it
		t.Fatal(err)
	}
	stop()
	if err := os.WriteFile(end, []byte("\n"), 0o600); err != nil { // the check for leaks waits for its end
		t.Fatal(err)
	}
}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path+".next", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".next", path); err != nil {
		t.Fatal(err)
	}
	return path
}
