package targets_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
)

// sliceWatch is how many endpoints are ready in the slices of each group, as a watch says.
type sliceWatch struct {
	mu sync.Mutex
	// ready is that of each slice, sums of each group, and times when the sums changed
	// since the last mark.
	ready map[string]int
	sums  map[string]int
	times map[string][]time.Time
	news  chan struct{}
}

func watch(t *testing.T, client kubernetes.Interface) *sliceWatch {
	t.Helper()
	w := &sliceWatch{ready: map[string]int{}, sums: map[string]int{}, times: map[string][]time.Time{}, news: make(chan struct{}, 1)}
	limit := int64(24 * 60 * 60)
	stream, err := client.DiscoveryV1().EndpointSlices("").Watch(t.Context(), metav1.ListOptions{TimeoutSeconds: &limit})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stream.Stop)
	go func() {
		for e := range stream.ResultChan() {
			at := time.Now()
			if slice, ok := e.Object.(*discoveryv1.EndpointSlice); ok && e.Type != "DELETED" {
				w.take(slice, at)
			}
		}
	}()
	return w
}

func (w *sliceWatch) take(slice *discoveryv1.EndpointSlice, at time.Time) {
	ready := 0
	for _, e := range slice.Endpoints {
		if e.Conditions.Ready != nil && *e.Conditions.Ready {
			ready++
		}
	}
	group := slice.Namespace[:max(strings.LastIndex(slice.Namespace, "-"), 0)]
	key := slice.Namespace + "/" + slice.Name
	w.mu.Lock()
	defer w.mu.Unlock()
	if ready == w.ready[key] {
		return
	}
	w.sums[group] += ready - w.ready[key]
	w.ready[key] = ready
	w.times[group] = append(w.times[group], at)
	select {
	case w.news <- struct{}{}:
	default:
	}
}

// mark forgets when slices of the group changed.
func (w *sliceWatch) mark(g group) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.times[g.String()] = nil
}

// await waits until so many endpoints of the group are ready, and returns when its
// slices changed since the mark.
func (w *sliceWatch) await(g group, ready int, fail func(format string, args ...any)) []time.Time {
	limit := time.After(longest)
	for {
		w.mu.Lock()
		got, times := w.sums[g.String()], slices.Clone(w.times[g.String()])
		w.mu.Unlock()
		if got == ready && len(times) > 0 {
			return times
		}
		select {
		case <-w.news:
		case <-limit:
			fail("%s: %d endpoints are ready after %v, want %d", g, got, longest, ready)
		}
	}
}
