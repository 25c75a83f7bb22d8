package deploy_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/stage"
)

// watcherToken creates a user with the right to read the nodes, and returns the
// token.
func (w *world) watcherToken(t *testing.T) string {
	t.Helper()
	meta := metav1.ObjectMeta{Name: watcher}
	role := &rbacv1.ClusterRole{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{""}, Resources: []string{"nodes"}, Verbs: []string{"get", "list", "watch"}},
	}}
	_, err := w.Client.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{})
	must(t, err)
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: watcher},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Name: watcher, Namespace: "kube-system"}},
	}
	_, err = w.Client.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{})
	must(t, err)
	accounts := w.Client.CoreV1().ServiceAccounts("kube-system")
	_, err = accounts.Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: meta}, metav1.CreateOptions{})
	must(t, err)
	answer, err := accounts.CreateToken(t.Context(), watcher, &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	must(t, err)
	return answer.Status.Token
}

// filledIn copies the folder and replaces each placeholder, as a person does. The
// script is taken in.
func (w *world) filledIn(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	must(t, os.CopyFS(dir, os.DirFS(folder)))
	for name, own := range w.ownValues(t) {
		fillIn(t, filepath.Join(dir, name+".example.yaml"), own)
	}
	fillIn(t, filepath.Join(dir, "rbac.example.yaml"), []string{namespace, namespace})
	fillIn(t, filepath.Join(dir, "controller-deployment.example.yaml"), []string{"v0.1.0"})
	for _, file := range examples(t, dir) {
		if strings.Contains(read(t, filepath.Join(dir, file)), placeholder) {
			t.Fatalf("%s: got a placeholder that this test does not know", file)
		}
	}
	const taken = "scripts-configmap.ionos"
	must(t, os.Symlink(taken+".example.yaml", filepath.Join(dir, taken+".yaml")))
	return dir
}

// ownValues are what a person writes into the manifests, in the order of the
// placeholders.
func (w *world) ownValues(t *testing.T) map[string][]string {
	t.Helper()
	config := w.CP.Config()
	return map[string][]string{
		"ionos-token-secret": {stage.Token},
		"kubeconfigs-secret": {config.Host, base64.StdEncoding.EncodeToString(config.CAData), w.watcherToken(t)},
		"controller-config":  {stage.Datacenter, fmt.Sprint(stage.LAN), "10.0.0.0/24"},
	}
}

// fillIn replaces the placeholders of a file one after another.
func fillIn(t *testing.T, path string, values []string) {
	t.Helper()
	text := read(t, path)
	for _, value := range values {
		text = strings.Replace(text, placeholder, value, 1)
	}
	must(t, os.WriteFile(path, []byte(text), 0o600))
}
