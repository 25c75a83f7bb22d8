package cli_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/cli"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// remoteNodes is an API server with that one node, and a kubeconfig for it.
func remoteNodes(t *testing.T, name, server string) []byte {
	t.Helper()
	api := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answerList(w, r, "Node", "v1", "7", []any{map[string]any{
			"kind": "Node", "apiVersion": "v1", "metadata": map[string]string{"name": name, "uid": name, "resourceVersion": "7"},
			"spec":   map[string]string{"providerID": "ionos://" + server},
			"status": map[string]any{"conditions": []map[string]string{{"type": "Ready", "status": "True"}}},
		}})
	}))
	t.Cleanup(func() { api.CloseClientConnections(); api.Close() })
	text, err := os.ReadFile(strings.TrimPrefix(kubeconfig(t, api.URL, tokenCanary), "KUBECONFIG="))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// managedPool is a pool of the fake IONOS Cloud, made before its folder has a kubeconfig.
func managedPool(t *testing.T, folder, selector string) controller.Origin {
	t.Helper()
	_, environ := cloud(t, 2)
	p := &v1alpha1.EndpointPool{}
	p.Spec.Credentials = filepath.Base(folder)
	p.Spec.Source.IONOS = &v1alpha1.IONOSSource{DatacenterID: datacenter, LANID: 2, ClusterID: clusterID, NodeSelector: selector}
	p.SetDefaults()
	c := settings.Config{Documents: settings.Documents{Dir: filepath.Dir(folder), CredentialsDir: filepath.Dir(folder)}}
	c.IONOS.APIURL = strings.TrimPrefix(environ[1], "IONOS_API_URL=")
	fill(t, folder, map[string]string{"token": tokenCanary})
	made, err := cli.Origin(c, p)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); _ = made.Run(ctx) }()
	t.Cleanup(func() { stop(); <-ended })
	return made
}

// Contract 49: the nodes of a managed cluster are those that its API server lists as soon as
// the pool has a kubeconfig, and stay those.
func TestContract49AKubeconfigOfAManagedClusterMayComeLater(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "blue")
	made := managedPool(t, folder, "")
	names := func() (all string) {
		nodes, err := made.Source.Read(t.Context())
		if err != nil {
			return err.Error()
		}
		for _, n := range nodes {
			all += fmt.Sprintln(n.Name, n.Addresses)
		}
		return all
	}
	if got, want := names(), "worker-0 [10.0.0.0]\nworker-1 [10.0.0.1]\n"; got != want {
		t.Fatalf("got %q, want %q", got, want)
	}
	config := remoteNodes(t, "watched", "6f1d2c3b-0000-4000-8000-000000000001")
	writeFile(t, filepath.Join(folder, "kubeconfig"), string(config))
	select {
	case <-made.Changed:
	case <-time.After(30 * time.Second):
		t.Fatal("got no signal that there is a kubeconfig")
	}
	const watched = "watched [10.0.0.1]\n"
	if got := names(); got != watched {
		t.Errorf("got %q, want %q", got, watched)
	}
	fill(t, folder, map[string]string{"token": tokenCanary})
	if got := names(); got != watched {
		t.Errorf("after its file went: got %q, want %q", got, watched)
	}
}

// A selector that is about node pools chooses none of the nodes that an API server lists.
func TestContract49ALaterKubeconfigDoesNotChangeWhatASelectorMeans(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(t.TempDir(), "blue")
	made := managedPool(t, folder, "endpoints.ablmnzde.github.io/node-pool!=db")
	if nodes, err := made.Source.Read(t.Context()); err != nil || len(nodes) != 2 {
		t.Fatalf("got %v and %v, want the nodes of the API", nodes, err)
	}
	writeFile(t, filepath.Join(folder, "kubeconfig"), string(remoteNodes(t, "db", "6f1d2c3b-0000-4000-8000-000000000001")))
	if nodes, err := made.Source.Read(t.Context()); err == nil || !strings.Contains(err.Error(), "which nodes do not have") {
		t.Errorf("got %v and %v, want an error about the selector", nodes, err)
	}
}
