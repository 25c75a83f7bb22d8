package many_test

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controllertest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

const (
	// settled is how long a machine has to be as it is before it counts: three checks
	// with their time-outs, and the writes of that.
	settled = 15 * time.Second
	// readAgain is how long a source that failed may take until it is asked again.
	readAgain = 5*time.Minute + settled
	// afterTrouble is how long a write that was refused again and again may wait, sentAgain how long
	// one that was stored otherwise (171).
	afterTrouble = 45 * time.Second
	sentAgain    = 5*time.Minute + settled
)

// look checks the promises that hold at any time. The lock is held.
func (w *world) look() {
	for _, p := range w.set.Pools() {
		w.known[p.Name] = true
	}
	published := w.local.published()
	for _, of := range w.wishes {
		key := of.key().String()
		away := controllertest.None
		if time.Now().Before(w.rough[key]) {
			away = controllertest.NoService
		}
		w.name(of)
		w.checkKept(of, published[key])
		if problem := w.oracle.Look(key, w.truth(of, published[key]), away); problem != "" {
			w.breach("%s", problem)
		}
		w.seen[key] = published[key]
	}
}

// may are the machines that a Service may have.
func (w *world) may(of wish) (all []*machine) {
	for _, pool := range w.uses(of) {
		all = append(all, w.Pools[pool].machines()...)
	}
	return all
}

// name notes since when the documents name the machines that they name of a Service. Where they name
// none, they speak of none any more, and take none away (204).
func (w *world) name(of wish) {
	before, after := w.named[of.key().String()], make(map[netip.Addr]time.Time)
	sound := w.soundNow() // else what is new may not be in effect
	for _, m := range w.may(of) {
		addr := m.Addresses[0]
		if since, is := before[addr]; is {
			after[addr] = since
		} else if sound {
			after[addr] = time.Now()
		}
	}
	if len(w.uses(of)) > 0 {
		w.named[of.key().String()] = after
	}
}

// checkKept checks that nothing takes a working backend away of those that the documents name.
func (w *world) checkKept(of wish, published map[netip.Addr]shownState) {
	key := of.key().String()
	if time.Now().Before(w.rough[key]) {
		return // the Service itself was deleted
	}
	seen, named := w.seen[key], w.named[key]
	for _, addr := range slices.SortedFunc(maps.Keys(seen), netip.Addr.Compare) {
		m := w.at(addr)
		if seen[addr].is != inventory.StateReady || m == nil || m.Leaving || !m.works(of.port) || time.Since(m.since) < settled {
			continue
		}
		late := settled // what was decided before that is written by then
		if w.cannotWrite(of, m.cluster()) {
			late = readAgain
		}
		if since, is := named[addr]; !is || time.Since(since) < late {
			continue
		}
		if is := published[addr].is; is != inventory.StateReady && !w.mayBeTaken(m, of, published) && !w.mayBeLeft(m, of, published) && !w.local.lately(leavesOut, sentAgain, of.namespace, m.cluster()) {
			w.breach("%s of Service %s works, was ready and is %q", m.Name, key, is)
		}
	}
}

// truncated reports whether the newest inventory that is in effect may be a truncated one. Where writes
// are refused, or the source went on to fail, that lasts.
func (w *world) truncated(of wish, c *cluster) bool {
	late := (w.cannotWrite(of, c.name) || c.trouble != sourceTruncated) && time.Since(c.truncated) < readAgain
	return late || time.Since(c.truncated) <= settled
}

// mayBeTaken reports whether a truncated inventory may take the machine away, of the pools that the
// Service wants and those whose slices have it: at most half of those of a pool that pass, as the settings allow (contract 4).
func (w *world) mayBeTaken(m *machine, of wish, published map[netip.Addr]shownState) bool {
	if !w.truncated(of, w.clusters[m.cluster()]) {
		return false
	}
	pools := w.uses(of)
	for _, all := range []map[netip.Addr]shownState{published, w.seen[of.key().String()]} {
		for _, s := range all {
			pools = slices.Concat(pools, s.in)
		}
	}
	return slices.ContainsFunc(pools, func(pool string) bool {
		its, working := w.pools[pool].part.machines(), 0
		for _, other := range its {
			if other.works(of.port) && time.Since(other.since) > settled {
				working++
			}
		}
		return slices.Contains(its, m) && working <= 4
	})
}

// mayBeLeft reports whether a hand-over may leave the machine behind with the old pool (201): it works
// only since the source was truncated, so the new pool has not heard of it, and at least half of what
// was ready still is.
func (w *world) mayBeLeft(m *machine, of wish, published map[netip.Addr]shownState) bool {
	c, seen := w.clusters[m.cluster()], w.seen[of.key().String()]
	wanted := func(pool string) bool { return slices.Contains(w.uses(of), pool) }
	if time.Since(c.truncated) >= readAgain || m.since.Before(c.lies) || slices.ContainsFunc(seen[m.Addresses[0]].in, wanted) {
		return false
	}
	before, after := 0, 0
	for addr, s := range seen {
		if s.is == inventory.StateReady {
			before++
			if published[addr].is == inventory.StateReady {
				after++
			}
		}
	}
	return 2*after >= before
}

