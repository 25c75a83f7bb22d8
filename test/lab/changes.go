//go:build lab

package lab

import (
	"fmt"
	"net/netip"
	"sync"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Changes are when endpoints came into their states in the slices, as a watch of all
// slices tells it.
type Changes struct {
	mu   sync.Mutex
	last map[publishedEndpoint]change
}

// publishedEndpoint is an endpoint of a Service.
type publishedEndpoint struct {
	namespace string
	address   netip.Addr
}

// change is what an endpoint became, and when.
type change struct {
	state string
	at    time.Time
}

// Watch follows the slices until the test ends.
func (w *World) Watch(t testing.TB) *Changes {
	t.Helper()
	c := &Changes{last: map[publishedEndpoint]change{}}
	ended := make(chan struct{})
	ctx := t.Context()
	go func() {
		defer close(ended)
		// A watch ends from time to time, and a new one begins with what is there.
		for ctx.Err() == nil {
			watch, err := w.local.DiscoveryV1().EndpointSlices(metav1.NamespaceAll).Watch(ctx, metav1.ListOptions{})
			if err != nil {
				<-time.After(100 * time.Millisecond)
				continue
			}
			for event := range watch.ResultChan() {
				if slice, ok := event.Object.(*discoveryv1.EndpointSlice); ok {
					c.note(slice, time.Now())
				}
			}
		}
	}()
	t.Cleanup(func() { <-ended })
	return c
}

func (c *Changes) note(slice *discoveryv1.EndpointSlice, at time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range slice.Endpoints {
		key := publishedEndpoint{slice.Namespace, netip.MustParseAddr(e.Addresses[0])}
		if now := state(e.Conditions); c.last[key].state != now {
			c.last[key] = change{now, at}
		}
	}
}

// AwaitState waits until a worker is published in that state by a Service, and returns
// when that began.
func (c *Changes) AwaitState(x *Target, w *Worker, want string) time.Time {
	x.t.Helper()
	var got change
	until(x.t, func() string { return fmt.Sprintf("%s: %s is %q, want %q", x.Name, w.Name, got.state, want) }, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		got = c.last[publishedEndpoint{x.namespace, w.Address}]
		return got.state == want
	})
	return got.at
}
