package pool

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/probe"
)

// Look decides once, for a command that ends then: what a Group does all the time.
type Look struct {
	// Prober is nil with Policy.HealthOff.
	Prober Prober
	Policy guard.Policy
	Rules  filter.Rules
	// Slots has room for as many checks as may be in flight. Looks may share it.
	Slots chan struct{}
}

// Decide checks members and the candidates of the inventory until all pass, at most
// the larger of Rise and Fall rounds with a pause between them. The inventory is decided
// on after the first round, as in Group.Run.
func (l Look) Decide(ctx context.Context, members []inventory.Member, read guard.Read) (guard.Verdict, inventory.Health, error) {
	var health inventory.Health
	ineligible := Ineligible(members, l.Rules)
	var addrs []netip.Addr
	for _, m := range members {
		if !ineligible[m.Address] {
			addrs = append(addrs, m.Address)
		}
	}
	for _, c := range read.Candidates {
		addrs = append(addrs, c.Address)
	}
	in := guard.Input{Read: &read, Memory: guard.Recover(members, time.Now()).Forbid(ineligible)}
	for round := 1; ; round++ {
		health = probe.Advance(health, l.checkAll(ctx, addrs))
		in.Now, in.Health = time.Now(), health
		verdict := guard.Decide(in, l.Policy)
		in.Read, in.Memory = nil, verdict.Memory
		if l.Policy.HealthOff || round >= max(l.Policy.Rise, l.Policy.Fall) || allPass(health) {
			return verdict, health, ctx.Err()
		}
		pause := time.NewTimer(fastInterval(l.Policy))
		select {
		case <-ctx.Done():
			pause.Stop()
			return verdict, health, ctx.Err()
		case <-pause.C:
		}
	}
}

// allPass reports whether every address passes, so that no further round is needed.
func allPass(health inventory.Health) bool {
	for _, streak := range health.All() {
		if streak.Passes == 0 {
			return false
		}
	}
	return true
}

// checkAll checks the addresses once each.
func (l Look) checkAll(ctx context.Context, addrs []netip.Addr) []inventory.Result {
	if l.Policy.HealthOff {
		return nil
	}
	seen := make(map[netip.Addr]bool, len(addrs))
	var mu sync.Mutex
	var results []inventory.Result
	var checks sync.WaitGroup
	for _, addr := range addrs {
		if seen[addr] {
			continue
		}
		seen[addr] = true
		l.Slots <- struct{}{}
		checks.Go(func() {
			defer func() { <-l.Slots }()
			result := l.Prober.Check(ctx, addr)
			mu.Lock()
			defer mu.Unlock()
			results = append(results, result)
		})
	}
	checks.Wait()
	return results
}
