// Package inventorytest makes values of inventory for tests. In: what a test writes down. Out:
// health. Programs do not use it.
package inventorytest

import (
	"net/netip"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// HealthOf returns the health that a map says.
func HealthOf(streaks map[netip.Addr]inventory.Streak) inventory.Health {
	results := make([]inventory.Result, 0, len(streaks))
	for address := range streaks {
		results = append(results, inventory.Result{Address: address})
	}
	return inventory.Health{}.Fold(results, func(_ inventory.Streak, r inventory.Result) inventory.Streak { return streaks[r.Address] })
}
