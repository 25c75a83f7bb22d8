package controllertest_test

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

func TestEachChangeIsAnnouncedOnceWithItsList(t *testing.T) {
	inTold(t, func(t *testing.T, w *world, e *ear) {
		during(time.Hour)
		e.want(t)
		w.set(func() { w.dead[ip(12)] = true })
		during(10 * time.Second)
		notices := e.taken()
		if diff := cmp.Diff([]string{"EndpointsUpdated: 2 of 3 endpoints ready; changed 10.0.0.12 (down)"}, said(notices)); diff != "" {
			t.Fatalf("notices (-want +got):\n%s", diff)
		}
		if notices[0].Service != "uid-1" {
			t.Errorf("got Service %q, want the UID", notices[0].Service)
		}
		w.setNodes(11, 13, 14)
		during(10 * time.Minute)
		e.want(t, "EndpointsUpdated: 3 of 3 endpoints ready; added 10.0.0.14 (ready); removed 10.0.0.12")
	})
}

func TestContract16HoldAndFailOpenAreEachAnnouncedOnce(t *testing.T) {
	inTold(t, func(t *testing.T, w *world, e *ear) {
		w.opts.Policy.Threshold = 0
		for range 3 { // flapping: each time is one
			w.setNodes()
			during(3 * time.Minute)
			e.wantReasons(t, "RemovalHeld")
			w.setNodes(11, 12, 13)
			during(3 * time.Minute)
			e.wantReasons(t, "RemovalReleased")
		}
		for range 3 {
			w.set(func() { w.dead[ip(11)], w.dead[ip(12)], w.dead[ip(13)] = true, true, true })
			during(3 * time.Minute)
			e.wantReasons(t, "FailOpenEngaged")
			w.set(func() { clear(w.dead) })
			during(3 * time.Minute)
			e.wantReasons(t, "FailOpenCleared")
		}
		if got := len(w.logs.with("mode changed")); got != 12 {
			t.Errorf("got %d lines about the mode, want one for each of the 12 notices", got)
		}
	})
}

func TestContract16AnotherCauseOfTheSameHoldIsNoNews(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w, e := newWorld(t, 11, 12, 13), &ear{}
		w.opts.Announcer, w.opts.Policy.Threshold = e, 0
		s := w.start()
		during(3 * time.Second)
		e.taken()
		w.setNodes()
		during(time.Minute)
		cause := s.Status().Verdict.Cause
		w.setNodes(11)
		during(time.Minute)
		if now := s.Status().Verdict.Cause; now == cause || now == "" {
			t.Fatalf("got cause %q after %q, want another", now, cause)
		}
		notices := e.taken()
		if len(notices) != 1 || notices[0].Reason != explain.RemovalHeld || !strings.HasPrefix(notices[0].Note, string(cause)+": ") {
			t.Errorf("got %q, want RemovalHeld once with the cause %s", said(notices), cause)
		}
		w.stop()
	})
}

func TestContract16FromHoldToFailOpenAndBackIsFourNoticesAndNoAllClear(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		const six = "fd00::21"
		w, e := newWorld(t, 11, 12, 13), &ear{}
		w.opts.Announcer, w.opts.Policy.Threshold = e, 0
		w.opts.Rules.Subnets = append(w.opts.Rules.Subnets, netip.MustParsePrefix("fd00::/64"))
		other := inventory.Node{Name: "w21", Addresses: []netip.Addr{netip.MustParseAddr(six)}, Ready: true, Worker: true}
		w.set(func() { w.nodes = append(w.nodes, other) })
		w.start()
		during(3 * time.Second)
		w.set(func() { w.nodes = []inventory.Node{other} }) // IPv4 is held
		during(time.Minute)
		e.wantReasons(t, "RemovalHeld")
		w.set(func() { w.dead[six] = true }) // and IPv6 fails open meanwhile
		during(time.Minute)
		e.wantFollowed(t, "FailOpen", "RemovalReleased", "FailOpenEngaged")
		w.set(func() { clear(w.dead) })
		during(time.Minute)
		e.wantFollowed(t, "Hold", "FailOpenCleared", "RemovalHeld")
		if got := len(w.logs.with("mode changed")); got != 3 {
			t.Errorf("got %d lines about the mode, want 3", got)
		}
		w.stop()
	})
}

// wantFollowed compares the reasons of what was heard; the first one names the
// mode that follows instead of giving the all-clear.
func (e *ear) wantFollowed(t *testing.T, mode string, want ...string) {
	t.Helper()
	notices := slices.DeleteFunc(e.taken(), func(n explain.Notice) bool { return n.Reason == explain.EndpointsUpdated })
	if diff := cmp.Diff(want, reasons(notices)); diff != "" {
		t.Fatalf("reasons (-want +got):\n%s", diff)
	}
	if got := notices[0].Note; !strings.HasSuffix(got, mode) {
		t.Errorf("got %q, want it to name the mode %s", got, mode)
	}
}

