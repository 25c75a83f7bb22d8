package cluster_test

import (
	"context"
	"errors"
	"net/netip"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/apiproxy"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
)

// strandedConnections does what a firewall does that forgets connections, or a load
// balancer with a replaced server: open connections get no answer, and new
// connections are served. client-go notices that after almost a minute.
func strandedConnections(t *testing.T, server *controlplane.ControlPlane) {
	s := newScene(t, server)
	s.publish("10.0.0.1")
	s.stop()
	proxy := apiproxy.Start(t, netip.MustParseAddr("127.0.0.1"), server.Config())
	config, err := clientcmd.BuildConfigFromFlags("", proxy.Kubeconfig(t, server.UserConfig(s.Name)))
	if err != nil {
		t.Fatal(err)
	}
	s.store = newStore(t, config, s.target)
	run(t, s.store)
	s.publish("10.0.0.2") // opens the connection that is stranded
	write := s.plan("10.0.0.1", "10.0.0.2")
	proxy.Strand()
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	if _, err := s.store.Write(ctx, write); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("got %v, want no answer", err)
	}
	// Each step may take as long as waitLimit, which is less than client-go would
	// need.
	s.publish("10.0.0.1", "10.0.0.2")
	s.fresh()
}
