package controllertest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// TestWhatTheStoreSaysAgainIsNotDecidedOnAgain: a watch also announces our own writes
// and labels set by other programs. A decision goes over all endpoints.
func TestWhatTheStoreSaysAgainIsNotDecidedOnAgain(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, 11, 12, 13)
		s := w.start()
		during(10 * time.Second)
		decided := func() uint64 { return s.Status().Counts.Planned }
		before := decided()
		for range 5 {
			w.store.SetService(w.store.service)
			during(time.Second)
		}
		// One pass loads what was announced.
		if got := decided() - before; got > 5 {
			t.Errorf("got %d decisions on 5 announcements of nothing, want at most 5", got)
		}
		w.store.set(func() { w.store.takes = 100 * time.Millisecond })
		before = decided()
		w.setNodes(11, 12, 13, 14)
		w.signal <- struct{}{}
		during(50 * time.Millisecond)
		w.store.SetService(w.store.service) // while the write is under way
		during(5 * time.Second)
		if got := decided() - before; got > 4 {
			t.Errorf("got %d decisions on a new node, want at most 4: the read, its first pass, the write, and the echo", got)
		}
		wantMembers(t, w, ip(11)+" ready", ip(12)+" ready", ip(13)+" ready", ip(14)+" ready")
		w.stop()
	})
}

// TestAStoreThatCanBeLoadedAgainIsShown although it says what it said before.
func TestAStoreThatCanBeLoadedAgainIsShown(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, 11, 12, 13)
		s := w.start()
		during(10 * time.Second)
		w.store.set(func() { w.store.loads = errors.New("away") })
		w.store.SetService(w.store.service)
		during(time.Second)
		if s.Status().Store.LoadErr == nil {
			t.Fatal("got no error of a store that cannot be loaded")
		}
		w.store.set(func() { w.store.loads = nil })
		during(20 * time.Second)
		if err := s.Status().Store.LoadErr; err != nil {
			t.Errorf("got %v, want that the store is shown as well again", err)
		}
		w.stop()
	})
}

// tardy is a store whose answers are on their way for a while.
type tardy struct{ *fakeStore }

const onTheWay = 200 * time.Millisecond

func (s tardy) Load(ctx context.Context) (publish.State, error) {
	state, err := s.fakeStore.Load(ctx)
	time.Sleep(onTheWay)
	return state, err
}

// TestAnEditDuringALoadIsRepairedAtOnce: the load may not have seen it.
func TestAnEditDuringALoadIsRepairedAtOnce(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, 11, 12, 13)
		w.opts.Store = tardy{w.store}
		w.start()
		during(10*time.Second + 50*time.Millisecond) // just after a heartbeat
		w.store.SetService(w.store.service)
		during(onTheWay / 2)
		state, err := w.store.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		foreign := publish.Write{Operation: publish.Update, Slice: state.Slices[0], Trigger: time.Now()}
		foreign.Slice.Endpoints = foreign.Slice.Endpoints[:2]
		if _, err := w.store.Memory.Write(t.Context(), foreign); err != nil {
			t.Fatal(err)
		}
		w.store.SetService(w.store.service)
		during(2*onTheWay + 50*time.Millisecond)
		wantMembers(t, w, ip(11)+" ready", ip(12)+" ready", ip(13)+" ready")
		w.stop()
	})
}

// TestAChangeDuringALoadIsWritten although the load brings nothing new.
func TestAChangeDuringALoadIsWritten(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, 11, 12, 13)
		w.opts.Store, w.opts.Policy.HealthOff = tardy{w.store}, true
		w.start()
		during(10 * time.Second)
		w.store.SetService(w.store.service)
		during(onTheWay / 2)
		w.setNodes(11, 12, 13, 14)
		w.signal <- struct{}{}
		during(onTheWay)
		wantMembers(t, w, ip(11)+" ready", ip(12)+" ready", ip(13)+" ready", ip(14)+" ready")
		w.stop()
	})
}

// Contract 185: where variables say what is filled, all changes of the history are kept.
func TestContract185TheChangesOfTheOneServiceAreKept(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, 11, 12, 13)
		s := w.start()
		during(3 * time.Second)
		for range explain.MaxCycles {
			w.set(func() { w.dead[ip(13)] = !w.dead[ip(13)] })
			during(time.Minute)
		}
		if n := len(s.Server().Snapshot().Targets[0].Fills[0].State.Writes); n != explain.MaxCycles {
			t.Errorf("got %d changes, want %d", n, explain.MaxCycles)
		}
		w.stop()
	})
}
