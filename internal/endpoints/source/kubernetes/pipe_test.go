package kubernetes_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/kubernetes"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/pipes"
)

// grace is the daemon's.
const grace = 5 * time.Second

// simulated runs a test in simulated time, with a source that has read from an API
// server behind pipes. Grace and recheck are those of the daemon.
func simulated(t *testing.T, answer http.HandlerFunc, test func(t *testing.T, a *api, network *pipes.Network, source *kubernetes.Source)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		network := pipes.New()
		a := newAPIAt(t, network, answer)
		source := newSource(t, kubernetes.Options{Way: pipes.Way{Access: remote(a.kubeconfig(t)), Network: network}, Grace: grace, Recheck: 5 * time.Second})
		run(t, source)
		read(t, source)
		test(t, a, network, source)
	})
}
