package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/metrics"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store/cluster"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer"
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
		s, err := store.NewMemory(store.MemoryOptions{Target: t, Service: imagined(t.Ports), Out: p.Stdout})
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
		options.Only, options.ManagedBy = nil, c.Target.ManagedBy
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
	return oneHub{controller.NewOne(s, t, s.Changed(), every), hub}, hub.Expiry, nil
}

// newKubectl makes the store of a target by kubectl.
func newKubectl(c settings.Config, t publish.Target) (*store.Kubectl, error) {
	return store.NewKubectl(store.KubectlOptions{Target: t, Path: c.Store.KubectlPath, Environ: c.Store.Environment.Read})
}

// oneHub is a hub of a store that watches.
type oneHub struct {
	*controller.One
	watch *cluster.Hub
}

// Run implements controller.Hub.
func (o oneHub) Run(ctx context.Context) error {
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

// few is a hub of stores that watch nothing, memory and kubectl. It knows the Services that
// bindings name, and has a store for each pool of theirs until it ends. With kubectl that is
// one Service, for each look at the slices is a program: the first that a binding named.
type few struct {
	documents      controller.Documents
	config         settings.Config
	out            io.Writer
	added, changed chan struct{}

	mu     sync.Mutex
	stores []*fewStore

	printing sync.Mutex
}

// fewStore has what one pool gives a Service.
type fewStore struct {
	*controller.One
	of publish.Target
	// memory is nil with kubectl, else it has this Service.
	memory  *store.Memory
	service publish.Service
}

// Write implements io.Writer: one slice is printed after the other.
func (f *few) Write(text []byte) (int, error) {
	f.printing.Lock()
	defer f.printing.Unlock()
	return f.out.Write(text)
}

// Watch implements controller.Hub.
func (f *few) Watch(string) {}

// Find implements controller.Hub. Slices that no binding names are not looked for.
func (f *few) Find(context.Context) ([]string, error) { return nil, nil }

// Changed implements controller.Hub.
func (f *few) Changed() <-chan struct{} { return f.changed }

// Local implements controller.Hub. A Service that cannot be read, or is one too many, is made up,
// so that it is opened, and told why that fails.
func (f *few) Local() assign.Local {
	f.mu.Lock()
	defer f.mu.Unlock()
	set, services := f.documents.Set(), make(map[assign.Key]assign.Service)
	for _, b := range set.Bindings() {
		s := f.imagine(b)
		if f.refuse(s.Key) == nil {
			f.prepare(s, b, set.Pools())
		}
		services[s.Key] = s
	}
	var local assign.Local
	for _, s := range f.stores {
		key, one := keyOf(s.of), s.Local()
		local.Sights, local.Published = append(local.Sights, one.Sights...), append(local.Published, one.Published...)
		if one.Sights[0].Complete || services[key].Portless != "" {
			delete(services, key)
		}
		for _, service := range one.Services {
			services[key] = service
		}
	}
	local.Services = slices.SortedFunc(maps.Values(services), func(a, b assign.Service) int { return a.Compare(b.Key) })
	slices.SortFunc(local.Published, func(a, b assign.PublishedSlice) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Slice, b.Slice))
	})
	return local
}

func keyOf(t publish.Target) assign.Key {
	return assign.Key{Namespace: t.Namespace, Service: t.Service}
}

// imagine makes up the Service of a binding.
func (f *few) imagine(b *v1alpha1.EndpointBinding) assign.Service {
	key := assign.Key{Namespace: b.Namespace, Service: b.Name}
	s := assign.Service{Key: key, Service: imagined(ports(b))}
	if err := f.refuse(key); len(b.Spec.Ports) == 0 && err != nil {
		s.Portless = err.Error()
	} else if len(b.Spec.Ports) == 0 {
		s.Portless = fmt.Sprintf("STORE_KIND=memory knows no Service to take ports from, and EndpointBinding %s has no spec.ports: no slice is made; set spec.ports", key)
	}
	return s
}

