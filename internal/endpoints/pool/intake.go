package pool

import (
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// intake holds what came in and was not decided on yet: the newest inventory, and
// results of checks that can change no decision.
//
// After a restart the first inventory waits until what is published was checked
// once, so that an endpoint that leaves is known to pass or to fail before it is
// judged. That wait has one end, however many inventories come meanwhile.
type intake struct {
	health inventory.Health
	// deferred are results that are not in health yet.
	deferred []inventory.Result
	// inventory is the newest one that was not decided on.
	inventory *guard.Inventory
	// wait bounds the wait after a restart; it began with the first inventory and
	// ends at waitEnd. started says that it is over.
	wait    time.Duration
	waitEnd time.Time
	started bool
}

// accept takes an inventory in, in place of one that was not decided on.
func (i *intake) accept(read *guard.Inventory, now time.Time) {
	i.inventory = read
	if i.waitEnd.IsZero() {
		i.waitEnd = now.Add(i.wait)
	}
}

// put takes results in that are not needed at once.
func (i *intake) put(results []inventory.Result) { i.deferred = append(i.deferred, results...) }

// fold adds the deferred results to health.
func (i *intake) fold() {
	if len(i.deferred) > 0 {
		i.health, i.deferred = health.Advance(i.health, i.deferred), nil
	}
}

// due reports whether the newest inventory can be decided on. unchecked says
// whether something that is published was never checked; it is asked only after a
// restart.
func (i *intake) due(unchecked func() bool, now time.Time) bool {
	if i.inventory == nil {
		return false
	}
	if !i.started {
		i.started = !now.Before(i.waitEnd) || !unchecked()
	}
	return i.started
}

// deadline returns when the newest inventory is decided on at the latest, zero
// where nothing waits for time to pass.
func (i *intake) deadline() time.Time {
	if i.inventory == nil || i.started {
		return time.Time{}
	}
	return i.waitEnd
}

// take returns the inventory to decide on, nil if there is none or it waits, and
// the health of all addresses.
func (i *intake) take(unchecked func() bool, now time.Time) (*guard.Inventory, inventory.Health) {
	i.fold()
	if !i.due(unchecked, now) {
		return nil, i.health
	}
	read := i.inventory
	i.inventory = nil
	return read, i.health
}
