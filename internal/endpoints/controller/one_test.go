package controller_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// countStore is a store that counts what is asked of it.
type countStore struct {
	mu    sync.Mutex
	state publish.State
	err   error
	loads int
}

func (c *countStore) Load(context.Context) (publish.State, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.loads++
	return c.state, c.err
}

func (c *countStore) Write(context.Context, publish.Write) (string, error) {
	return "", errors.New("not here")
}

func (c *countStore) taken() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.loads
	c.loads = 0
	return n
}

// TestAHubOfOneReadsItsStoreOnce: a start costs one read of a store for which each is a
// program, and nothing that changes before somebody follows is missed.
func TestAHubOfOneReadsItsStoreOnce(t *testing.T) {
	for name, announces := range map[string]bool{"by an interval": false, "by news": true} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				var news chan struct{}
				if announces {
					news = make(chan struct{}, 1)
				}
				store := &countStore{err: errors.New("away")}
				of := publish.Target{Namespace: "shop", Service: "web", SliceName: "web-remote", Pool: "blue"}
				hub := controller.NewOne(store, of, news, 30*time.Second)
				go func() { _ = hub.Run(t.Context()) }()
				during(10 * time.Second)
				if local := hub.Local(); local.Sights[0].Complete || local.Sights[0].Err == nil || store.taken() < 5 {
					t.Fatalf("got %+v, want why nothing is known yet, and that it is tried", local)
				}
				store.mu.Lock()
				store.err, store.state = nil, publish.State{Service: publish.Service{UID: "1"}, Slices: []publish.Slice{{Name: "web-remote"}}}
				store.mu.Unlock()
				during(1500 * time.Millisecond)
				if local := hub.Local(); !local.Sights[0].Complete || len(local.Services) != 1 || len(local.Published) != 1 || local.Published[0].Pool != "blue" || store.taken() != 1 {
					t.Fatalf("got %+v, want the Service and its slice, by one read", local)
				}
				opened, err := hub.Open(of)
				if err != nil {
					t.Fatal(err)
				}
				if state, err := opened.Load(t.Context()); err != nil || state.Service.UID != "1" || store.taken() != 0 {
					t.Errorf("got %+v, %v, want what was read already", state, err)
				}
				if news != nil {
					news <- struct{}{}
				}
				during(31 * time.Second)
				told := 0
				opened.Follow(func() { told++ })
				if told != 1 {
					t.Errorf("told %d times of what changed before, want once", told)
				}
				if _, err := opened.Load(t.Context()); err != nil {
					t.Fatal(err)
				}
				if n := store.taken(); n != 1 {
					t.Errorf("read %d times, want once", n)
				}
				if _, err := hub.Open(publish.Target{Namespace: "shop", Service: "api", SliceName: "api-remote"}); err == nil {
					t.Error("another Service was opened")
				}
			})
		})
	}
}

// obedient is a store that carries every write out.
type obedient struct{ countStore }

func (*obedient) Write(context.Context, publish.Write) (string, error) { return "2", nil }

// What was written counts at once, or what leaves would end before it was emptied.
func TestAHubOfOneKnowsWhatItWroteBeforeItReadsAgain(t *testing.T) {
	of := publish.Target{Namespace: "shop", Service: "web", SliceName: "web.blue"}
	hub := controller.NewOne(&obedient{}, of, nil, time.Hour)
	opened, err := hub.Open(of)
	if err == nil {
		_, err = opened.Load(t.Context())
	}
	if err == nil {
		_, err = opened.Write(t.Context(), publish.Write{Operation: publish.Create, Slice: publish.Slice{Name: "web.blue"}})
	}
	if local := hub.Local(); err != nil || len(local.Published) != 1 || local.Published[0].Slice != "web.blue" {
		t.Errorf("got %+v and %v, want the slice that was written", local, err)
	}
}
