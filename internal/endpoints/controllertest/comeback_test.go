package controllertest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// TestContract07APassThatWasPutAsideDoesNotLetAnAddressBackIn: a result that changes
// no decision is processed late. It must not outlive its endpoint.
func TestContract07APassThatWasPutAsideDoesNotLetAnAddressBackIn(t *testing.T) {
	for at := time.Duration(0); at < policy().Interval; at += 100 * time.Millisecond {
		t.Run(fmt.Sprint("gone after ", at), func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				w := newWorld(t, 11, 12, 13)
				w.opts.Policy.DrainPeriod = 0
				w.start()
				during(10*time.Second + 50*time.Millisecond + at)
				w.setNodes(11, 12)
				w.signal <- struct{}{}
				during(5 * time.Second)
				wantMembers(t, w, ip(11)+" ready", ip(12)+" ready")
				w.set(func() { w.dead[ip(13)] = true })
				w.setNodes(11, 12, 13)
				w.store.taken()
				w.signal <- struct{}{}
				during(10 * time.Second)
				wantMembers(t, w, ip(11)+" ready", ip(12)+" ready")
				wantWrites(t, w, 0)
				w.stop()
			})
		})
	}
}
