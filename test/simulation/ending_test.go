//go:build simulation

package simulation_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// A process that lost its Lease reads no more, also while it waits for its last write. That is no
// breach of contract 3.
func TestAProcessWithoutItsLeaseIsNotToReadAgain(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w, err := newWorld(1, time.Minute)
		if err != nil {
			t.Fatal(err)
		}
		w.set.election, w.set.forced, w.set.free, w.set.scene, w.pair = true, false, true, "", nil
		w.set.policy.HealthOff, w.replicas = false, make([]*replica, 2)
		for second := range 60 {
			w.mu.Lock()
			switch second {
			case 40:
				w.storing, w.source = w.spell("store", writesHang, time.Hour), w.spell("source", readsFail, time.Hour)
				w.join(w.free(w.dice("free", 0))...)
				w.behaveNode(w.nodes[0], refuses)
			case 42:
				w.steal(false)
			}
			w.mu.Unlock()
			for range time.Second / tick {
				w.look(t)
				time.Sleep(tick)
				synctest.Wait()
			}
		}
		if broken := w.failed(); broken != "" {
			t.Errorf("%s\n%s", broken, w.story(*lines))
		}
		w.end()
	})
}
