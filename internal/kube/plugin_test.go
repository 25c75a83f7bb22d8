package kube_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

// TestContract172WhyAPluginCannotBeUsedIsTold: without an address or an argument of it.
func TestContract172WhyAPluginCannotBeUsedIsTold(t *testing.T) {
	for plugin, want := range map[string]string{
		`{apiVersion: client.authentication.k8s.io/v1, command: /bin/true, args: [s3cret]}`:                         "interactiveMode: Never",
		`{apiVersion: client.authentication.k8s.io/v1alpha1, command: /bin/true, args: [s3cret]}`:                   "neither client.authentication.k8s.io/v1 nor",
		`{apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, args: [s3cret]}`:                     "no command",
		`{apiVersion: client.authentication.k8s.io/v1, interactiveMode: Never, command: /bin/true, args: [s3cret]}`: "",
	} {
		path := filepath.Join(t.TempDir(), "kubeconfig")
		text := `{apiVersion: v1, kind: Config, current-context: r, clusters: [{name: r, cluster: {server: "https://127.0.0.1:1"}}],
contexts: [{name: r, context: {cluster: r, user: r}}], users: [{name: r, user: {exec: ` + plugin + `}}]}`
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := kube.Access{Kubeconfig: path, Setting: "SECURED_KUBECONFIG"}.Config()
		switch {
		case want == "" && err != nil:
			t.Errorf("%s: got %v, want none", plugin, err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), `user "r"`) || strings.Contains(err.Error(), "s3cret")):
			t.Errorf("%s: got %v, want %q", plugin, err, want)
		}
	}
}
