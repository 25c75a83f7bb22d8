package cli

import (
	"context"
	"fmt"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/metrics"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store/cluster"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// newHub makes the hub that STORE_KIND names, and what tells when its credential expires, nil
// where it has none.
func (p Program) newHub(c settings.Config, set controller.Documents, m *metrics.Metrics) (controller.Hub, func() kube.Expiry, error) {
	t, every := target(c), c.Source.PollInterval
	if c.Documents.Used() && c.Store.Kind != settings.StoreClientGo {
		return &few{documents: set, config: c, out: p.Stdout, added: make(chan struct{}, 1), changed: make(chan struct{}, 1)}, nil, nil
	}
	switch c.Store.Kind {
	case settings.StoreMemory:
		s, err := store.NewMemory(store.MemoryOptions{Target: t, Service: imagined(t), Out: p.Stdout})
		if err != nil {
			return nil, nil, err
		}
		return controller.NewOne(s, t, s.Changed(), every), nil, nil
	case settings.StoreKubectl:
		s, err := newKubectl(c, t)
		return controller.NewOne(s, t, nil, every), nil, err
	case settings.StoreClientGo:
	}
	options := cluster.Options{Way: localWay(c.Store, m, metrics.ClientStore), Only: &t}
	if c.Documents.Used() {
		options.Only, options.ManagedBy, options.Named = nil, c.Target.ManagedBy, true
	}
	hub, err := cluster.New(options)
	if err != nil {
		return nil, nil, fmt.Errorf("STORE_KIND=client-go: %w", err)
	}
	if c.Documents.Used() {
		return clusterHub{hub}, hub.Expiry, nil
	}
	s, err := hub.Target(t)
	if err != nil {
		return nil, nil, fmt.Errorf("STORE_KIND=client-go: %w", err)
	}
	return only{controller.NewOne(s, t, s.Changed(), every), hub}, hub.Expiry, nil
}

// newKubectl makes the store of a target by kubectl.
func newKubectl(c settings.Config, t publish.Target) (*store.Kubectl, error) {
	return store.NewKubectl(store.KubectlOptions{Target: t, Path: c.Store.KubectlPath, Environ: c.Store.Environment.Read})
}

// only is a hub of a store that watches.
type only struct {
	*controller.One
	watch *cluster.Hub
}

// Run implements controller.Hub.
func (o only) Run(ctx context.Context) error {
	return beside(ctx, o.One.Run, func(ctx context.Context) { _ = o.watch.Run(ctx) }) // it only ends with its context
}

// clusterHub is a hub of a real API server.
type clusterHub struct{ *cluster.Hub }

// Open implements controller.Hub.
func (c clusterHub) Open(of publish.Target) (controller.Store, error) {
	store, err := c.Target(of)
	if err != nil {
		return nil, err // a nil *cluster.Store would not be a nil Store
	}
	return store, nil
}
