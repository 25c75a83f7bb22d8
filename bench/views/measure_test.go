package views_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/pkg/views"
)

// TestMeasure takes all figures at one size after the other, on the same API server.
func TestMeasure(t *testing.T) {
	f, known := forms()[*formName]
	if !known {
		t.Skipf("-form %q: measures nothing", *formName)
	}
	w := newWorld(t, f)
	for _, n := range f.sizes {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			w.grow(t, n)
			w.run(t)
			if n == f.sizes[len(f.sizes)-1] {
				w.idle(t)
			}
			for _, l := range f.loads {
				all, end := w.open(t, l.readers, n)
				w.change(t, all, l.changes)
				w.burst(t, all, l.bursts)
				result(w.label("ViewsMemory", l.readers, "views"), w.views.resident(t), "resident-B")
				result(w.label("ViewsMemory", l.readers, "bare"), w.bare.resident(t), "resident-B")
				end()
			}
			w.flips(t)
			w.outage(t)
		})
	}
}

// label names a benchmark of a side.
func (w *world) label(what string, readers int, side string) string {
	return fmt.Sprintf("%s/endpoints=%d/readers=%d/side=%s", what, len(w.slices)*perSlice, readers, side)
}

// change changes single endpoints. Both sides report the same write.
func (w *world) change(t *testing.T, readers []*reader, changes int) {
	t.Helper()
	everybody := append([]*reader{w.told}, readers...)
	for i := range changes {
		before := counts(everybody)
		sent := time.Now()
		w.flip(t, i*7%len(w.slices), i*31%perSlice)
		awaitMore(t, everybody, before, 1)
		var took []time.Duration
		for _, r := range readers {
			took = append(took, r.after(sent))
		}
		slices.Sort(took)
		result(w.label("ViewsChange", len(readers), "views"), took[len(took)/2], "ns/op", took[len(took)-1], "last-ns/op")
		result(w.label("ViewsChange", len(readers), "bare"), w.told.after(sent), "ns/op")
	}
}

// burst lets every endpoint change at once.
func (w *world) burst(t *testing.T, readers []*reader, bursts int) {
	t.Helper()
	n := len(w.slices) * perSlice
	everybody := append([]*reader{w.told}, readers...)
	for range bursts {
		before, views, bare := counts(everybody), w.views.cpu(t), w.bare.cpu(t)
		began := time.Now()
		w.flipAll(t)
		wrote := time.Since(began)
		awaitMore(t, everybody, before, int64(n))
		var last time.Duration
		for _, r := range readers {
			last = max(last, r.after(began))
		}
		line := func(side string, took, cpu time.Duration) {
			result(w.label("ViewsBurst", len(readers), side), took, "ns/op", float64(n)/took.Seconds(), "events/s", took-wrote, "after-write-ns/op", cpu, "cpu-ns/op")
		}
		line("views", last, w.views.cpu(t)-views)
		line("bare", w.told.after(began), w.bare.cpu(t)-bare)
	}
}

func counts(readers []*reader) []int64 {
	all := make([]int64, len(readers))
	for i, r := range readers {
		all[i] = r.lines.Load()
	}
	return all
}

// awaitMore returns when each reader has read so many lines more.
func awaitMore(t *testing.T, readers []*reader, before []int64, lines int64) {
	t.Helper()
	for i, r := range readers {
		await(t, []*reader{r}, before[i]+lines)
	}
}

// idle lets nothing happen, and counts what the program asks for.
func (w *world) idle(t *testing.T) {
	t.Helper()
	began, before := time.Now(), w.views.cpu(t)
	time.Sleep(w.form.idle)
	ended, cpu := time.Now(), w.views.cpu(t)-before
	requests, watches := 0, 0
	for _, e := range w.api.Audit() {
		switch {
		case e.User != "views" || e.Received.Before(began) || e.Received.After(ended):
		case e.Verb == "watch" || strings.Contains(e.Path, "watch=true"):
			watches++
		default:
			requests++
		}
	}
	result(w.label("ViewsIdle", 0, "views"), requests, "requests", watches, "watches", ended.Sub(began).Seconds(), "s", float64(cpu)/float64(ended.Sub(began)), "cores")
}

// flips is how often one endpoint changes, quickly.
const flips = 100

// slow is a reconciler that takes its time, as one that programs a proxy may.
type slow struct {
	began, calls atomic.Int64
	newest       atomic.Value
}

// Reconcile implements views.Reconciler.
func (s *slow) Reconcile(_ context.Context, _ views.PortKey, endpoints []views.Endpoint) error {
	s.calls.Add(1)
	s.newest.Store(endpoints[0].State)
	time.Sleep(100 * time.Millisecond)
	return nil
}

// flips lets one endpoint change often while a reader keeps up, and a reconciler does
// not.
func (w *world) flips(t *testing.T) {
	t.Helper()
	readers, end := w.open(t, 1, len(w.slices)*perSlice)
	defer end()
	client, err := views.New(views.Options{Servers: []string{w.url}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	reconciler, ended := &slow{}, make(chan struct{})
	go func() {
		defer close(ended)
		_ = client.Run(ctx, reconciler) // ends with the context
	}()
	defer func() { cancel(); <-ended }()
	until(t, func() bool { return reconciler.calls.Load() > 0 })
	before, calls, told := readers[0].lines.Load(), reconciler.calls.Load(), w.told.lines.Load()
	for range flips + 1 { // an odd number ends in the other state
		w.flip(t, 0, 0)
	}
	wrote := time.Now()
	want := views.Down
	if *w.slices[0].Endpoints[0].Conditions.Ready {
		want = views.Ready
	}
	until(t, func() bool {
		return readers[0].ready.Load() == (want == views.Ready) && reconciler.newest.Load() == want
	})
	until(t, func() bool { return time.Since(time.Unix(0, readers[0].last.Load())) > 500*time.Millisecond })
	if got := reconciler.newest.Load(); got != want || readers[0].ready.Load() != (want == views.Ready) {
		t.Errorf("got %v in the end, want %s", got, want)
	}
	result(w.label("ViewsFlips", 1, "views"), flips+1, "flips", readers[0].lines.Load()-before, "lines", w.told.lines.Load()-told, "bare-lines",
		reconciler.calls.Load()-calls, "reconciles", max(readers[0].after(wrote), 0), "after-write-ns/op", max(w.told.after(wrote), 0), "bare-after-write-ns/op")
	w.flip(t, 0, 0)
	until(t, func() bool { return readers[0].ready.Load() != (want == views.Ready) })
}

// until waits for a condition.
func until(t *testing.T, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(longest); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited %v in vain", longest)
		}
	}
}
