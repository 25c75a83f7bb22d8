package controllertest_test

import (
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// TestContract21AStoreThatAlwaysConflictsIsTriedEverMoreRarely: and gets the newest
// decision as soon as it takes one.
func TestContract21AStoreThatAlwaysConflictsIsTriedEverMoreRarely(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		during(5 * time.Second)
		before := len(w.store.taken())
		w.store.set(func() { w.store.fail = func(publish.Write) error { return publish.ErrConflict } })
		w.set(func() { w.dead[ip(13)] = true })
		during(10 * time.Minute)
		attempts := len(w.store.taken()) - before
		// The pauses are random, up to 15 s: about 80 of ten minutes.
		if attempts < 5 || attempts > 200 {
			t.Errorf("got %d attempts in ten minutes, want some but ever fewer", attempts)
		}
		w.store.set(func() { w.store.fail = nil })
		during(20 * time.Second)
		wantMembers(t, w, ip(11)+" ready", ip(12)+" ready", ip(13)+" down")
	})
}
