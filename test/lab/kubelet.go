//go:build lab

package lab

import (
	"context"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/tools/cache"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
)

// kubelet schedules and runs the Pods of the local cluster, those of all nodes. A Pod is a machine
// of its own, in which the containers are processes: that of Envoy, and before it and at its
// end those of the built endpoint-views, with the files, arguments and probes that the Pod
// names. There are no images: a container without a command runs endpoint-views.
type kubelet struct {
	world *World

	mu      sync.Mutex
	pods    map[types.UID]*pod
	running sync.WaitGroup
}

// runKubelet runs Pods until the test ends.
func (w *World) runKubelet() {
	w.t.Helper()
	built.Views(w.t)
	built.Tool(w.t, "envoy")
	k := &kubelet{world: w, pods: map[types.UID]*pod{}}
	w.kubelet = k
	ctx, stop := context.WithCancel(w.t.Context())
	factory := informers.NewSharedInformerFactory(w.local, 0)
	informer := factory.Core().V1().Pods().Informer()
	_, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(object any) { k.see(ctx, object) },
		UpdateFunc: func(_, object any) { k.see(ctx, object) },
		DeleteFunc: k.forget,
	})
	if err != nil {
		w.t.Fatal(err)
	}
	factory.Start(ctx.Done())
	w.t.Cleanup(func() {
		stop()
		factory.Shutdown()
		k.running.Wait()
	})
}

// see starts a new Pod, and ends one that is deleted.
func (k *kubelet) see(ctx context.Context, object any) {
	seen, ok := object.(*corev1.Pod)
	if !ok || ctx.Err() != nil {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	p := k.pods[seen.UID]
	if p == nil {
		p = newPod(k.world, seen)
		k.pods[seen.UID] = p
		k.running.Go(func() { p.run(ctx) })
	}
	if seen.DeletionTimestamp != nil {
		p.end(time.Duration(*seen.DeletionGracePeriodSeconds) * time.Second)
	}
}

// forget ends a Pod whose object is gone.
func (k *kubelet) forget(object any) {
	if last, ok := object.(cache.DeletedFinalStateUnknown); ok {
		object = last.Obj
	}
	gone, ok := object.(*corev1.Pod)
	if !ok {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if p := k.pods[gone.UID]; p != nil {
		p.end(0)
	}
}

// pod is the Pod of that name, which runs.
func (k *kubelet) pod(namespace, name string) *pod {
	k.world.t.Helper()
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, p := range k.pods {
		if p.object.Namespace == namespace && p.object.Name == name {
			return p
		}
	}
	k.world.t.Fatalf("there is no Pod %s/%s", namespace, name)
	return nil
}

// await tries something until it works, ctx ends, or the Pod is to end; false where it did
// not work.
func await(ctx context.Context, ending <-chan struct{}, try func() error) bool {
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for try() != nil {
		select {
		case <-ctx.Done():
			return false
		case <-ending:
			return false
		case <-ticker.C:
		}
	}
	return true
}
