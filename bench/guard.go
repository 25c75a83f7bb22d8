package bench

import (
	"net/netip"
	"slices"
	"strconv"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory/inventorytest"
)

// DefaultPolicy is the guard's as configured by default.
func DefaultPolicy() guard.Policy {
	return guard.Policy{
		Rise: 2, Fall: 3, Interval: 2 * time.Second, MaxSilentPercent: 50, FailOpen: true,
		Threshold: 10, MaxRemovalPercent: 50, DrainPeriod: 30 * time.Second,
	}
}

// Decision is what the guard decides on when a read brings the fleet after and
// before was published.
func Decision(before, after Fleet) guard.Input {
	now := time.Unix(0, 0)
	memory := guard.Decide(observed(before, now), DefaultPolicy()).Memory
	in := observed(after, now.Add(time.Minute))
	in.Memory = memory
	return in
}

// observed is a read of the fleet, each of it probed.
func observed(fleet Fleet, now time.Time) guard.Input {
	read := guard.Inventory{Nodes: len(fleet), Scheduled: true}
	health := make(map[netip.Addr]inventory.Streak, len(fleet))
	for _, b := range fleet {
		number, address := strconv.Itoa(b.Number), b.Address()
		read.Candidates = append(read.Candidates, inventory.Candidate{
			Address: address, Zone: b.Zone(), Node: inventory.Identity{ID: "id-" + number, Name: "node-" + number},
		})
		result := inventory.Result{Address: address, At: now, Outcome: inventory.Pass, Reason: inventory.Ready, Message: "connected"}
		streak := inventory.Streak{Passes: 7}
		if !b.Ready {
			result.Outcome, result.Reason, result.Message = inventory.Refused, inventory.ProbeRefused, "refused"
			streak = inventory.Streak{Fails: 7}
		}
		streak.Last = result
		health[address] = streak
	}
	slices.SortFunc(read.Candidates, func(a, b inventory.Candidate) int { return a.Address.Compare(b.Address) })
	return guard.Input{Now: now, Read: &read, Health: inventorytest.HealthOf(health)}
}
