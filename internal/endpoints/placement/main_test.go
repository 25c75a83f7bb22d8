package placement_test

import (
	"context"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/placement"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/pipes"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var _ pool.Placer = (*placement.Follower)(nil)

// web is the Service that most tests follow.
func web() inventory.RemoteService { return inventory.RemoteService{Namespace: "shop", Name: "web"} }

// service is a NodePort Service with policy Local.
func service(of inventory.RemoteService, nodePorts ...int32) *corev1.Service {
	o := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: of.Namespace, Name: of.Name}}
	o.Spec.Type, o.Spec.ExternalTrafficPolicy = corev1.ServiceTypeNodePort, corev1.ServiceExternalTrafficPolicyLocal
	for _, port := range nodePorts {
		o.Spec.Ports = append(o.Spec.Ports, corev1.ServicePort{Name: fmt.Sprint("p", port), Port: 80, NodePort: port})
	}
	return o
}

// slice is one of a Service, with a ready Pod on each of the nodes.
func slice(of inventory.RemoteService, name string, nodes ...string) *discoveryv1.EndpointSlice {
	o := &discoveryv1.EndpointSlice{AddressType: discoveryv1.AddressTypeIPv4}
	o.Namespace, o.Name, o.Labels = of.Namespace, name, map[string]string{discoveryv1.LabelServiceName: of.Name}
	for i, node := range nodes {
		o.Endpoints = append(o.Endpoints, endpoint(i, node, "ready serving"))
	}
	return o
}

// following runs a test in simulated time, with a reader that runs.
func following(t *testing.T, test func(t *testing.T, r *remote, reader *placement.Reader)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		r := newRemote(t)
		reader, _ := run(t, r)
		test(t, r, reader)
	})
}

// run runs a reader until the test ends, with the file of its token.
func run(t *testing.T, r *remote) (reader *placement.Reader, token string) {
	t.Helper()
	folder := t.TempDir()
	token = filepath.Join(folder, "token")
	write(t, token, "first")
	write(t, filepath.Join(folder, "ca"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: r.Certificate().Raw})))
	write(t, filepath.Join(folder, "kubeconfig"), fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c,
contexts: [{name: c, context: {cluster: c, user: u}}], clusters: [{name: c, cluster: {server: "%s", certificate-authority: ca}}],
users: [{name: u, user: {tokenFile: token}}]}`, r.URL))
	access := kube.Access{Kubeconfig: filepath.Join(folder, "kubeconfig"), Setting: "SECURED_KUBECONFIG"}
	reader, err := placement.New(placement.Options{Way: pipes.Way{Access: access, Network: r.network}, Most: 1 << 18})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error)
	go func() { ended <- reader.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("run: %v", err)
		}
	})
	return reader, token
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path+".next", []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".next", path); err != nil {
		t.Fatal(err)
	}
}

// told asks each time the follower announces a change, and at no other time, until the
// answer is as wanted.
func told(t *testing.T, f *placement.Follower, within time.Duration, what string, wanted func(*inventory.Placement, error) bool) {
	t.Helper()
	timer := time.NewTimer(within)
	defer timer.Stop()
	for {
		select {
		case <-f.Changed():
			if wanted(f.Placement()) {
				return
			}
		case <-timer.C:
			is, err := f.Placement()
			t.Fatalf("waited %v in vain to be told of %s; last: %+v, %v", within, what, is, err)
		}
	}
}
