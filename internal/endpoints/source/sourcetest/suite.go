package sourcetest

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

const (
	// promptly is how long a read may go on after the end of its context, on a
	// machine that has other things to do.
	promptly = 2 * time.Second
	// waitTimeout bounds a read that should need no time at all.
	waitTimeout = 30 * time.Second
)

// suite is the source under test and how to make its world.
type suite struct{ Options }

// Run runs the suite.
func Run(t *testing.T, options Options) {
	s := suite{options}
	t.Run("the harness is complete or says why not", func(t *testing.T) {
		s.start(t, nil).check(t)
	})
	// In a test of its own, so that nothing of it runs on beside the others.
	var abilities Harness
	t.Run("what the harness can is known", func(t *testing.T) { abilities = options.Start(t, []inventory.Node{}) })
	checks := []struct {
		name string
		can  bool
		run  func(*testing.T)
	}{
		{"Contract02 a read is complete", true, s.complete},
		{"Contract02 a world without nodes is an empty list, not nil", true, s.empty},
		{"Contract02 a broken world is an error and no node", len(abilities.Breaks) > 0, s.broken},
		{"Contract03 a read ends with its deadline", abilities.Stall != nil, s.stalled},
		{"Contract03 a read whose context has ended does nothing", true, s.cancelled},
		{"Contract04 every read asks the world again", abilities.Put != nil, s.readsAgain},
		{"what a read returned belongs to the caller", true, s.shared},
		{"reads at the same time do not disturb each other", true, s.concurrent},
	}
	for _, check := range checks {
		if check.can {
			t.Run(check.name, check.run)
		}
	}
}

// start makes a world. The test fails if a goroutine is left when all that the
// harness registered for the end is done.
func (s suite) start(t *testing.T, nodes []inventory.Node) Harness {
	t.Helper()
	current := goleak.IgnoreCurrent()
	t.Cleanup(func() { goleak.VerifyNone(t, current) })
	return s.Start(t, nodes)
}

// read reads, and fails the test on an error.
func read(t *testing.T, source Source) []inventory.Node {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	nodes, err := source.Read(ctx)
	if err != nil {
		t.Fatalf("read: %v", err)
	}
	return nodes
}

// wantError checks that a read failed, and with nothing else to show for it.
func wantError(t *testing.T, nodes []inventory.Node, err error) {
	t.Helper()
	if err == nil {
		t.Errorf("got %d nodes and no error, want an error", len(nodes))
	}
	if nodes != nil {
		t.Errorf("got %d nodes beside error %v, want none", len(nodes), err)
	}
}

func (s suite) complete(t *testing.T) {
	// More nodes than fit on one page of any API.
	for _, count := range []int{1, 3, 1200} {
		t.Run(fmt.Sprint(count, " nodes"), func(t *testing.T) { // each source ends before the next begins
			want := s.fleet(count)
			h := s.start(t, want)
			if d := diff(want, read(t, h.Source)); d != "" {
				t.Errorf("(-want +got):\n%s", d)
			}
		})
	}
}

func (s suite) empty(t *testing.T) {
	h := s.start(t, []inventory.Node{})
	got := read(t, h.Source)
	if got == nil || len(got) != 0 {
		t.Errorf("got %#v, want an empty list that is not nil", got)
	}
}

func (s suite) broken(t *testing.T) {
	want := s.fleet(20)
	h := s.start(t, want)
	for _, name := range slices.Sorted(maps.Keys(h.Breaks)) {
		t.Run(name, func(t *testing.T) {
			h.Breaks[name]()
			ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
			defer cancel()
			nodes, err := h.Source.Read(ctx)
			wantError(t, nodes, err)
			if h.Put == nil {
				return
			}
			h.Put(want)
			if d := diff(want, read(t, h.Source)); d != "" {
				t.Errorf("after the world was repaired (-want +got):\n%s", d)
			}
		})
	}
}

func (s suite) stalled(t *testing.T) {
	want := s.fleet(3)
	h := s.start(t, want)
	h.Stall()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	nodes, err := h.Source.Read(ctx)
	deadline, _ := ctx.Deadline()
	if late := time.Since(deadline); late > promptly {
		t.Errorf("the read ended %v after its deadline, want at most %v", late, promptly)
	}
	wantError(t, nodes, err)
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got error %v, want context.DeadlineExceeded", err)
	}
	if h.Put == nil {
		return
	}
	h.Put(want)
	if d := diff(want, read(t, h.Source)); d != "" {
		t.Errorf("when the world answered again (-want +got):\n%s", d)
	}
}

func (s suite) cancelled(t *testing.T) {
	h := s.start(t, s.fleet(3))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	nodes, err := h.Source.Read(ctx)
	wantError(t, nodes, err)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got error %v, want context.Canceled", err)
	}
}

func (s suite) readsAgain(t *testing.T) {
	fleet := s.fleet(30)
	h := s.start(t, fleet[:10])
	for _, want := range [][]inventory.Node{fleet[:10], fleet, fleet[20:], {}, fleet[:1]} {
		h.Put(want)
		if d := diff(want, read(t, h.Source)); d != "" {
			t.Errorf("after a change to %d nodes (-want +got):\n%s", len(want), d)
		}
	}
}

func (s suite) shared(t *testing.T) {
	want := s.fleet(5)
	h := s.start(t, want)
	first := read(t, h.Source)
	for i := range first {
		for j := range first[i].Addresses {
			first[i].Addresses[j] = netip.IPv4Unspecified()
		}
		first[i].Name = "changed"
	}
	if d := diff(want, read(t, h.Source)); d != "" {
		t.Errorf("after the caller changed what a read had returned (-want +got):\n%s", d)
	}
}

func (s suite) concurrent(t *testing.T) {
	want := s.fleet(20)
	h := s.start(t, want)
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	var group sync.WaitGroup
	for range 8 {
		group.Go(func() {
			got, err := h.Source.Read(ctx)
			if err != nil {
				t.Errorf("read: %v", err)
			} else if d := diff(want, got); d != "" {
				t.Errorf("nodes (-want +got):\n%s", d)
			}
		})
	}
	group.Wait()
}
