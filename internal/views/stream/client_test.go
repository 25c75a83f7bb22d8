package stream_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/cache"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/pkg/views"
)

// TestContract42TheClientFollowsARealServerInOrderAndThrough410 has pkg/views at a server
// over a real connection. Each endpoint flips many times; then the API server is restored
// from a backup, so that every stream ends with 410, and one endpoint is gone meanwhile.
func TestContract42TheClientFollowsARealServerInOrderAndThrough410(t *testing.T) {
	c := newCluster(t, "shop")
	c.slice("shop", 1, 2, 3)
	client, err := views.New(views.Options{Servers: []string{strings.TrimSuffix(plain(t, c), "/api/v1/views")}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	told := make(chan views.Event, 1000)
	var watching sync.WaitGroup
	watching.Go(func() {
		_ = client.Watch(ctx, func(e views.Event) error { told <- e; return nil }) // ends with the context
	})
	defer watching.Wait()
	defer cancel()
	has := map[string]views.State{}
	follow := func(until func(views.Event) bool) {
		t.Helper()
		for {
			select {
			case e := <-told:
				if e.View != nil {
					name := e.View.Metadata.Name
					if before, there := has[name]; there != (e.Before != nil) || there && before != e.Before.Spec.State {
						t.Fatalf("%s of %s: before was %q, the client says %+v", e.Type, name, before, e.Before)
					}
					if has[name] = e.View.Spec.State; e.Type == views.Deleted {
						delete(has, name)
					}
				}
				if until(e) {
					return
				}
			case <-ctx.Done():
				t.Fatalf("waited in vain; the client has %v", has)
			}
		}
	}
	synced := func(e views.Event) bool { return e.Type == views.Synced }
	follow(synced)
	for n := range 60 {
		c.slice("shop", 1-n%2*2, 2-n%2*4, 3)
	}
	c.slice("shop", 1, 2, 3, 4)
	follow(func(views.Event) bool {
		return len(has) == 4 && has["web.http.10-0-0-1.8080"] == views.Ready && has["web.http.10-0-0-2.8080"] == views.Ready
	})

	for _, want := range []error{cache.ErrWentBack, nil} { // the second list of the past counts
		if err := c.Replace(0, cache.Services, []cache.Input{c.last[0]}, 1); !errors.Is(err, want) {
			t.Fatal(err)
		}
	}
	c.slice("shop", 1, 2)
	follow(func(e views.Event) bool { return synced(e) || e.Type == views.Deleted })
	follow(func(views.Event) bool { return len(has) == 2 })
}
