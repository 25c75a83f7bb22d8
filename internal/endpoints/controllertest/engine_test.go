package controllertest_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// inWorld runs a test in a bubble with a daemon that has already published the
// healthy nodes 11, 12 and 13, and forgets the writes and logs of its start.
func inWorld(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, 11, 12, 13)
		w.start()
		during(3 * time.Second)
		if got, want := w.members(), []string{ip(11) + " ready", ip(12) + " ready", ip(13) + " ready"}; !cmp.Equal(got, want) {
			t.Fatalf("after the start: got %v, want %v", got, want)
		}
		w.store.taken()
		test(t, w)
		w.stop()
	})
}

// wantMembers compares what is published.
func wantMembers(t *testing.T, w *world, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, w.members(), cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("members (-want +got):\n%s", diff)
	}
}

// wantWrites compares how many writes there were since the last look.
func wantWrites(t *testing.T, w *world, want int) []written {
	t.Helper()
	writes := w.store.taken()
	if len(writes) != want {
		t.Errorf("got %d writes, want %d: %+v", len(writes), want, writes)
	}
	return writes
}

func TestStartPublishesTheHealthyNodesWithOneWrite(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, 11, 12, 13)
		w.start()
		during(3 * time.Second)
		wantMembers(t, w, ip(11)+" ready", ip(12)+" ready", ip(13)+" ready")
		wantWrites(t, w, 1)
		w.stop()
	})
}

func TestContract01ASourceErrorChangesNoMemberAndHealthStillCounts(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.set(func() { w.readErr = errors.New("boom") })
		during(time.Hour)
		wantWrites(t, w, 0)
		if got := len(w.logs.with("source read failed; endpoints stay published, and health checks go on")); got != 1 {
			t.Errorf("got %d lines about the failing source, want 1", got)
		}
		w.set(func() { w.dead[ip(12)] = true })
		during(10 * time.Second)
		wantMembers(t, w, ip(11)+" ready", ip(12)+" down", ip(13)+" ready")
		w.set(func() { w.readErr, w.dead = nil, map[string]bool{} })
		during(10 * time.Minute)
		wantMembers(t, w, ip(11)+" ready", ip(12)+" ready", ip(13)+" ready")
		if got := len(w.logs.with("source recovered")); got != 1 {
			t.Errorf("got %d lines about the recovery, want 1", got)
		}
	})
}

func TestADeadBackendIsDownWithinSecondsWithOneWrite(t *testing.T) {
	for name, kill := range map[string]struct {
		do    func(w *world)
		bound time.Duration
	}{
		"refusing": {func(w *world) { w.dead[ip(12)] = true }, 2500 * time.Millisecond},
		"silent":   {func(w *world) { w.mute[ip(12)] = true }, 5500 * time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.set(func() { kill.do(w) })
				during(kill.bound)
				wantMembers(t, w, ip(11)+" ready", ip(12)+" down", ip(13)+" ready")
				during(time.Minute)
				wantWrites(t, w, 1)
			})
		})
	}
}

func TestANodeThatIsReplacedMakesOneWriteAndDrains(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.setNodes(12, 13, 14)
		during(35 * time.Second)
		wantMembers(t, w, ip(11)+" draining", ip(12)+" ready", ip(13)+" ready", ip(14)+" ready")
		wantWrites(t, w, 1)
		during(31 * time.Second)
		wantMembers(t, w, ip(12)+" ready", ip(13)+" ready", ip(14)+" ready")
		wantWrites(t, w, 1)
	})
}

func TestAChangeSignalBringsAReadAtOnceButDoesNotPostponeTheNext(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.setNodes(11, 12, 13, 14)
		w.signal <- struct{}{}
		during(time.Second)
		wantMembers(t, w, ip(11)+" ready", ip(12)+" ready", ip(13)+" ready", ip(14)+" ready")
		w.set(func() { w.reads = nil })
		for range 40 {
			select {
			case w.signal <- struct{}{}:
			default:
			}
			during(time.Second)
		}
		if got := len(w.reads); got < 41 {
			t.Errorf("got %d reads in 40 s of signals, want each signal's and a scheduled one", got)
		}
	})
}

