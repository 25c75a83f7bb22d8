package controllertest_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

func TestContract13AcceptedRemovalIsToldOnceAndLoudly(t *testing.T) {
	inTold(t, func(t *testing.T, w *world, e *ear) {
		w.set(func() { w.dead[ip(13)] = true })
		during(10 * time.Second)
		e.taken()
		w.setNodes()
		during(time.Hour)
		wantMembers(t, w, ip(11)+" ready", ip(12)+" ready")
		notices := e.taken()
		if got, want := reasons(notices), []string{"RemovalHeld", "RemovalPending", "RemovalAccepted"}; !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v: each once, in this order", got, want)
		}
		accepted := notices[slices.IndexFunc(notices, func(n explain.Notice) bool { return n.Reason == explain.RemovalAccepted })]
		if !accepted.Reason.Warning() || !strings.Contains(accepted.Note, ip(13)) || strings.Contains(accepted.Note, ip(11)) {
			t.Errorf("got %q, want a warning that names %s alone", accepted.Note, ip(13))
		}
		lines := w.logs.with("endpoints removed although the inventories were rejected")
		if len(lines) != 1 {
			t.Fatalf("got %d lines in the log, want 1", len(lines))
		}
		if line := lines[0]; line["level"] != "WARN" || line["endpoints"] != 1.0 || line["message"] != accepted.Note {
			t.Errorf("got %v, want a warning with number and endpoints", line)
		}
	})
}

func TestContract13WhatWillBeRemovedWhenIsShownBeforeItHappens(t *testing.T) {
	inEngine(t, func(t *testing.T, w *world, status func() guard.Verdict) {
		w.set(func() { w.dead[ip(13)] = true })
		during(10 * time.Second)
		w.setNodes()
		during(35 * time.Second)
		var left []int
		said := ""
		for range 600 {
			before := status()
			during(time.Second)
			if slices.Equal(w.members(), []string{ip(11) + " ready", ip(12) + " ready"}) {
				break
			}
			if before.Removal.Endpoints != 1 {
				t.Fatalf("got %+v while %s is threatened, want 1 endpoint", before.Removal, ip(13))
			}
			if n := before.Removal.Inventories; len(left) == 0 || left[len(left)-1] != n {
				left = append(left, n)
			}
			at := regexp.MustCompile(`will be removed at (\S+) UTC unless the source recovers`).FindStringSubmatch(before.Message)
			if at == nil || said != "" && at[1] != said {
				t.Fatalf("got %q after %q, want one time that stays", before.Message, said)
			}
			said = at[1]
		}
		if want := []int{9, 8, 7, 6, 5, 4, 3, 2, 1}; !slices.Equal(left, want) {
			t.Errorf("got inventories left %v, want %v", left, want)
		}
		happened, err := time.Parse(time.TimeOnly, time.Now().UTC().Format(time.TimeOnly))
		if err != nil {
			t.Fatal(err)
		}
		announced, err := time.Parse(time.TimeOnly, said)
		if off := happened.Sub(announced); err != nil || off.Abs() > w.opts.PollInterval {
			t.Errorf("removed %s after the time that was announced, want within a poll interval of %s: %v", off, said, err)
		}
		if after := status(); after.Removal != (guard.Removal{}) || after.Mode != guard.Hold {
			t.Errorf("got %+v and mode %s when it is over, want nothing threatened, and those that pass kept", after.Removal, after.Mode)
		}
	})
}

func TestContract13NothingIsThreatenedWhileAllKeptEndpointsPass(t *testing.T) {
	inEngine(t, func(t *testing.T, w *world, status func() guard.Verdict) {
		w.setNodes()
		for range 60 {
			during(10 * time.Second)
			if v := status(); v.Removal != (guard.Removal{}) || len(v.Accepted) > 0 {
				t.Fatalf("got %+v and %v, want nothing threatened and nothing taken away", v.Removal, v.Accepted)
			}
		}
		if message := status().Message; !strings.Contains(message, "will not be removed while health checks pass. An endpoint that is down at ") || !strings.Contains(message, "delete its EndpointSlices") {
			t.Errorf("got %q, want what will happen, and what to do where all nodes are really gone", message)
		}
		wantMembers(t, w, ip(11)+" ready", ip(12)+" ready", ip(13)+" ready")
		wantWrites(t, w, 0)
	})
}

// inEngine runs a test in a world whose status it can see.
func inEngine(t *testing.T, test func(t *testing.T, w *world, status func() guard.Verdict)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, 11, 12, 13)
		s := w.start()
		during(3 * time.Second)
		w.store.taken()
		test(t, w, func() guard.Verdict { return s.Status().Verdict })
		w.stop()
	})
}
