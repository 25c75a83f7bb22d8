package cluster_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/metrics"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store/cluster"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store/storetest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store/storetest/apiserver"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
)

// leastRights are those that the package comment names.
func leastRights() []rbacv1.PolicyRule {
	return []rbacv1.PolicyRule{
		apiserver.Rights("discovery.k8s.io", "endpointslices", "list", "watch", "create", "update"),
		apiserver.Rights("", "services", "list", "watch"),
	}
}

func TestTheClientGoStoreOnARealAPIServer(t *testing.T) {
	server := controlplane.Start(t, controlplane.Options{Audit: true})
	t.Run("contract 27: it conforms with the least rights", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) *storetest.Fixture { return newFixture(t, server) })
	})
	t.Run("contract 56: the view of one of several targets conforms too", func(t *testing.T) {
		storetest.Run(t, func(t *testing.T) *storetest.Fixture { return newHubFixture(t, server) })
	})
	for name, test := range map[string]func(*testing.T, *controlplane.ControlPlane){
		"contract 21: what was written is seen while the watch stalls":            ownWritesWhileTheWatchStalls,
		"contract 21: after a conflict the state is fresh while the watch stalls": conflictWhileTheWatchStalls,
		"contract 21: a write whose answer is lost is found by the next load":     lostAnswer,
		"contract 22: steady state costs no request but the watches":              steadyState,
		"contract 23: a foreign edit is told without being asked for":             foreignEditIsTold,
		"contract 23: a slice that lost its label is told as drift, not as gone":  lostLabelIsTold,
		"contract 23: the end of a slice that no watch sees is told":              straysEndIsTold,
		"contract 25: a Service that appears later is told":                       laterServiceIsTold,
		"contract 21: a write without an answer is not sent into the same hole":   strandedConnections,
		"a missing right is named":                                                missingRight,
		"contract 33: nothing of it is left running":                              nothingIsLeft,
		"contract 171: what is stored otherwise is no success":                    storedOtherwise,
		"contract 170: what others wrote into a slice survives, however much":     muchOfOthers,
	} {
		t.Run(name, func(t *testing.T) { test(t, server) })
	}
	t.Run("an API server that comes back is followed again", func(t *testing.T) { outage(t, server) })
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func newFixture(t *testing.T, server *controlplane.ControlPlane) *storetest.Fixture {
	t.Helper()
	namespace := apiserver.New(t, server, leastRights()...)
	target := storetest.Target(namespace.Name)
	start := func() storetest.Store { return start(t, server, namespace.Name, target) }
	return &storetest.Fixture{
		Target: target, Store: start(), Hand: namespace, Restart: start, Requests: namespace.Requests,
	}
}

// start runs a store as that user until the test ends.
func start(t *testing.T, server *controlplane.ControlPlane, user string, target publish.Target) *single {
	t.Helper()
	store := newStore(t, server.UserConfig(user), target)
	run(t, store)
	return store
}

func newStore(t *testing.T, config *rest.Config, target publish.Target) *single {
	t.Helper()
	counting, err := metrics.New(metrics.Options{})
	if err != nil {
		t.Fatal(err)
	}
	config = rest.CopyConfig(config)
	config.Wrap(counting.Transport(metrics.ClientStore)) // as in the daemon
	store, err := newSingle(cluster.Options{Way: kube.Fixed(config), Only: &target, Recheck: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return store
}

// single is a store of a hub that has no other.
type single struct {
	*cluster.Store
	*hub
}

type hub = cluster.Hub

func newSingle(options cluster.Options) (*single, error) {
	hub, err := cluster.New(options)
	if err != nil {
		return nil, err
	}
	store, err := hub.Target(*options.Only)
	if err != nil {
		return nil, err
	}
	return &single{store, hub}, nil
}

// Changed is the store's, not the hub's.
func (s *single) Changed() <-chan struct{} { return s.Store.Changed() }

// run runs the store until stop is called or the test ends.
func run(t testing.TB, store interface{ Run(context.Context) error }) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error)
	go func() { done <- store.Run(ctx) }()
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
