package cluster_test

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store/cluster"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store/storetest/apiserver"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
)

// BenchmarkLoad measures one load of one of 1,000 targets in a namespace, each of which
// has a slice of 100 endpoints.
func BenchmarkLoad(b *testing.B) {
	w := newWorld()
	hub := w.hub(b, []string{"shop"})
	var store *cluster.Store
	for i := range 1000 {
		service := fmt.Sprintf("web-%d", i)
		w.put("ADDED", serviceOf("shop", service))
		w.put("ADDED", sliceOf("shop", service+".blue", service, manager, 100))
		store = viewOf(b, hub, "shop", service, service+".blue")
	}
	run(b, hub)
	load := func() {
		if _, err := store.Load(b.Context()); err != nil {
			b.Fatal(err)
		}
	}
	load() // waits for the lists
	for b.Loop() {
		load()
	}
}

// BenchmarkThousandTargets measures with a real API server, 1,000 targets of 100
// endpoints and eight writers: how long a hub takes from its start to the last answer
// of Load, and how long 1,000 writes take beside 1,000 bare updates.
func BenchmarkThousandTargets(b *testing.B) {
	const many, writers = 1000, 8
	server := controlplane.Start(b, controlplane.Options{})
	namespace := apiserver.NewFor(b, server, "admin")
	way := kube.Fixed(server.Config())
	bare, err := kube.New(kube.Options{Way: way})
	if err != nil {
		b.Fatal(err)
	}
	defer bare.Close()
	slices := kube.EndpointSlices(namespace.Name)
	objects := make([]*discoveryv1.EndpointSlice, many)
	each := func(do func(i int) error) {
		var writing sync.WaitGroup
		for first := range writers {
			writing.Go(func() {
				for i := first; i < many; i += writers {
					if err := do(i); err != nil {
						b.Error(err)
					}
				}
			})
		}
		writing.Wait()
	}
	each(func(i int) error {
		service := serviceOf(namespace.Name, fmt.Sprintf("web-%d", i))
		if err := bare.Create(b.Context(), kube.Services(namespace.Name), service, service); err != nil {
			return err
		}
		objects[i] = sliceOf(namespace.Name, service.Name+".blue", service.Name, manager, 100)
		return bare.Create(b.Context(), slices, objects[i], objects[i])
	})
	for b.Loop() {
		began := time.Now()
		each(func(i int) error {
			objects[i].Endpoints[0].Conditions.Ready = new(!*objects[i].Endpoints[0].Conditions.Ready)
			return bare.Update(b.Context(), slices, objects[i].Name, objects[i], objects[i])
		})
		b.ReportMetric(time.Since(began).Seconds(), "s/bare")

		hub, err := cluster.New(cluster.Options{Way: way, ManagedBy: manager})
		if err != nil {
			b.Fatal(err)
		}
		hub.Watch(namespace.Name)
		began = time.Now()
		stop := run(b, hub)
		stores, states := make([]*cluster.Store, many), make([]publish.State, many)
		for i := range many {
			service := fmt.Sprintf("web-%d", i)
			stores[i] = viewOf(b, hub, namespace.Name, service, service+".blue")
			if states[i], err = stores[i].Load(b.Context()); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(time.Since(began).Seconds(), "s/start")

		began = time.Now()
		each(func(i int) error { return publishAll(b.Context(), stores[i], states[i]) })
		b.ReportMetric(time.Since(began).Seconds(), "s/writes")
		each(func(i int) error { return bare.Get(b.Context(), slices, objects[i].Name, objects[i]) })
		stop()
	}
}

// publishAll writes the one slice of a state with its first endpoint in another state.
func publishAll(ctx context.Context, store *cluster.Store, state publish.State) error {
	want := state.Slices[0]
	want.Owner = state.Service.UID
	want.Endpoints = append([]inventory.Member(nil), want.Endpoints...)
	want.Endpoints[0] = inventory.Member{Address: netip.MustParseAddr("10.0.0.1"), State: inventory.StateDown}
	_, err := store.Write(ctx, publish.Write{Operation: publish.Update, Slice: want, Trigger: time.Now()})
	return err
}
