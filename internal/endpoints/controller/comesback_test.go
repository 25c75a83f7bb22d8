package controller_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// TestContract52AGroupThatComesBackStartsFromWhatIsPublishedNow: a Service leaves one of its pools,
// whose slices cannot be emptied, and comes back to it. By then its source cannot be read, and
// nothing works of what was published when the process began.
func TestContract52AGroupThatComesBackStartsFromWhatIsPublishedNow(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w, pools := blueAndRed(t)
		w.service("shop/web", "http:8080")
		w.documents(pools, bindingOf("shop/web", "red, blue"))
		w.start()
		during(20 * time.Second)
		w.restart()
		during(20 * time.Second)
		for _, nodes := range [][]string{{"10.0.0.2", "10.0.0.3"}, {"10.0.0.3", "10.0.0.4"}} {
			w.pool("blue", nodes...)
			during(2*worldPoll + worldDrain)
		}
		w.locked(func() {
			w.dead["10.0.0.1"], w.dead["10.0.0.2"] = true, true
			w.fault = func(of publish.Target, w publish.Write) (time.Duration, error) {
				if of.Pool == "blue" && len(w.Slice.Endpoints) == 0 {
					return 0, errQuota
				}
				return 0, nil
			}
		})
		w.documents(pools, bindingOf("shop/web", "red"))
		during(worldDrain + 20*time.Second)
		left := []string{"10.0.0.3=draining", "10.0.0.4=draining"}
		uses := w.server.Snapshot().Plan.Targets[0].Uses
		if got := w.in("shop/web.blue"); len(uses) != 2 || uses[1].State != assign.Emptied || !slices.Equal(got, left) {
			t.Fatalf("got %v and %q, want that the slices of blue are to be emptied and hold %q", uses, got, left)
		}
		w.locked(func() { w.makeErr = errors.New("no credentials") })
		w.documents(pools, bindingOf("shop/web", "red, blue"))
		during(time.Second)
		w.locked(func() { w.fault = nil })
		during(time.Minute)
		if got := w.in("shop/web.blue"); !slices.Equal(got, left) {
			t.Errorf("got %q, want %q as before, while the source cannot be read", got, left)
		}
		w.locked(func() { w.makeErr = nil })
		during(time.Minute)
		if got, want := w.in("shop/web.blue"), []string{"10.0.0.3=ready", "10.0.0.4=ready"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		w.stop()
	})
}

// TestContract228ADrainGoesOnWhereTheDocumentOfThePoolChanges: its endpoints are judged anew, and the
// drain period does not begin anew.
func TestContract228ADrainGoesOnWhereTheDocumentOfThePoolChanges(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w, pools := blueAndRed(t)
		w.service("shop/web", "http:8080")
		w.documents(pools, bindingOf("shop/web", "blue"))
		w.start()
		during(20 * time.Second)
		w.pool("blue", "10.0.0.2")
		drains := func() bool { return slices.Contains(w.in("shop/web.blue"), "10.0.0.1=draining") }
		for !drains() {
			during(time.Second)
		}
		for rise := range 4 {
			during(worldDrain / 5)
			w.documents(strings.ReplaceAll(pools, "  source:", fmt.Sprintf("  healthCheck: {rise: %d}\n  source:", rise+3)), bindingOf("shop/web", "blue"))
		}
		if during(time.Second); !drains() {
			t.Errorf("it stopped draining too early: %s", w.shown())
		}
		if during(worldDrain/5 + 5*time.Second); len(w.in("shop/web.blue")) != 1 {
			t.Errorf("it still drains: %s", w.shown())
		}
		w.stop()
	})
}

// TestContract13AWrongInventoryTakesNothingAwayWhereTheDocumentOfThePoolChanges: its endpoints answer, so
// they join, and are still none of those of which a share may go.
func TestContract13AWrongInventoryTakesNothingAwayWhereTheDocumentOfThePoolChanges(t *testing.T) {
	t.Parallel()
	bubble.Test(t, func(t *testing.T) {
		w, pools := blueAndRed(t)
		w.service("shop/web", "http:8080")
		w.documents(pools, bindingOf("shop/web", "blue"))
		w.start()
		during(20 * time.Second)
		w.pool("blue", "10.0.0.3", "10.0.0.4")
		during(2 * worldPoll)
		all := []string{"10.0.0.1=ready", "10.0.0.2=ready", "10.0.0.3=ready", "10.0.0.4=ready"}
		if got := w.in("shop/web.blue"); !slices.Equal(got, all) {
			t.Fatalf("got %q, want %q", got, all)
		}
		w.documents(strings.ReplaceAll(pools, "  source:", "  healthCheck: {rise: 3}\n  source:"), bindingOf("shop/web", "blue"))
		if during(worldPoll + worldDrain); !slices.Equal(w.in("shop/web.blue"), all) {
			t.Errorf("got %q after a change of the document, want %q", w.in("shop/web.blue"), all)
		}
		w.stop()
	})
}