// truth are the endpoints of a Service: those that are published, and those that its pools have.
func (w *world) truth(of wish, published map[netip.Addr]shownState) []controllertest.Endpoint {
	all := make(map[netip.Addr]controllertest.Endpoint)
	for _, m := range w.may(of) {
		all[m.Addresses[0]] = controllertest.Endpoint{Unable: w.unable(of, m, published[m.Addresses[0]].is)}
	}
	uses := inventory.StateDraining
	for addr, s := range published {
		if s.is == inventory.StateReady {
			uses = s.is
		}
		if _, there := all[addr]; !there {
			all[addr] = controllertest.Endpoint{Unable: controllertest.Replaced}
		}
	}
	var sorted []controllertest.Endpoint
	for _, addr := range slices.SortedFunc(maps.Keys(all), netip.Addr.Compare) {
		e, m := all[addr], w.at(addr)
		e.Old = slices.ContainsFunc(published[addr].in, func(pool string) bool { return !slices.Contains(w.uses(of), pool) })
		e.At, e.Used, e.Answers = netip.AddrPortFrom(addr, of.port), published[addr].is == uses, m.works(of.port)
		e.Stays = w.stays(of, addr, published)
		sorted = append(sorted, e)
	}
	controllertest.TooFew(sorted)
	return sorted
}

// unable is why a machine cannot be published for a Service. A source that fails changes nothing of one
// that a slice has (1), and a wrong inventory that is rejected neither.
func (w *world) unable(of wish, m *machine, is inventory.State) controllertest.Promise {
	c := w.clusters[m.cluster()]
	switch {
	case w.local.lately(leavesOut, sentAgain, of.namespace, c.name):
		return controllertest.StoredOtherwise
	case m.Leaving, w.truncated(of, c), is == inventory.Absent && time.Since(c.until) < readAgain:
		return controllertest.WrongInventory
	case w.cannotWrite(of, m.cluster()):
		return controllertest.CannotWrite
	case w.local.lately(refusesCreates, afterTrouble, of.namespace, c.name):
		return controllertest.Refused
	case !w.soundNow():
		return controllertest.Kept
	}
	return controllertest.None
}

// cannotWrite reports whether what is decided of machines of a cluster may not have been written yet.
func (w *world) cannotWrite(of wish, cluster string) bool {
	return w.local.lately(refusesWrites, afterTrouble, of.namespace, cluster) || w.local.lately(isNotWatched, afterTrouble, of.namespace)
}

// stays is why an endpoint may stay when it is dead. A machine that is gone is silent: that may be
// the fault of the prober where so many others are silent too. Else nothing that happens to others is
// an excuse.
func (w *world) stays(of wish, addr netip.Addr, published map[netip.Addr]shownState) controllertest.Promise {
	in := published[addr].in
	switch {
	case w.silent(of, addr) && slices.ContainsFunc(in, func(pool string) bool { return w.manySilent(of, pool, published) }):
		return controllertest.CutOff
	case slices.ContainsFunc(in, w.undescribed):
		return controllertest.Kept
	case slices.ContainsFunc(in, func(pool string) bool { return w.cannotWrite(of, w.pools[pool].part.cluster.name) }):
		return controllertest.CannotWrite
	}
	return controllertest.None
}

// silent reports whether nothing answers at an address.
func (w *world) silent(of wish, addr netip.Addr) bool {
	m := w.at(addr)
	return m == nil || m.silent[0] || m.silent[of.port]
}

// manySilent reports whether so many endpoints of a pool are silent, or were a moment ago, that it may
// be put down to the prober (14). Those that leave do not count where they answer, nor do those that a
// truncated inventory leaves out: then one may be enough.
func (w *world) manySilent(of wish, pool string, published map[netip.Addr]shownState) bool {
	silent, all := 0, 0
	for addr, s := range published {
		m := w.at(addr)
		lately := w.silent(of, addr) || time.Since(m.since) < settled
		if !slices.Contains(s.in, pool) || m != nil && m.Leaving && !lately {
			continue
		}
		all++
		if lately {
			silent++
		}
	}
	return 2*silent > all || silent >= all || w.truncated(of, w.pools[pool].part.cluster)
}

// undescribed reports whether this process has read no document of a pool.
func (w *world) undescribed(pool string) bool { return !w.known[pool] }

// right returns why the slices of a Service are not what they should be in the end: all
// that works is ready, and nothing else is where something works. What is down may stay
// in a slice while nothing of its pool passes. Where too few of a pool work, it takes the place of
// nothing (201).
func (w *world) right(of wish, published map[netip.Addr]shownState) string {
	serves, old := make(map[netip.Addr]bool), 0
	for _, e := range w.truth(of, published) {
		if e.Old && e.Used && (e.Answers || e.Stays != controllertest.None) {
			old++
		}
	}
	for _, pool := range w.uses(of) {
		work := 0
		for _, m := range w.Pools[pool].machines() {
			if m.works(of.port) && !m.Leaving {
				serves[m.Addresses[0]] = true
				work++
			}
		}
		if 2*work < old {
			return ""
		}
	}
	for addr := range serves {
		if published[addr].is != inventory.StateReady {
			return fmt.Sprintf("%s works and is %q", w.at(addr).Name, published[addr].is)
		}
	}
	for addr, s := range published {
		if s.is == inventory.StateReady && !serves[addr] && len(serves) > 0 {
			return fmt.Sprintf("%s is %q and does not work, or is not wanted", addr, s.is)
		}
	}
	return ""
}

// wrong lists the Services that are not right.
func (w *world) wrong() (found []string) {
	published := w.local.published()
	for _, of := range w.wishes {
		if problem := w.right(of, published[of.key().String()]); problem != "" {
			found = append(found, of.key().String()+": "+problem)
		}
	}
	slices.Sort(found)
	return found
}
