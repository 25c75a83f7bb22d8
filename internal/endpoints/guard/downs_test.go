package guard_test

import (
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// After a pass the count begins again, even if later failures are decided on together
// with the next inventory.
func TestContract13APassBetweenTwoInventoriesBeginsTheCountAnew(t *testing.T) {
	l := running(t, "a b c d")
	l.policy.Threshold = 3
	l.refuse("a a a")
	l.reads(2, "d")
	for _, outcome := range []inventory.Outcome{inventory.Pass, inventory.Refused, inventory.Refused, inventory.Refused} {
		l.health = fold(l.health, inventory.Result{Address: addr("a"), At: l.now, Outcome: outcome})
	}
	l.read("d")
	l.want("a=down b=ready c=ready d=ready")
	l.reads(2, "d")
	l.want("a=down b=ready c=ready d=ready")
	l.read("d")
	l.want("b=ready c=ready d=ready")
}

// Inventories that come while the prober is cut off prove nothing of an endpoint
// that refused before.
func TestContract13InventoriesWhileCutOffDoNotCountForThoseThatAreDown(t *testing.T) {
	l := running(t, "a b c d")
	l.policy.Threshold = 3
	l.refuse("a a a")
	l.read("d")
	l.silence("b c d")
	l.reads(5, "d")
	l.pass("b c d")
	l.wait(6 * time.Second)
	l.read("d")
	l.want("a=down b=ready c=ready d=ready")
	l.read("d")
	l.want("b=ready c=ready d=ready")
}
