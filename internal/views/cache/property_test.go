package cache_test

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/cache"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/join"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// kept is a view that the server holds in all histories.
const kept = "kept.http.10-0-0-250.8080"

// TestContract39NoHistoryOfFaultsTakesAwayWhatTheServerHolds runs two replicas with
// independent watches, and clients that move between them. There are empty and
// partial lists, replayed events, lists of the past, Services that come after their
// slices, Services that are selected and not selected in turn, replicas that begin anew
// and are not in sync, streams that end in the middle of a change, and times in which
// nothing is heard until what is gone is forgotten. What the server holds all the time is
// never away. In the end every client has exactly what the server has.
func TestContract39NoHistoryOfFaultsTakesAwayWhatTheServerHolds(t *testing.T) {
	rapid.Check(t, func(round *rapid.T) {
		var failed any
		bubble.Test(t, func(*testing.T) {
			defer func() { failed = recover() }() // rapid waits for it outside
			history(round)
		})
		if failed != nil {
			panic(failed)
		}
	})
}

// history is one random history.
func history(t *rapid.T) {
	s := newServer()
	s.service("kept", 80, true)
	s.slice("kept-1", "kept", 250)
	scope := rapid.IntRange(0, 1).Draw(t, "scope")
	w := &world{server: s, replicas: []*replica{newScoped(s, scope), newScoped(s, scope)}, clients: []*client{newClient(false), newClient(true), newClient(false)}}
	for _, c := range w.clients {
		w.connect(t, c)
	}
	for range rapid.IntRange(0, 120).Draw(t, "steps") {
		w.step(t)
		w.check(t)
	}
	for _, r := range w.replicas {
		r.sync()
		r.catchUp()
		w.same(t, listed(r.Cache, false), s.views(false))
		w.same(t, listed(r.Cache, true), s.views(true))
	}
	for _, c := range w.clients {
		w.connect(t, c)
		for range 20 {
			w.take(t, c)
		}
		w.same(t, c.has, s.views(c.selection.Ready))
	}
}

type world struct {
	server   *server
	replicas []*replica
	clients  []*client
}

func (w *world) same(t *rapid.T, got, want map[string]string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("-want +got\n%s", diff)
	}
}

// check holds everybody to what the server holds all the time.
func (w *world) check(t *rapid.T) {
	t.Helper()
	for i, r := range w.replicas {
		if !r.Synced() {
			continue // it serves nothing
		}
		if _, there := listed(r.Cache, true)[kept]; !there {
			t.Fatalf("replica %d has lost what the server holds", i)
		}
	}
	for i, c := range w.clients {
		if _, there := c.has[kept]; !there && c.token != "" {
			t.Fatalf("client %d has lost what the server holds", i)
		}
	}
}

func (w *world) step(t *rapid.T) {
	r := rapid.SampledFrom(w.replicas).Draw(t, "replica")
	c := rapid.SampledFrom(w.clients).Draw(t, "client")
	kind := rapid.SampledFrom([]cache.Kind{cache.Services, cache.Slices}).Draw(t, "kind")
	switch rapid.IntRange(0, 30).Draw(t, "step") {
	case 0, 1, 2:
		w.change(t)
	case 3, 4, 5:
		r.deliver(kind)
	case 6:
		r.bookmark(kind)
	case 7:
		if r.heard[kind] { // what is new to a replica cannot be known to be missing
			r.relist(kind, w.fault(t, kind))
		}
	case 8:
		r.confirm()
	case 9: // an event of the past, once more
		if log := r.server.log[kind][:r.next[kind]]; len(log) > 0 {
			r.tell(kind, rapid.SampledFrom(log).Draw(t, "event"))
		}
	case 10: // a list of the past, once, then one that is right
		if !r.heard[kind] {
			return
		}
		if err := r.Replace(r.scope, kind, nil, 1); err != nil && !errors.Is(err, cache.ErrWentBack) {
			t.Fatal(err)
		}
		r.relist(kind, nil)
	case 11:
		w.connect(t, c)
	case 12:
		w.take(t, c)
	case 13:
		r.restart(kind)
	case 14:
		r.sync()
	case 15: // what is gone for ten minutes is forgotten
		time.Sleep(11 * time.Minute)
	case 16:
		r.listAgain()
	case 17: // the connection ends in the middle of a change
		if err := c.takes(rapid.IntRange(0, 2).Draw(t, "taken")); err != nil {
			t.Fatal(err)
		}
	default:
		r.deliver(kind)
		w.take(t, c)
	}
}

// fault says which objects a list leaves out.
func (w *world) fault(t *rapid.T, kind cache.Kind) map[join.Key]bool {
	left := map[join.Key]bool{}
	switch rapid.IntRange(0, 2).Draw(t, "fault") {
	case 0:
		for key := range w.server.held[kind] {
			left[key] = true
		}
	case 1:
		for _, key := range slices.SortedFunc(maps.Keys(w.server.held[kind]), func(a, b join.Key) int { return strings.Compare(a.Name, b.Name) }) {
			// What is new to a replica cannot be known to be missing.
			left[key] = key.Name == "kept" || key.Name == "kept-1" || rapid.Bool().Draw(t, "left out")
		}
	}
	return left
}

// change is one of the changes that a cluster makes.
func (w *world) change(t *rapid.T) {
	service := rapid.SampledFrom([]string{"a", "b"}).Draw(t, "service")
	slice := service + rapid.SampledFrom([]string{"-1", "-2"}).Draw(t, "slice")
	endpoints := rapid.SliceOfN(rapid.SampledFrom([]int{1, 2, -2, leaving + 2, 3, -3, leaving + 3}), 0, 3).Draw(t, "endpoints")
	switch rapid.IntRange(0, 7).Draw(t, "change") {
	case 0, 1:
		w.server.service(service, rapid.Int32Range(80, 82).Draw(t, "port"), true)
	case 2:
		w.server.service(service, 80, false)
	case 3:
		w.server.gone(cache.Services, service)
	case 4:
		w.server.gone(cache.Slices, slice)
	case 5:
		w.server.slice(slice, rapid.SampledFrom([]string{"a", "b", "kept"}).Draw(t, "of"), endpoints...)
	default:
		w.server.slice(slice, service, endpoints...)
	}
}

func (w *world) connect(t *rapid.T, c *client) {
	t.Helper()
	if err := c.connect(rapid.SampledFrom(w.replicas).Draw(t, "at")); err != nil && !errors.Is(err, cache.ErrBehind) && !errors.Is(err, cache.ErrUnsure) && !errors.Is(err, cache.ErrNotSynced) {
		t.Fatal(err)
	}
}

func (w *world) take(t *rapid.T, c *client) {
	t.Helper()
	if err := c.take(); err != nil {
		t.Fatal(err)
	}
}
