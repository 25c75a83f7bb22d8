package guard_test

import (
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// several are pools, and targets that take endpoints from some of them.
type several struct {
	pools   []*machine
	targets []*severalTarget
}

// severalTarget is one Service; its maps are by pool.
type severalTarget struct {
	pools []*machine
	// own are what its slices held at the last restart, written what they hold.
	own, written map[*machine][]inventory.Member
}

func newSeveral(t *rapid.T, policy guard.Policy) *several {
	s := &several{}
	for range rapid.IntRange(2, 3).Draw(t, "pools") {
		s.pools = append(s.pools, newMachine(t, policy))
	}
	for range rapid.IntRange(1, 3).Draw(t, "targets") {
		target := &severalTarget{own: map[*machine][]inventory.Member{}, written: map[*machine][]inventory.Member{}}
		for _, p := range s.pools {
			if rapid.IntRange(0, 3).Draw(t, "uses") > 0 {
				target.pools = append(target.pools, p)
			}
		}
		s.targets = append(s.targets, target)
	}
	s.publish(t, false)
	return s
}

// actions are those of each pool, and a restart of all.
func (s *several) actions() map[string]func(*rapid.T) {
	all := map[string]func(*rapid.T){"restart": s.restart}
	for name := range s.pools[0].actions() {
		if name == "restart" || name == "writes break or heal" {
			continue
		}
		all[name] = func(t *rapid.T) {
			s.pools[rapid.IntRange(0, len(s.pools)-1).Draw(t, "pool")].actions()[name](t)
			s.publish(t, name != "good read" && name != "good read again" && name != "bad read")
		}
	}
	return all
}

// others returns what works in the other pools of the target.
func (target *severalTarget) others(pool *machine) guard.WorkByFamily {
	var works guard.WorkByFamily
	for _, p := range target.pools {
		if p != pool {
			works = works.And(p.verdict.Working())
		}
	}
	return works
}

// publish has every target publish, and holds it to the contract. Where no
// inventory came, health alone has to empty nothing.
func (s *several) publish(t *rapid.T, byHealth bool) {
	for _, target := range s.targets {
		before := target.all()
		for _, p := range target.pools {
			target.written[p] = p.verdict.Published(target.others(p), target.own[p])
			if !slices.IsSortedFunc(target.written[p], inventory.CompareMembers) {
				t.Fatalf("not sorted: %v", target.written[p])
			}
		}
		for _, is4 := range []bool{true, false} {
			target.check(t, before, is4, byHealth)
		}
	}
}

// all returns what the target publishes.
func (target *severalTarget) all() []inventory.Member {
	var all []inventory.Member
	for _, p := range target.pools {
		all = append(all, target.written[p]...)
	}
	return all
}

// serves reports whether something of the family is in that state or a better one.
func serves(members []inventory.Member, is4 bool, worst inventory.State) bool {
	return slices.ContainsFunc(members, func(m inventory.Member) bool { return m.Address.Is4() == is4 && m.State <= worst })
}

// check holds one family of one target to what several pools have to give:
//
//	a passing endpoint of any pool       something is ready
//	health alone                         never empties it
//	the state of an endpoint that works  the same as with one pool
//	one that refuses FALL times          not ready while another pool works
func (target *severalTarget) check(t *rapid.T, before []inventory.Member, is4, byHealth bool) {
	after := target.all()
	policy := target.policy()
	for _, p := range target.pools {
		for _, m := range p.verdict.Members {
			streak := p.health.Of(m.Address)
			if is := inventory.StateOf(target.written[p], m.Address); m.Address.Is4() == is4 && is == inventory.StateReady && target.refuses(p, m.Address) {
				t.Fatalf("%s is dead and %s, while another pool works", nameOf(m.Address), is)
			}
			if m.Address.Is4() != is4 || m.State != inventory.StateReady || streak.Passes < policy.Rise {
				continue
			}
			if !serves(after, is4, inventory.StateReady) {
				t.Fatalf("%s passes, but nothing is ready: %q", nameOf(m.Address), statesOf(after))
			}
			if got := inventory.StateOf(target.written[p], m.Address); got != inventory.StateReady && got != inventory.StateDraining {
				t.Fatalf("%s passes and is ready in its pool, but %s in the target", nameOf(m.Address), got)
			}
		}
	}
	if policy.FailOpen && byHealth && serves(before, is4, inventory.StateDraining) && !serves(after, is4, inventory.StateDraining) && target.present(is4) {
		t.Fatalf("health alone made %q of %q", statesOf(after), statesOf(before))
	}
}

// refuses reports whether an endpoint of a pool has refused FALL times in a row, and one of another pool
// works.
func (target *severalTarget) refuses(p *machine, a netip.Addr) bool {
	streak, works := p.health.Of(a), target.others(p)
	work := works.IPv6
	if a.Is4() {
		work = works.IPv4
	}
	r := p.models[a.Is4()].records[a]
	return work == guard.ReadyWorks && streak.Fails >= p.policy.Fall && streak.SilentAt.IsZero() && streak.Last.Outcome == inventory.Refused && !r.strange()
}

func (target *severalTarget) policy() guard.Policy {
	if len(target.pools) == 0 {
		return guard.Policy{}
	}
	return target.pools[0].policy
}

// present reports whether some pool has endpoints of the family that stay.
func (target *severalTarget) present(is4 bool) bool {
	return slices.ContainsFunc(target.pools, func(p *machine) bool {
		for _, r := range p.models[is4].records {
			if r.place == staying && r.member() {
				return true
			}
		}
		return false
	})
}

// restart forgets everything but the slices: each pool starts from the best state
// that any target publishes, and each target publishes what it did.
func (s *several) restart(t *rapid.T) {
	for _, p := range s.pools {
		var best []inventory.Member
		for _, target := range s.targets {
			for _, m := range target.written[p] {
				i, found := slices.BinarySearchFunc(best, m, inventory.CompareMembers)
				switch {
				case !found:
					best = slices.Insert(best, i, m)
				case m.State < best[i].State:
					best[i] = m
				}
			}
		}
		p.written = best
		p.restart(t)
	}
	for _, target := range s.targets {
		before := statesOf(target.all())
		for _, p := range target.pools {
			target.own[p] = target.written[p]
			target.written[p] = p.verdict.Published(target.others(p), target.own[p])
		}
		if got := statesOf(target.all()); got != before && !target.policy().HealthOff {
			t.Fatalf("the restart made %q of %q", got, before)
		}
	}
}

func TestContract50SeveralPoolsNeverLeaveAServiceWithoutAPassingEndpoint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		policy := drawPolicy(t)
		if rapid.Bool().Draw(t, "defaults") {
			policy = defaults()
		}
		s := newSeveral(t, policy)
		t.Repeat(s.actions())
	})
}
