package kubernetes_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/metrics"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/kubernetes"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// waitTimeout bounds every wait of a test; none is expected to take so long.
const waitTimeout = 60 * time.Second

// remote is the way to the API server that a kubeconfig names.
func remote(kubeconfig string) kube.Access {
	return kube.Access{Kubeconfig: kubeconfig, Setting: "SECURED_KUBECONFIG", ContextSetting: "SECURED_KUBECTL_CONTEXT"}
}

// newSource makes a source that looks at its files often and has little grace.
// Its requests are counted, as in the daemon.
func newSource(t *testing.T, options kubernetes.Options) *kubernetes.Source {
	t.Helper()
	if options.Grace == 0 {
		options.Grace = 300 * time.Millisecond
	}
	if options.Recheck == 0 {
		options.Recheck = 50 * time.Millisecond
	}
	counting, err := metrics.New(metrics.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if way, ok := options.Way.(kube.Access); ok && way.Wrap == nil {
		way.Wrap = counting.Transport(metrics.ClientSource)
		options.Way = way
	}
	source, err := kubernetes.New(options)
	if err != nil {
		t.Fatal(err)
	}
	return source
}

// run runs the source until stop is called or the test ends.
func run(t *testing.T, source *kubernetes.Source) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- source.Run(ctx) }()
	stopped := false
	stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			t.Errorf("run: %v", err)
		}
	}
	t.Cleanup(stop)
	return stop
}

// read reads, and fails the test on an error.
func read(t *testing.T, source *kubernetes.Source) []inventory.Node {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	nodes, err := source.Read(ctx)
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	return nodes
}

// await reads each time the source says that something changed, and at no other time,
// until the answer is as wanted.
func await(t *testing.T, source *kubernetes.Source, what string, wanted func([]inventory.Node, error) bool) {
	t.Helper()
	deadline := time.NewTimer(waitTimeout)
	defer deadline.Stop()
	var nodes []inventory.Node
	var err error
	for {
		select {
		case <-source.Changed():
			if nodes, err = source.Read(t.Context()); wanted(nodes, err) {
				return
			}
		case <-deadline.C:
			t.Fatalf("waited %v in vain to be told of %s; last read: %d nodes, %v", waitTimeout, what, len(nodes), err)
		}
	}
}

// failed is the wish for an error.
func failed(nodes []inventory.Node, err error) bool { return err != nil && nodes == nil }

// writeKubeconfig writes a kubeconfig with one context called "test".
func writeKubeconfig(t *testing.T, path, server string, config *rest.Config) string {
	t.Helper()
	const name = "test"
	file := clientcmdapi.NewConfig()
	file.CurrentContext = name
	file.Contexts[name] = &clientcmdapi.Context{Cluster: name, AuthInfo: name}
	file.Clusters[name] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: config.CAData}
	file.AuthInfos[name] = &clientcmdapi.AuthInfo{
		ClientCertificateData: config.CertData, ClientKeyData: config.KeyData, Token: config.BearerToken,
	}
	if path == "" {
		path = filepath.Join(t.TempDir(), "kubeconfig")
	}
	if err := clientcmd.WriteToFile(*file, path); err != nil {
		t.Fatal(err)
	}
	return path
}
