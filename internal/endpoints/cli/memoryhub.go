package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"sync"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

// memoryHub is a hub of stores in memory. It makes up the Services that bindings name, and
// has a store for each pool of theirs until it ends.
type memoryHub struct {
	documents      controller.Documents
	managedBy      string
	out            io.Writer
	added, changed chan struct{}

	mu     sync.Mutex
	stores []*memoryStore

	printing sync.Mutex
}

// memoryStore has what one pool gives a Service.
type memoryStore struct {
	*controller.One
	of      publish.Target
	service publish.Service
	slices  *store.Memory
}

func newMemoryHub(set controller.Documents, managedBy string, out io.Writer) *memoryHub {
	return &memoryHub{documents: set, managedBy: managedBy, out: out, added: make(chan struct{}, 1), changed: make(chan struct{}, 1)}
}

// Write implements io.Writer: one slice is printed after the other.
func (h *memoryHub) Write(text []byte) (int, error) {
	h.printing.Lock()
	defer h.printing.Unlock()
	return h.out.Write(text)
}

// Watch implements controller.Hub.
func (h *memoryHub) Watch(string) {}

// Find implements controller.Hub: no slice is from before.
func (h *memoryHub) Find(context.Context) ([]string, error) { return nil, nil }

// Changed implements controller.Hub.
func (h *memoryHub) Changed() <-chan struct{} { return h.changed }

// Local implements controller.Hub.
func (h *memoryHub) Local() assign.Local {
	h.mu.Lock()
	defer h.mu.Unlock()
	var local assign.Local
	for _, b := range h.documents.Set().Bindings() {
		service := madeUp(b)
		h.prepare(service, b)
		local.Services = append(local.Services, service)
	}
	for _, s := range h.stores {
		one := s.Local()
		local.Sights, local.Published = append(local.Sights, one.Sights...), append(local.Published, one.Published...)
		for _, service := range one.Services { // also where its binding is gone
			if !slices.ContainsFunc(local.Services, func(known assign.Service) bool { return known.Key == service.Key }) {
				local.Services = append(local.Services, service)
			}
		}
	}
	slices.SortFunc(local.Services, func(a, b assign.Service) int { return a.Compare(b.Key) })
	slices.SortFunc(local.Published, func(a, b assign.Published) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Slice, b.Slice))
	})
	return local
}

// madeUp is the Service of a binding.
func madeUp(b *v1alpha1.EndpointBinding) assign.Service {
	t := publish.Target{}
	for _, p := range b.Spec.Ports {
		t.Ports = append(t.Ports, publish.Port{Name: p.Name, Protocol: publish.Protocol(p.Protocol), Number: uint16(p.Port)})
	}
	s := assign.Service{Key: assign.Key{Namespace: b.Namespace, Service: b.Name}, Service: imagined(t)}
	if len(t.Ports) == 0 {
		s.Portless = fmt.Sprintf("STORE_KIND=memory knows no Service to take ports from, and EndpointBinding %s has no spec.ports: no slice is made; set spec.ports", s.Key)
	}
	return s
}

// prepare makes the stores of a Service that are not there yet.
func (h *memoryHub) prepare(service assign.Service, b *v1alpha1.EndpointBinding) {
	for _, pool := range b.Spec.PoolNames() {
		use := assign.Use{Group: assign.Group{Pool: pool}, Adopt: b.Spec.Adopt}
		of := publish.Target{Namespace: b.Namespace, Service: b.Name, SliceName: use.SliceName(service.Key), Pool: pool, ManagedBy: h.managedBy}
		known := h.store(of)
		if known == nil {
			made, _ := store.NewMemory(store.MemoryOptions{Target: of, Service: service.Service, Out: h}) // the target is complete
			h.stores = append(h.stores, &memoryStore{controller.NewOne(made, of, made.Changed(), 0), of, service.Service, made})
			kube.Signal(h.added)
		} else if !known.service.Same(service.Service) {
			known.service = service.Service
			known.slices.SetService(known.service)
		}
	}
}

// store returns that of the slices of a target, nil where there is none.
func (h *memoryHub) store(of publish.Target) *memoryStore {
	for _, s := range h.stores {
		if s.of.Namespace == of.Namespace && s.of.SliceName == of.SliceName {
			return s
		}
	}
	return nil
}

// Open implements controller.Hub.
func (h *memoryHub) Open(of publish.Target) (controller.Store, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if s := h.store(of); s != nil {
		return s.Open(of)
	}
	return nil, fmt.Errorf("STORE_KIND=memory has no slices %s/%s: no binding names their pool", of.Namespace, of.SliceName)
}

// Run implements controller.Hub.
func (h *memoryHub) Run(ctx context.Context) error {
	var running sync.WaitGroup
	defer running.Wait()
	for started := 0; ; {
		h.mu.Lock()
		added := h.stores[started:]
		started = len(h.stores)
		h.mu.Unlock()
		for _, s := range added {
			running.Go(func() { _ = s.Run(ctx) }) // it only ends with its context
			running.Go(func() { pass(ctx, s.Changed(), h.changed) })
		}
		select {
		case <-ctx.Done():
			return nil
		case <-h.added:
		}
	}
}
