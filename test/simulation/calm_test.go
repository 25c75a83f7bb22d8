//go:build simulation

package simulation_test

import (
	"net/netip"
	"slices"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// calm ends everything that is wrong; some backends may go on refusing. The
// caller has the lock.
func (w *world) calm() {
	w.note("calm")
	w.calmAt = time.Now()
	clear(w.stuck)
	w.source, w.storing, w.loading, w.probing = fault{}, fault{}, fault{}, fault{}
	w.rough["service until"], w.rough["daemon until"] = time.Time{}, time.Time{}
	for _, one := range w.replicas {
		if one != nil {
			one.way, one.again = fault{}, time.Time{}
		}
	}
	w.calmPair()
	r := w.dice("calm", 0)
	if len(w.nodes) == 0 {
		w.join(w.free(r)...)
	}
	for _, n := range w.nodes {
		for _, a := range n.Addresses {
			if is := pick(r, passes, passes, passes, refuses); !w.set.forced {
				w.behave(a, is)
			} else {
				// What refuses is down to the one that published it, and nothing
				// to the other: they could repair it for ever.
				w.behave(a, passes)
			}
		}
	}
	if w.set.forced {
		// Nor may anything pass that only one of them keeps.
		for _, a := range sorted(w.backends) {
			if !w.stays(a) {
				w.behave(a, refuses)
			}
		}
	}
	for _, s := range w.store.Slices() {
		if s.Name != besideName && s.Labels[discoveryv1.LabelManagedBy] != w.target.ManagedBy {
			w.note("%s of somebody else is deleted", s.Name)
			w.drop(s.Name)
		}
	}
	w.setService(w.service)
	w.tell()
	w.signal()
}

// waitTimeout is how long after a storm the slices may still be wrong: back-off of
// reads, Retry-After, rejected inventories, draining, an edit war, and a moment.
func (w *world) waitTimeout() time.Duration {
	p := w.set.policy
	return 5*time.Minute + 90*time.Second + time.Duration(p.Threshold+1)*w.set.poll*11/10 + time.Duration(p.Threshold+2)*w.set.poll*11/10 + 2*p.DrainPeriod + 5*time.Minute + time.Minute + takeover
}

// settling is how long slices that are right must stay so: a read that began in the
// storm may still come.
func (w *world) settling() time.Duration {
	settling := w.set.sourceTimeout + 2*w.set.poll + w.set.policy.DrainPeriod + 30*time.Second
	if w.set.forced {
		// One process may still keep what the other has removed, until it accepts its
		// reads and its turn in their edit war has come.
		settling += time.Duration(w.set.policy.Threshold+1)*w.set.poll*11/10 + 5*time.Minute
	}
	return settling
}

// reporter takes a promise that is not kept.
type reporter func(contract int, format string, values ...any)

// isRight reports whether the slices publish what is there.
func (w *world) isRight() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	right := w.isStable()
	w.checkRight(func(int, string, ...any) { right = false })
	return right
}

// isStable reports whether all that runs has read the inventory since the calm
// began, and so often that what is kept stays for good.
func (w *world) isStable() bool {
	for _, p := range []*process{w.daemon, w.second} {
		if p == nil {
			continue
		}
		if len(p.reads) == 0 || p.reads[len(p.reads)-1].at.Before(w.calmAt) {
			return false
		}
		for a := range w.truth() {
			if m := p.missing[a]; m != nil && m.ended.IsZero() && m.since(w.calmAt) < w.set.policy.Threshold+3 {
				return false
			}
		}
		for _, m := range publish.Published(w.now()) {
			// What is kept and down goes when it was so at enough inventories.
			if kept := p.missing[m.Address]; kept != nil && kept.ended.IsZero() && m.State == inventory.StateDown {
				return false
			}
		}
	}
	return true
}

// checkRight checks that the slices publish what is there, and nothing else. The
// caller has the lock.
func (w *world) checkRight(report reporter) {
	got := map[netip.Addr]inventory.State{}
	for _, s := range w.now().Slices {
		for _, m := range s.Endpoints {
			if _, twice := got[m.Address]; twice {
				report(7, "%s is published twice", m.Address)
			}
			got[m.Address] = m.State
		}
		w.checkForm(report, s)
	}
	for _, is4 := range []bool{true, false} {
		w.checkFamily(report, got, is4)
	}
}

