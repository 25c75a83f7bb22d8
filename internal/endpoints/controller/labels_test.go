package controller_test

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// byLabel is a pool that selects namespaces by a label.
func byLabel() string {
	return strings.ReplaceAll(poolOf("blue", "10.0.0.0/24"), "namespaces: [shop, blog]", "namespaceSelector: {matchLabels: {tier: gold}}")
}

// TestContract60LabelsThatCannotBeReadTakeNothingAway: a pool allows namespaces by a label.
func TestContract60LabelsThatCannotBeReadTakeNothingAway(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.documents(byLabel(), bindingOf("shop/web", "blue", "ports: [{port: 80}]"))
		w.service("shop/web", "http:80")
		w.pool("blue", "10.0.0.1", "10.0.0.2")
		gold := map[string]map[string]string{"shop": {"tier": "gold"}}
		labels, err := gold, errors.New("no right")
		options := w.options()
		options.Labels = func(context.Context) (map[string]map[string]string, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			return labels, err
		}
		stop := runWith(t, options)
		defer func() { stop() }()
		wantUsable := func(when string, want ...string) {
			t.Helper()
			if got := w.usable("shop/web"); !slices.Equal(got, want) {
				t.Errorf("%s: got %v, want %v", when, got, want)
			}
		}
		during(time.Minute)
		wantUsable("labels were never read")
		w.locked(func() { err = nil })
		during(15 * time.Second)
		wantUsable("labels are read", "10.0.0.1:80", "10.0.0.2:80")
		w.locked(func() { labels, err = nil, errors.New("no right") })
		during(2 * time.Minute)
		wantUsable("labels cannot be read", "10.0.0.1:80", "10.0.0.2:80")
		stop()
		stop = runWith(t, options)
		during(2 * v1alpha1.DefaultReleaseAfter)
		wantUsable("labels cannot be read after a restart", "10.0.0.1:80", "10.0.0.2:80")
		w.locked(func() { labels, err = map[string]map[string]string{"shop": {}}, nil })
		during(2 * time.Minute)
		if !w.told("PoolNotAllowed") {
			t.Error("nothing tells that the pool allows the namespace no more")
		}
	})
}

// TestContract60LabelsThatChangeCountAtTheNextRead: they are read every 5 s, and what did not change
// asks for nothing.
func TestContract60LabelsThatChangeCountAtTheNextRead(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.documents(byLabel(), bindingOf("shop/web", "blue", "ports: [{port: 80}]"))
		w.service("shop/web", "http:80")
		w.pool("blue", "10.0.0.1")
		labels, reads := map[string]map[string]string{"shop": {}}, 0
		options := w.options()
		options.Labels = func(context.Context) (map[string]map[string]string, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			reads++
			return labels, nil
		}
		defer runWith(t, options)()
		during(time.Minute)
		var before int
		w.locked(func() { labels, before = map[string]map[string]string{"shop": {"tier": "gold"}}, reads })
		for read := false; !read; {
			during(100 * time.Millisecond)
			w.locked(func() { read = reads > before })
		}
		during(4 * time.Second) // the next read is later
		if got := w.usable("shop/web"); !slices.Equal(got, []string{"10.0.0.1:80"}) {
			t.Errorf("got %v, want what the new labels allow", got)
		}
	})
}

// TestContract58LabelsOfDaysAgoGrantNothing: while no pool selected by labels, none were read.
func TestContract58LabelsOfDaysAgoGrantNothing(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.documents(byLabel())
		w.service("shop/web", "http:80")
		w.pool("blue", "10.0.0.1")
		w.pool("green", "10.0.0.1")
		labels := map[string]map[string]string{"shop": {"tier": "gold"}}
		options := w.options()
		options.Labels = func(context.Context) (map[string]map[string]string, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			return labels, nil
		}
		defer runWith(t, options)()
		during(time.Minute)
		w.documents(poolOf("green", "10.0.0.0/24"))
		during(time.Hour)
		w.locked(func() { labels = map[string]map[string]string{"shop": {}} })
		w.documents(byLabel(), bindingOf("shop/web", "blue", "ports: [{port: 80}]"))
		during(time.Minute)
		if got := w.usable("shop/web"); len(got) > 0 {
			t.Errorf("got %v published by a label that the namespace no longer has", got)
		}
	})
}

