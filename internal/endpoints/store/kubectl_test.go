package store_test

import (
	"testing"

	"go.uber.org/goleak"
	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store/storetest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store/storetest/apiserver"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// leastRights are those that the package comment names.
func leastRights() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		apiserver.Rights("discovery.k8s.io", "endpointslices", "get", "list", "create", "update"),
		apiserver.Rights("", "services", "get"),
	}
}

func TestContract27TheKubectlStoreConformsOnARealAPIServerWithTheLeastRights(t *testing.T) {
	server := controlplane.Start(t, controlplane.Options{Audit: true})
	home := "HOME=" + t.TempDir() // where kubectl remembers what the server can do
	storetest.Run(t, func(t *testing.T) *storetest.Fixture {
		namespace := apiserver.New(t, server, leastRights()...)
		target := storetest.Target(namespace.Name)
		env := []string{home, "KUBECONFIG=" + server.UserKubeconfig(t, namespace.Name)}
		start := func() storetest.Store { return newKubectl(t, target, server.KubectlPath(), env) }
		return &storetest.Fixture{
			Target: target, Store: start(), Hand: namespace, Restart: start, Requests: namespace.Requests,
		}
	})
	t.Run("kubectl says whether the server is unavailable", func(t *testing.T) { realKubectl(t, server.KubectlPath()) })
}

func newKubectl(t *testing.T, target publish.Target, path string, env []string) *store.Kubectl {
	t.Helper()
	store, err := store.NewKubectl(store.KubectlOptions{
		Target: target, Path: path, Environ: func() ([]string, error) { return env, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	return store
}
