package many_test

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

const (
	// settled is how long a machine has to be as it is before it counts: three checks
	// with their time-outs, and the writes of that.
	settled = 15 * time.Second
	// afterStart is how long a process has to run.
	afterStart = 20 * time.Second
	// afterTrouble is how long a write that was refused again and again may wait.
	afterTrouble = 45 * time.Second
)

// seen is since when each address is published ready, by Service.
type seen map[string]map[netip.Addr]time.Time

// look checks the promises that hold at any time. The lock is held.
func (w *world) look() {
	for _, of := range wishes {
		published := w.local.published(of)
		w.checkKept(of, published)
		w.checkDead(of, published)
		ready := make(map[netip.Addr]time.Time)
		for addr, is := range published {
			if is == inventory.StateReady {
				ready[addr] = time.Now()
				if since, before := w.seen[of.key().String()][addr]; before {
					ready[addr] = since
				}
			}
		}
		w.seen[of.key().String()] = ready
	}
}

// checkKept checks that nothing takes a working backend away.
func (w *world) checkKept(of wish, published map[netip.Addr]inventory.State) {
	if time.Now().Before(w.rough[of.key().String()]) {
		return // the Service itself was deleted
	}
	for addr := range w.seen[of.key().String()] {
		m := w.at(addr)
		if m == nil || m.Leaving || !m.works(of.port) || time.Since(m.since) < settled {
			continue
		}
		if is := published[addr]; is != inventory.StateReady && !w.mayBeTaken(m, of.port) {
			w.breach("%s of Service %s works, was ready and is %q", m.Name, of.key(), is)
		}
	}
}

// mayBeTaken reports whether a truncated inventory may take the machine away: at most
// half of those that pass, as the settings allow (contract 4).
func (w *world) mayBeTaken(m *machine, port uint16) bool {
	for _, c := range w.clusters {
		if !slices.Contains(c.machines, m) || c.trouble != sourceTruncated || time.Since(c.until) > settled {
			continue
		}
		working := 0
		for _, other := range c.machines {
			if other.works(port) && time.Since(other.since) > settled {
				working++
			}
		}
		return working <= 4
	}
	return false
}

// checkDead checks that a dead backend is gone soon, where another one works and
// nothing that the Service needs is in trouble: not its namespace, and not its
// documents. Whatever happens to others is no excuse.
func (w *world) checkDead(of wish, published map[netip.Addr]inventory.State) {
	key := of.key().String()
	if w.process == nil || time.Since(w.process.since) < afterStart || time.Now().Before(w.rough[key]) ||
		time.Since(w.rough[of.namespace]) < afterTrouble || !w.soundNow() || time.Since(w.lastEdit) < settled {
		return
	}
	if !w.another(of) {
		return
	}
	for addr, is := range published {
		m := w.at(addr)
		if is != inventory.StateReady || m != nil && (m.works(of.port) || time.Since(m.since) < settled || w.silence(of, m)) {
			continue
		}
		if m == nil {
			continue // its machine left: what the source says counts, which may be in trouble
		}
		w.breach("%s of Service %s refuses for %s and is ready", m.Name, key, time.Since(m.since))
	}
}

// another reports whether a backend of the Service works for long and is published.
func (w *world) another(of wish) bool {
	for addr, since := range w.seen[of.key().String()] {
		m := w.at(addr)
		if time.Since(since) > settled && m != nil && !m.Leaving && m.works(of.port) && time.Since(m.since) > settled {
			return true
		}
	}
	return false
}

// silence reports whether the machine is silent: that may be the fault of the prober,
// and counts by its share (promise 14), which the guard's own tests check.
func (w *world) silence(of wish, m *machine) bool { return m.silent[0] || m.silent[of.port] }

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