// passesOf counts the passes of a program, each of which asks twice for the documents.
type passesOf struct {
	controller.Documents
	asked atomic.Int64
}

func (p *passesOf) passes() int64 { return p.asked.Load() / 2 }

func (p *passesOf) Set() documents.Set {
	p.asked.Add(1)
	return p.Documents.Set()
}

// TestContract60APassComesWhenLabelsChangeAndNotWithEachRead, nor with each check that fails: a
// pass takes time in proportion to all Services.
func TestContract60APassComesWhenLabelsChangeAndNotWithEachRead(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.documents(byLabel(), bindingOf("shop/web", "blue", "ports: [{port: 80}]"))
		w.service("shop/web", "http:80")
		w.pool("blue", "10.0.0.1", "10.0.0.2", "10.0.0.3")
		const idle, long = 30 * time.Second, 2 * time.Minute // without a cause there is a pass each 30 s
		var others, reads int
		counted := &passesOf{Documents: w}
		options := w.options()
		options.Documents = counted
		options.Labels = func(context.Context) (map[string]map[string]string, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			reads++
			return map[string]map[string]string{"shop": {"tier": "gold"}, "other": {"version": strconv.Itoa(others)}}, nil
		}
		defer runWith(t, options)()
		during(5 * time.Minute)
		wantFew := func(what string, do func()) {
			t.Helper()
			before := counted.passes()
			do()
			if got := counted.passes() - before; got > int64(long/idle)+1 {
				t.Errorf("%s: %d passes in %v, want one each %v", what, got, long, idle)
			}
		}
		var before int
		w.locked(func() { before = reads })
		wantFew("the labels stay as they are", func() { during(long) })
		w.locked(func() {
			if reads-before < 20 {
				t.Errorf("labels were read %d times in %v", reads-before, long)
			}
		})
		wantFew("checks fail and pass again", func() {
			for range 4 {
				w.locked(func() { w.dead["10.0.0.1"] = true })
				during(long / 8)
				w.locked(func() { delete(w.dead, "10.0.0.1") })
				during(long / 8)
			}
		})
		for i := range 5 {
			passes := counted.passes()
			w.locked(func() { others, before = i+1, reads })
			for read := false; !read; {
				during(100 * time.Millisecond)
				w.locked(func() { read = reads > before })
			}
			during(time.Second) // between two passes there is a pause
			if counted.passes() == passes {
				t.Errorf("change %d of the labels: got no pass within a second of the read", i+1)
			}
			during(7 * time.Second)
		}
	})
}

// runWith starts a program of these options. The function that it returns ends it.
func runWith(t *testing.T, options controller.Options) (stop func()) {
	t.Helper()
	server, err := controller.New(options)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); _ = server.Run(ctx) }()
	return func() { cancel(); <-done }
}

// stubborn is a check that takes a minute to end once it is told to.
type stubborn struct {
	begun chan struct{}
	ended bool
}

func (s *stubborn) Check(ctx context.Context, addr netip.Addr) inventory.Result {
	notify(s.begun)
	<-ctx.Done()
	time.Sleep(time.Minute)
	s.ended = true
	return inventory.Result{Address: addr, At: time.Now(), Outcome: inventory.LocalError}
}

// TestNoCheckRunsOnOnceTheProgramHasEnded: another process may lead then.
func TestNoCheckRunsOnOnceTheProgramHasEnded(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.documents(poolOf("blue", "10.0.0.0/24"), bindingOf("shop/web", "blue", "ports: [{port: 80}]"))
		w.service("shop/web", "http:80")
		w.pool("blue", "10.0.0.1")
		one, options := &stubborn{begun: make(chan struct{}, 1)}, w.options()
		checking := options.Checking
		options.Checking = func(p *v1alpha1.EndpointPool, check assign.Check) (controller.GroupCheck, error) {
			c, err := checking(p, check)
			c.Prober, c.Timeout = one, time.Hour
			return c, err
		}
		stop := runWith(t, options)
		<-one.begun
		stop()
		if !one.ended {
			t.Error("the program has ended, and a check runs on")
		}
	})
}