// checkForm checks contracts 19 and 20 on a stored slice.
func (w *world) checkForm(report reporter, s publish.Slice) {
	want := []publish.Port{{Name: "http", Protocol: publish.TCP, Number: 8080}}
	if s.Drift != "" || s.Owner != w.service.UID || !slices.Equal(s.Ports, want) {
		report(20, "slice %s is of %q with ports %v and drift %q", s.Name, s.Owner, s.Ports, s.Drift)
	}
	if !slices.IsSortedFunc(s.Endpoints, inventory.CompareMembers) {
		report(17, "slice %s is not sorted", s.Name)
	}
	for _, m := range s.Endpoints {
		if n := w.holder(m.Address); n != nil && w.stays(m.Address) && n.Zone != m.Zone {
			report(19, "%s is in zone %q, not %q", m.Address, m.Zone, n.Zone)
		}
	}
}

// checkFamily compares what one family publishes with what is there.
func (w *world) checkFamily(report reporter, got map[netip.Addr]inventory.State, is4 bool) {
	anyPasses, anyKept := false, false
	for a, b := range w.backends {
		anyPasses = anyPasses || a.Is4() == is4 && b.is == passes && w.stays(a)
		// Silence takes nothing away while nothing that is present passes (contract 14).
		spared := b.is == passes || b.is == silent && !w.stays(a)
		anyKept = anyKept || a.Is4() == is4 && spared && got[a] == inventory.StateReady
	}
	for a, state := range got {
		if a.Is4() == is4 && !w.stays(a) && !w.mayStay(a, state, anyPasses) {
			report(13, "%s is %s, and no node that stays has it", a, state)
		}
	}
	for a, b := range w.backends {
		if a.Is4() != is4 || !w.stays(a) {
			continue
		}
		state := got[a]
		switch {
		case w.set.policy.HealthOff && state != inventory.StateReady:
			report(13, "%s is %s with HEALTH_CHECK_MODE=off", a, state)
		case w.set.policy.HealthOff:
		case b.is == passes && state != inventory.StateReady:
			report(10, "%s passes and is %s", a, state)
		case b.is == refuses && anyPasses && state == inventory.StateReady:
			report(10, "%s refuses and is ready, while others pass", a)
		case b.is == refuses && !anyPasses && !anyKept && w.set.policy.FailOpen && state != inventory.StateReady && !w.isAsFound(a, got):
			report(15, "%s is %s, while nothing passes", a, state)
		case b.is == refuses && !anyPasses && !anyKept && !w.set.policy.FailOpen && state != inventory.StateDown:
			report(15, "%s is %s, while nothing passes and HEALTH_CHECK_FAIL_OPEN=false", a, state)
		}
	}
}

// mayStay reports whether an endpoint without a node may stay for good: rejected
// inventories remove nothing that passes (contract 13), and nothing while nothing
// else passes.
func (w *world) mayStay(a netip.Addr, state inventory.State, anyPasses bool) bool {
	if w.set.policy.HealthOff {
		return false
	}
	kept := false
	for _, p := range []*process{w.daemon, w.second} {
		if p != nil {
			m := p.missing[a]
			kept = kept || m != nil && m.ended.IsZero() && !m.certain
		}
	}
	b := w.backends[a]
	if b != nil && b.is == passes {
		return kept && state != inventory.StateDown || !anyPasses
	}
	return !anyPasses
}

// isAsFound reports whether the address is as the process found it: the process has
// seen nothing of the family pass since its start, and something of the family is
// ready. The fault may be the process itself. So its failures demote no endpoint,
// health leaves something ready (contract 15), and nothing that was published changes
// (contract 28, ADR 6). This does not hold for a process that found nothing ready.
func (w *world) isAsFound(a netip.Addr, got map[netip.Addr]inventory.State) bool {
	for _, p := range []*process{w.daemon, w.second} {
		if p != nil && p.recovered && p.passedAt[a.Is4()].IsZero() && got[a] == p.found[a] {
			return slices.ContainsFunc(sorted(got), func(other netip.Addr) bool {
				return other.Is4() == a.Is4() && got[other] == inventory.StateReady
			})
		}
	}
	return false
}