func TestContract16ARestartWithinAHoldIsOneMoreNotice(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w, e := newWorld(t, 11, 12, 13), &ear{}
		w.opts.Announcer, w.opts.Policy.Threshold = e, 0
		w.start()
		during(3 * time.Second)
		w.setNodes()
		during(time.Minute)
		e.wantReasons(t, "RemovalHeld")
		w.stop()
		w.start()
		during(10 * time.Minute)
		e.want(t, "RemovalHeld: "+heldNote(t, w))
		w.setNodes(11, 12, 13)
		during(time.Minute)
		e.want(t, "RemovalReleased: no endpoint is kept any more: inventories and health checks decide again")
		w.stop()
	})
}

// heldNote is the newest line's account of the Hold.
func heldNote(t *testing.T, w *world) string {
	t.Helper()
	lines := w.logs.with("mode changed")
	if len(lines) == 0 {
		t.Fatal("no line about the mode")
	}
	last := lines[len(lines)-1]
	return fmt.Sprint(last["reason"], ": ", last["message"])
}

func TestAFailingSourceIsAnnouncedOnceWhateverItsErrors(t *testing.T) {
	inTold(t, func(t *testing.T, w *world, e *ear) {
		for i := range 5 {
			w.set(func() { w.readErr = fmt.Errorf("boom %d", i/2) })
			during(10 * time.Minute)
		}
		e.want(t, "SourceUnavailable: boom 0; endpoints stay published, and health checks go on")
		w.set(func() { w.readErr = nil })
		during(10 * time.Minute)
		e.want(t, "SourceRecovered: 3 nodes read")
		w.set(func() { w.readErr = errors.New("boom") })
		during(10 * time.Minute)
		e.want(t, "SourceUnavailable: boom; endpoints stay published, and health checks go on")
	})
}

func TestOnlyWhatWasWrittenIsAnnounced(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w, e := newWorld(t, 11, 12), &ear{}
		w.opts.Announcer, w.opts.Target.MaxEndpoints = e, 1
		w.start()
		during(3 * time.Second)
		e.want(t, "EndpointsUpdated: 2 of 2 endpoints ready; added 10.0.0.11 (ready), 10.0.0.12 (ready)")
		w.store.set(func() {
			w.store.fail = func(write publish.Write) error {
				if write.Slice.Name == "web-remote-2" {
					return errors.New("boom")
				}
				return nil
			}
		})
		w.set(func() { w.mute[ip(11)], w.dead[ip(12)] = false, true })
		w.setNodes(11, 12, 13)
		during(2 * time.Minute)
		e.want(t, "EndpointsUpdated: 3 of 3 endpoints ready; added 10.0.0.13 (ready)")
		w.store.set(func() { w.store.fail = nil })
		during(time.Minute)
		e.want(t, "EndpointsUpdated: 2 of 3 endpoints ready; changed 10.0.0.12 (down)")
		w.stop()
	})
}

func TestAConflictIsNoChangeAndTheWriteAfterItIsOne(t *testing.T) {
	inTold(t, func(t *testing.T, w *world, e *ear) {
		w.store.set(func() {
			w.store.fail = func(publish.Write) error { w.store.fail = nil; return publish.ErrConflict }
		})
		w.set(func() { w.dead[ip(13)] = true })
		during(time.Minute)
		e.want(t, "EndpointsUpdated: 2 of 3 endpoints ready; changed 10.0.0.13 (down)")
	})
}

func TestAWriteWhoseAnswerIsLostIsAnnouncedOnce(t *testing.T) {
	inTold(t, func(t *testing.T, w *world, e *ear) {
		w.store.set(func() { w.store.lost = true })
		w.set(func() { w.dead[ip(13)] = true })
		during(10 * time.Second)
		w.store.set(func() { w.store.lost = false })
		during(time.Minute)
		e.want(t, "EndpointsUpdated: 2 of 3 endpoints ready; changed 10.0.0.13 (down)")
	})
}

func TestAddressesThatOnlyMoveAreNeitherAddedNorRemoved(t *testing.T) {
	inTold(t, func(t *testing.T, w *world, e *ear) {
		w.stop()
		w.opts.Target.MaxEndpoints = 2
		w.start()
		during(10 * time.Second)
		e.want(t, "EndpointsUpdated: 3 of 3 endpoints ready; moved 10.0.0.13 (ready)")
	})
}

func TestARepairIsAnnouncedByWhatItRestores(t *testing.T) {
	inTold(t, func(t *testing.T, w *world, e *ear) {
		object := w.store.Slices()[0]
		object.Endpoints = object.Endpoints[1:]
		w.store.Put(object)
		during(10 * time.Second)
		e.want(t, "EndpointsUpdated: 3 of 3 endpoints ready; added 10.0.0.11 (ready)")
		object = w.store.Slices()[0]
		object.OwnerReferences = nil
		w.store.Put(object)
		during(time.Minute)
		e.want(t, "EndpointsUpdated: 3 of 3 endpoints ready; rewritten web-remote")
	})
}
