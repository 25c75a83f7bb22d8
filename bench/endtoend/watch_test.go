package endtoend_test

import (
	"sync"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/bench/program"
)

// waitLimit bounds every wait. On an idle machine each takes seconds.
const waitLimit = 2 * time.Minute

// event is a change of a slice, as a watch reported it.
type event struct {
	slice string
	at    time.Time
}

// sliceWatch collects the events of all slices. It asks for their metadata alone: the
// size of a slice must not change how soon an event is seen.
type sliceWatch struct {
	mu     sync.Mutex
	events []event
	news   chan struct{}
}

func watch(t *testing.T, config *rest.Config) *sliceWatch {
	t.Helper()
	client, err := metadata.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	w := &sliceWatch{news: make(chan struct{}, 1)}
	resource := client.Resource(discoveryv1.SchemeGroupVersion.WithResource("endpointslices")).Namespace(namespace)
	limit := int64(24 * 60 * 60)
	stream, err := resource.Watch(t.Context(), metav1.ListOptions{TimeoutSeconds: &limit, LabelSelector: discoveryv1.LabelServiceName + "=" + service})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stream.Stop)
	go func() {
		for e := range stream.ResultChan() {
			at := time.Now()
			object, ok := e.Object.(*metav1.PartialObjectMetadata)
			if !ok || e.Type == "DELETED" {
				continue
			}
			w.mu.Lock()
			w.events = append(w.events, event{object.Name, at})
			w.mu.Unlock()
			select {
			case w.news <- struct{}{}:
			default:
			}
		}
	}()
	return w
}

// count is how many events there were so far.
func (w *sliceWatch) count() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.events)
}

// next waits for the first event after so many, and reports whether it came.
func (w *sliceWatch) next(after int) (event, bool) {
	timeout := time.After(waitLimit)
	for {
		w.mu.Lock()
		if len(w.events) > after {
			e := w.events[after]
			w.mu.Unlock()
			return e, true
		}
		w.mu.Unlock()
		select {
		case <-w.news:
		case <-timeout:
			return event{}, false
		}
	}
}

// last is when the latest event was seen.
func (w *sliceWatch) last() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.events) == 0 {
		return time.Time{}
	}
	return w.events[len(w.events)-1].at
}

// readyAddresses are those that the slices publish as ready.
func (w *world) readyAddresses() map[string]bool {
	w.t.Helper()
	list, err := w.slices.DiscoveryV1().EndpointSlices(namespace).List(w.t.Context(), metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + service})
	if err != nil {
		w.t.Fatal(err)
	}
	ready := map[string]bool{}
	for _, s := range list.Items {
		for _, e := range s.Endpoints {
			if *e.Conditions.Ready {
				ready[e.Addresses[0]] = true
			}
		}
	}
	return ready
}

// awaitReady returns when so many addresses are ready.
func (w *world) awaitReady(p *program.Program, n int) {
	w.t.Helper()
	for deadline := time.Now().Add(waitLimit); len(w.readyAddresses()) != n; time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.Fail("got %d ready addresses after %v, want %d", len(w.readyAddresses()), waitLimit, n)
		}
	}
}

// clear deletes the slices.
func (w *world) clear() {
	w.t.Helper()
	if err := w.slices.DiscoveryV1().EndpointSlices(namespace).DeleteCollection(w.t.Context(), metav1.DeleteOptions{},
		metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + service}); err != nil {
		w.t.Fatal(err)
	}
}
