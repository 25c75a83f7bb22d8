package many_test

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
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
	for _, of := range wishes {
		published := w.local.published(of)
		w.checkKept(of, published)
		away := controllertest.None
		if time.Now().Before(w.rough[of.key().String()]) {
			away = controllertest.NoService
		}
		if problem := w.oracle.Look(of.key().String(), w.truth(of, published), away); problem != "" {
			w.breach("%s", problem)
		}
		w.seen[of.key().String()] = published
	}
}

// checkKept checks that nothing takes a working backend away.
func (w *world) checkKept(of wish, published map[netip.Addr]inventory.State) {
	if time.Now().Before(w.rough[of.key().String()]) {
		return // the Service itself was deleted
	}
	seen := w.seen[of.key().String()]
	for _, addr := range slices.SortedFunc(maps.Keys(seen), netip.Addr.Compare) {
		m := w.at(addr)
		if seen[addr] != inventory.StateReady || m == nil || m.Leaving || !m.works(of.port) || time.Since(m.since) < settled {
			continue
		}
		if is := published[addr]; is != inventory.StateReady && !w.mayBeTaken(m, of) && !w.local.lately(leavesOut, sentAgain, of.namespace, m.pool()) {
			w.breach("%s of Service %s works, was ready and is %q", m.Name, of.key(), is)
		}
	}
}

// mayBeTaken reports whether a truncated inventory may take the machine away: at most
// half of those that pass, as the settings allow (contract 4). Where writes are refused, that is
// written later.
func (w *world) mayBeTaken(m *machine, of wish) bool {
	for _, c := range w.clusters {
		late := w.cannotWrite(of, m) && time.Since(c.truncated) < readAgain
		if !slices.Contains(c.machines, m) || !late && time.Since(c.truncated) > settled {
			continue
		}
		working := 0
		for _, other := range c.machines {
			if other.works(of.port) && time.Since(other.since) > settled {
				working++
			}
		}
		return working <= 4
	}
	return false
}

// truth are the endpoints of a Service: those that are published, and those that its pools have.
func (w *world) truth(of wish, published map[netip.Addr]inventory.State) []controllertest.Endpoint {
	all := make(map[netip.Addr]controllertest.Endpoint)
	for _, name := range of.pools {
		c := w.clusters[name]
		for _, m := range c.machines {
			all[m.Addresses[0]] = controllertest.Endpoint{Unable: w.unable(of, c, m)}
		}
	}
	uses := inventory.StateDraining
	for addr, is := range published {
		if is == inventory.StateReady {
			uses = is
		}
		if _, there := all[addr]; !there {
			all[addr] = controllertest.Endpoint{Unable: controllertest.WrongInventory}
		}
	}
	var sorted []controllertest.Endpoint
	for _, addr := range slices.SortedFunc(maps.Keys(all), netip.Addr.Compare) {
		e, m := all[addr], w.at(addr)
		e.At, e.Used, e.Answers = netip.AddrPortFrom(addr, of.port), published[addr] == uses, m.works(of.port)
		e.Stays = w.stays(of, m)
		sorted = append(sorted, e)
	}
	return sorted
}

// unable is why a machine cannot be published for a Service.
func (w *world) unable(of wish, c *cluster, m *machine) controllertest.Promise {
	switch {
	case w.local.lately(leavesOut, sentAgain, of.namespace, c.name):
		return controllertest.StoredOtherwise
	case m.Leaving, time.Since(c.until) < readAgain:
		return controllertest.WrongInventory
	case w.cannotWrite(of, m):
		return controllertest.CannotWrite
	case w.local.lately(refusesCreates, afterTrouble, of.namespace, c.name):
		return controllertest.Refused
	case !w.soundNow():
		return controllertest.Kept
	}
	return controllertest.None
}

// cannotWrite reports whether what is decided of a machine may not have been written yet.
func (w *world) cannotWrite(of wish, m *machine) bool {
	return w.local.lately(refusesWrites, afterTrouble, of.namespace, m.pool()) || w.local.lately(isNotWatched, afterTrouble, of.namespace)
}

// stays is why an endpoint may stay when it is dead. Whatever happens to others is no excuse. A
// machine that is gone is silent: that may be the fault of the prober, and counts by its share,
// which the guard's own tests check.
func (w *world) stays(of wish, m *machine) controllertest.Promise {
	switch {
	case m == nil, m.silent[0], m.silent[of.port]:
		return controllertest.CutOff
	case w.cannotWrite(of, m):
		return controllertest.CannotWrite
	case !slices.ContainsFunc(w.set.Pools(), func(p *v1alpha1.EndpointPool) bool { return p.Name == m.pool() }):
		return controllertest.Kept
	}
	return controllertest.None
}

// right returns why the slices of a Service are not what they should be in the end: all
// that works is ready, and nothing else is where something works. What is down may stay
// in a slice while nothing of its pool passes.
func (w *world) right(of wish) string {
	published := w.local.published(of)
	serves := make(map[netip.Addr]bool)
	for _, name := range of.pools {
		for _, m := range w.clusters[name].machines {
			if m.works(of.port) && !m.Leaving {
				serves[m.Addresses[0]] = true
			}
		}
	}
	for addr := range serves {
		if published[addr] != inventory.StateReady {
			return fmt.Sprintf("%s works and is %q", w.at(addr).Name, published[addr])
		}
	}
	for addr, is := range published {
		if is == inventory.StateReady && !serves[addr] && len(serves) > 0 {
			return fmt.Sprintf("%s is %q and does not work", addr, is)
		}
	}
	return ""
}

// wrong lists the Services that are not right.
func (w *world) wrong() (found []string) {
	for _, of := range wishes {
		if problem := w.right(of); problem != "" {
			found = append(found, of.key().String()+": "+problem)
		}
	}
	slices.Sort(found)
	return found
}
