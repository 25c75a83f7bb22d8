package hack_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// edited are the files that hold something to be replaced.
var edited = []string{"rbac", "ionos-token-secret", "kubeconfigs-secret", "controller-config", "controller-deployment"}

// manifests copies the examples, and makes edited copies of some of them.
func (w *world) manifests(t *testing.T, names ...string) string {
	t.Helper()
	dir := t.TempDir()
	examples, err := filepath.Glob(filepath.Join(root, "deploy", "*.example.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, example := range examples {
		text, err := os.ReadFile(example)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(filepath.Base(example), ".example.yaml")
		write(t, filepath.Join(dir, filepath.Base(example)), string(text))
		if slices.Contains(names, name) {
			write(t, filepath.Join(dir, name+".yaml"), strings.ReplaceAll(string(text), "REPLACE_ME", w.namespace))
		}
	}
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func appliesInOrder(t *testing.T, w *world) {
	dir := w.manifests(t, edited...)
	w.script("apply-order.sh", "--dry-run", dir).run(t).want(0, "cluster: context test, https://", "dry run, the script changed no object")
	w.unchanged(t, "dry run")
	w.script("apply-order.sh", "--timeout", "1", dir).run(t).want(1, "the rollout did not end within 1 s")
	want := []string{
		"serviceaccounts", "roles", "rolebindings", "roles", "rolebindings", "leases", "secrets", "secrets", "configmaps", "services", "deployments",
	}
	var got []string
	for _, write := range w.writes() {
		got = append(got, strings.Fields(write)[1])
	}
	if !slices.Equal(got, want) {
		t.Errorf("got the writes %v, want %v", got, want)
	}
	w.rollOut(t)
	before := w.versions(t)
	w.script("apply-order.sh", dir).run(t).want(0, "applied; next: hack/verify-endpointslice.sh")
	if diff := cmp.Diff(before, w.versions(t)); diff != "" {
		t.Errorf("the second run changed (-before +after):\n%s", diff)
	}
	// The script is for SOURCE_KIND=command alone.
	write(t, filepath.Join(dir, "scripts-configmap.ionos.yaml"), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: script}\n")
	w.script("apply-order.sh", dir).run(t).want(0)
	if _, err := w.client.CoreV1().ConfigMaps(w.namespace).Get(t.Context(), "script", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
}

// versions are those of the objects in the namespace. The version of the Deployment
// leaves its status out.
func (w *world) versions(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{controller: fmt.Sprint(w.deployment(t).Generation)}
	secrets, err := w.client.CoreV1().Secrets(w.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range secrets.Items {
		found["secret "+o.Name] = o.ResourceVersion
	}
	configs, err := w.client.CoreV1().ConfigMaps(w.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range configs.Items {
		found["config "+o.Name] = o.ResourceVersion
	}
	roles, err := w.client.RbacV1().Roles(w.namespace).List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range roles.Items {
		found["role "+o.Name] = o.ResourceVersion
	}
	if len(found) < 6 {
		t.Fatalf("got only %v", found)
	}
	return found
}

func refusesPlaceholders(t *testing.T, w *world) {
	for i, name := range edited {
		dir := w.manifests(t, slices.Delete(slices.Clone(edited), i, i+1)...)
		w.script("apply-order.sh", dir).run(t).want(1, name+".example.yaml has placeholders", "remedy: cp "+dir+"/"+name+".example.yaml "+dir+"/"+name+".yaml")
		write(t, filepath.Join(dir, name+".yaml"), "# REPLACE_ME in a comment is none\nkind: ConfigMap\ndata: {a: REPLACE_ME}\n")
		w.script("apply-order.sh", dir).run(t).want(1, name+".yaml still has a placeholder: 3:")
	}
	w.unchanged(t, "with a placeholder")
	// Secrets that something else makes, and a Service that is there, are kept.
	for _, name := range []string{"ionos-token", "kubeconfigs"} {
		if _, err := w.client.CoreV1().Secrets(w.namespace).Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	w.service(t, corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "mine", Port: 81}}})
	w.script("apply-order.sh", "--timeout", "0", w.manifests(t, "rbac", "controller-config", "controller-deployment")).run(t).
		want(0, "ionos-token-secret: is in the cluster and is kept", "service: web is in the cluster and is kept")
	for _, written := range w.writes() {
		if strings.Contains(written, " secrets ") || strings.Contains(written, " services ") {
			t.Errorf("got %s, want what is there kept", written)
		}
	}

	// The example must not stand in for a Service of another name.
	others := w.manifests(t, edited...)
	config := filepath.Join(others, "controller-config.yaml")
	text, err := os.ReadFile(config)
	if err != nil {
		t.Fatal(err)
	}
	write(t, config, strings.Replace(string(text), `TARGET_SERVICE_NAME: "web"`, `TARGET_SERVICE_NAME: "shop"`, 1))
	call := w.script("apply-order.sh", others).with(map[string]string{"TARGET_SERVICE_NAME": ""})
	call.run(t).want(1, "Service "+w.namespace+"/shop is not in the cluster", "remedy: cp ")
	w.script("apply-order.sh", others).with(map[string]string{"TARGET_SERVICE_NAME": "shop"}).run(t).want(1, "/shop is not in the cluster")

	w.script("apply-order.sh", filepath.Join(t.TempDir(), "none")).run(t).want(1, "there is no folder", "remedy: ")
	dir := w.manifests(t, edited...)
	if err := os.Remove(filepath.Join(dir, "rbac.yaml")); err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(filepath.Join(dir, "rbac.example.yaml")); err != nil {
		t.Fatal(err)
	}
	w.script("apply-order.sh", dir).run(t).want(1, "there is neither "+dir+"/rbac.yaml nor", "remedy: ")
	write(t, filepath.Join(dir, "rbac.yaml"), "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: Not_A_Name}\n")
	w.script("apply-order.sh", dir).run(t).want(1, "rbac.yaml was refused", "remedy: correct ")
}