func TestContract13SignalsDoNotMakeRejectedInventoriesCountSooner(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.set(func() { w.dead[ip(13)] = true })
		during(10 * time.Second)
		w.store.taken()
		w.setNodes()
		for range 100 {
			w.signal <- struct{}{}
			during(100 * time.Millisecond)
		}
		wantMembers(t, w, ip(11)+" ready", ip(12)+" ready", ip(13)+" down")
		wantWrites(t, w, 0)
		during(6 * time.Minute)
		wantMembers(t, w, ip(11)+" ready", ip(12)+" ready")
	})
}

func TestContract16HoldAndFailOpenAreEachSaidOnce(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.setNodes()
		during(3 * time.Minute)
		w.setNodes(11, 12, 13)
		during(2 * time.Minute)
		w.set(func() { w.dead = map[string]bool{ip(11): true, ip(12): true, ip(13): true} })
		during(5 * time.Minute)
		wantMembers(t, w, ip(11)+" ready", ip(12)+" ready", ip(13)+" ready")
		w.set(func() { w.dead = map[string]bool{} })
		during(2 * time.Minute)
		var got []string
		for _, line := range w.logs.with("mode changed") {
			got = append(got, line["to"].(string))
		}
		if diff := cmp.Diff([]string{"Hold", "Publish", "FailOpen", "Publish"}, got); diff != "" {
			t.Errorf("modes (-want +got):\n%s", diff)
		}
	})
}

func TestContract22SteadyStateAndRestartWriteNothing(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		during(time.Hour)
		wantWrites(t, w, 0)
		w.stop()
		w.start()
		during(time.Hour)
		wantWrites(t, w, 0)
	})
}

func TestContract28ARestartIntoABrokenWorldChangesNothing(t *testing.T) {
	for name, breakIt := range map[string]func(w *world){
		"source down":  func(w *world) { w.readErr = errors.New("boom") },
		"source empty": func(w *world) { w.nodes = nil },
		"all refusing": func(w *world) { w.dead = map[string]bool{ip(11): true, ip(12): true, ip(13): true} },
		"all silent":   func(w *world) { w.mute = map[string]bool{ip(11): true, ip(12): true, ip(13): true} },
		"down and refused": func(w *world) {
			w.readErr = errors.New("boom")
			w.dead = map[string]bool{ip(11): true, ip(12): true, ip(13): true}
		},
		"down and silent": func(w *world) {
			w.readErr = errors.New("boom")
			w.mute = map[string]bool{ip(11): true, ip(12): true, ip(13): true}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inWorld(t, func(t *testing.T, w *world) {
				w.set(func() { w.dead[ip(13)] = true })
				during(10 * time.Second)
				want := []string{ip(11) + " ready", ip(12) + " ready", ip(13) + " down"}
				wantMembers(t, w, want...)
				w.store.taken()
				w.stop()
				w.set(func() { breakIt(w) })
				w.start()
				during(2 * time.Minute)
				wantWrites(t, w, 0)
				wantMembers(t, w, want...)
			})
		})
	}
}

func TestContract31OnlyALoopThatStandsStillIsDead(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, 11)
		w.set(func() { w.readErr = errors.New("boom"); w.mute[ip(11)] = true })
		w.store.set(func() { w.store.loads = errors.New("no API server") })
		s := w.start()
		during(10 * time.Minute)
		if !s.Alive() {
			t.Error("dead source, backend and API server: got dead, want alive")
		}
		if s.Status().Decided() {
			t.Error("before the first decision: got ready")
		}
		w.store.set(func() { w.store.loads = nil })
		w.set(func() { w.readErr = nil; w.mute = map[string]bool{} })
		during(10 * time.Minute)
		if !s.Status().Decided() {
			t.Error("after the first decision: got not ready")
		}
		w.store.set(func() { w.store.takes = time.Hour })
		w.set(func() { w.dead[ip(11)] = true })
		during(10 * time.Minute)
		if !s.Alive() {
			t.Error("an API server that hangs: got dead, want alive")
		}
		w.stop()
	})
}

func TestContract07AnAddressThatMovesIsProbedAnew(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.set(func() { w.nodes[1].Name = "another" })
		during(time.Minute)
		wantMembers(t, w, ip(11)+" ready", ip(12)+" ready", ip(13)+" ready")
		wantWrites(t, w, 0)
	})
}