// refuse says why there is no store for a Service, nil where there may be one.
func (f *few) refuse(key assign.Key) error {
	if f.config.Store.Kind == settings.StoreMemory || len(f.stores) == 0 || keyOf(f.stores[0].of) == key {
		return nil
	}
	return fmt.Errorf("STORE_KIND=kubectl fills one Service, and this process fills %s; set STORE_KIND=client-go for any number of them, or remove the other binding and start this program again", keyOf(f.stores[0].of))
}

// prepare makes the stores of a Service that are not there yet.
func (f *few) prepare(service assign.Service, b *v1alpha1.EndpointBinding, pools []*v1alpha1.EndpointPool) {
	for _, name := range b.Spec.PoolNames() {
		use, every := assign.Use{Group: assign.Group{Pool: name}, Adopt: b.Spec.Adopt}, v1alpha1.DefaultPollInterval
		of := publish.Target{Namespace: b.Namespace, Service: b.Name, SliceName: use.SliceName(service.Key), Pool: name, ManagedBy: f.config.Target.ManagedBy}
		if known := f.find(of); known != nil {
			if known.memory != nil && !known.service.Same(service.Service) {
				known.service = service.Service
				known.memory.SetService(known.service)
			}
			continue
		}
		for _, pool := range pools {
			if pool.Name == name {
				every = pool.Spec.PollInterval.Duration
			}
		}
		made := &fewStore{of: of, service: service.Service}
		if f.config.Store.Kind == settings.StoreMemory {
			made.memory, _ = store.NewMemory(store.MemoryOptions{Target: of, Service: service.Service, Out: f}) // the target is complete
			made.One = controller.NewOne(made.memory, of, made.memory.Changed(), every)
		} else {
			s, _ := newKubectl(f.config, of)
			made.One = controller.NewOne(loneStore{s, f, of}, of, nil, every)
		}
		f.stores = append(f.stores, made)
		kube.Signal(f.added)
	}
}

// find returns that of the slices of a target, nil where there is none.
func (f *few) find(of publish.Target) *fewStore {
	i := slices.IndexFunc(f.stores, func(s *fewStore) bool { return s.of.Namespace == of.Namespace && s.of.SliceName == of.SliceName })
	if i < 0 {
		return nil
	}
	return f.stores[i]
}

// Open implements controller.Hub.
func (f *few) Open(of publish.Target) (controller.Store, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.refuse(keyOf(of)); err != nil {
		return nil, err
	}
	s := f.find(of)
	if s == nil {
		return nil, fmt.Errorf("STORE_KIND=%s has no slices %s/%s: no binding names their pool", f.config.Store.Kind, of.Namespace, of.SliceName)
	}
	return s.Open(of)
}

// Run implements controller.Hub.
func (f *few) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	for started := 0; ; {
		f.mu.Lock()
		added := f.stores[started:]
		started = len(f.stores)
		f.mu.Unlock()
		for _, s := range added {
			running.Go(func() { _ = s.Run(ctx) }) // it only ends with its context
			running.Go(func() { pass(ctx, s.Changed(), f.changed) })
		}
		select {
		case <-ctx.Done():
			return nil
		case <-f.added:
		}
	}
}

// loneStore is a store of kubectl, for which the slices of other pools of its Service are not
// beside its own.
type loneStore struct {
	writer.Store
	hub *few
	of  publish.Target
}

// Load implements writer.Store.
func (a loneStore) Load(ctx context.Context) (publish.State, error) {
	state, err := a.Store.Load(ctx)
	a.hub.mu.Lock()
	defer a.hub.mu.Unlock()
	state.Beside = slices.DeleteFunc(state.Beside, func(b publish.ForeignSlice) bool {
		return slices.ContainsFunc(a.hub.stores, func(s *fewStore) bool { _, _, its := s.of.ParseName(b.Name); return its })
	})
	return state, err
}