func TestContract07AnAddressThatComesBackDoesNotEnterOnItsOldPass(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		w.setNodes(11, 12)
		w.signal <- struct{}{}
		during(31 * time.Second) // drained and removed; the next read is a signal's
		w.set(func() { w.dead[ip(13)] = true })
		w.setNodes(11, 12, 13)
		w.set(func() { w.nodes[2].Name = "another" })
		w.store.taken()
		w.signal <- struct{}{}
		during(20 * time.Second)
		wantMembers(t, w, ip(11)+" ready", ip(12)+" ready")
		wantWrites(t, w, 0)
	})
}

func TestContract25AServiceThatAppearsIsFilledWithoutARestart(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		fits := publish.Service{UID: "uid-2", Ports: []publish.ServicePort{{Name: "http", Protocol: publish.TCP, Port: 80}}}
		w.store.SetService(publish.Service{})
		w.set(func() { w.dead[ip(11)] = true })
		during(time.Minute)
		wantWrites(t, w, 0)
		if got := len(w.logs.with("service cannot be filled")); got != 1 {
			t.Errorf("got %d lines about the missing Service, want 1", got)
		}
		w.store.SetService(fits)
		during(3 * time.Second)
		wantMembers(t, w, ip(11)+" down", ip(12)+" ready", ip(13)+" ready")
		wantWrites(t, w, 1)
	})
}

// TestContract25AServiceThatIsMissingAtTheStartIsFilledAtOnce: its pool is read and checked
// meanwhile.
func TestContract25AServiceThatIsMissingAtTheStartIsFilledAtOnce(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, 11, 12, 13)
		w.dead[ip(11)] = true
		w.store.SetService(publish.Service{})
		w.start()
		during(time.Minute)
		wantWrites(t, w, 0)
		w.store.SetService(publish.Service{UID: "uid-2", Ports: []publish.ServicePort{{Name: "http", Protocol: publish.TCP, Port: 80}}})
		during(time.Millisecond)
		wantMembers(t, w, ip(12)+" ready", ip(13)+" ready")
		wantWrites(t, w, 1)
		w.stop()
	})
}

// A start takes as long as the slower of both, not as long as both together.
func TestTheSourceIsReadWhileTheSlicesAre(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, 11)
		w.opts.Store = tardy{w.store}
		w.start()
		during(onTheWay / 2)
		w.mu.Lock()
		got := len(w.reads)
		w.mu.Unlock()
		if got != 1 {
			t.Errorf("the source was read %d times before the slices were known, want once", got)
		}
		during(time.Second)
		wantWrites(t, w, 1)
		w.stop()
	})
}

func TestContract33WhatIsRememberedIsBoundedByTheNodesNotByTime(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, 11, 12, 13)
		s := w.start()
		during(3 * time.Second)
		for i := range 60 {
			w.set(func() { w.dead[ip(20+i-1)] = true })
			w.setNodes(11, 12, 13, 20+i)
			w.signal <- struct{}{}
			during(time.Second)
		}
		w.set(func() { w.dead[ip(79)] = true })
		w.setNodes(11, 12, 13)
		during(10 * time.Minute)
		wantMembers(t, w, ip(11)+" ready", ip(12)+" ready", ip(13)+" ready")
		if got := s.Status().Health.Len(); got != 3 {
			t.Errorf("got %d streaks remembered, want those of 3 nodes", got)
		}
		w.stop()
	})
}

func TestContract12ARoundThatCannotFinishIsCountedAndSaid(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, 11, 12, 13, 14, 15, 16, 17, 18)
		w.opts.Concurrency = 1
		w.set(func() {
			for o := 11; o < 19; o++ {
				w.mute[ip(o)] = true
			}
		})
		s := w.start()
		during(5 * time.Minute)
		if s.Status().Counts.Overruns == 0 {
			t.Error("8 time-outs of 1 s one after the other in 2 s: got no overrun")
		}
		if got := len(w.logs.with("a round of health checks took longer than HEALTH_CHECK_INTERVAL: raise it or HEALTH_CHECK_CONCURRENCY, or lower HEALTH_CHECK_TIMEOUT")); got < 1 || got > 6 {
			t.Errorf("got %d lines about it in 5 min, want some, and not a flood", got)
		}
		w.stop()
	})
}
