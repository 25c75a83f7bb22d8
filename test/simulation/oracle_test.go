//go:build simulation

package simulation_test

import (
	"net/netip"
	"slices"
	"strings"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// slack is how much later than it was decided something may be sent.
const slack = 2 * time.Second

// checkRequest checks a write when it is sent; its result does not matter.
func (p *process) checkRequest(write publish.Write) {
	w, name := p.w, write.Slice.Name
	p.checkHolder()
	p.checkPace(name)
	w.note("process %d sends %s %s at %q: %v", p.number, write.Operation, name, write.Slice.Version, statesOf(write.Slice))
	if write.Operation != publish.Create && write.Operation != publish.Update {
		w.breach(24, "operation %s of slice %s", write.Operation, name)
	}
	if name != w.target.SliceName && !strings.HasPrefix(name, w.target.SliceName+"-") {
		w.breach(23, "slice %s has no name of ours", name)
	}
	if write.Operation == publish.Update && write.Slice.Version == "" {
		w.breach(21, "an update of %s without a resourceVersion", name)
	}
	if fence := string(write.Operation) + " " + write.Slice.Version; write.Operation == publish.Update && p.refused[name] == fence {
		w.breach(21, "%s was sent again at version %q, which was a conflict before", name, write.Slice.Version)
	}
	for _, m := range write.Slice.Endpoints {
		if !allowed(m.Address) {
			w.breach(6, "%s is published", m.Address)
		}
	}
	have, ok := w.slice(name)
	if ok && have.Version == write.Slice.Version && have.Drift == "" && have.Owner == write.Slice.Owner &&
		slices.Equal(have.Endpoints, write.Slice.Endpoints) && slices.Equal(have.Ports, write.Slice.Ports) {
		w.breach(22, "slice %s is written without a difference", name)
	}
	p.checkFresh(write)
	p.noteLoss(write)
	p.informed[name] = time.Time{}
	if p.sawAt.After(w.handAt) && p.sawAt.After(p.otherAt) {
		p.informed[name] = time.Now()
	}
	// What the last load showed was decided on; rough parts end in the future
	// while they last.
	known := p.loadedAt.After(w.rough["service since"])
	if known && w.serviceGone() {
		w.breach(25, "slice %s is written without its Service", name)
	}
	if known && write.Operation == publish.Create && w.serviceWrong() {
		w.breach(25, "slice %s is created although the Service is not as it should be", name)
	}
}

// landed checks a write that changed the store, and what it did to the endpoints.
func (p *process) landed(write publish.Write, before *discoveryv1.EndpointSlice, was map[netip.Addr]inventory.State) {
	w, name := p.w, write.Slice.Name
	if before != nil {
		if value, ok := before.Labels[touched]; ok && w.object(name).Labels[touched] != value {
			w.breach(23, "a foreign label of %s is lost", name)
		}
		if managed := before.Labels[discoveryv1.LabelManagedBy]; managed != w.target.ManagedBy {
			w.breach(23, "slice %s of %q was written", name, managed)
		}
	}
	is := w.truth()
	for _, a := range sorted(was) {
		if sent := p.informed[name]; w.handAt.Before(sent) && p.otherAt.Before(sent) { // it cannot heed what it could not see
			p.checkMove(a, name, p.published(a, was[a]), decided(write.Slice, a, was[a], is[a]))
		}
	}
	if p.sawAt.After(w.handAt) && p.sawAt.After(p.otherAt) {
		p.checkLast(was, is, name, write.Slice.Family)
	}
	for _, is4 := range []bool{true, false} {
		p.noteEmptied(is4, was, is)
	}
	for _, m := range write.Slice.Endpoints {
		if m.State == inventory.StateReady && was[m.Address] == inventory.Absent && p.sawAt.After(w.handAt) && p.sawAt.After(p.otherAt) {
			p.checkJoining(m.Address)
		}
		if _, ok := p.drainsAt[m.Address]; m.State != inventory.StateDraining {
			delete(p.drainsAt, m.Address)
		} else if !ok {
			p.drainsAt[m.Address] = time.Now()
		}
		if m.State == inventory.StateReady {
			p.readyAt[m.Address] = write.Trigger
		}
	}
	p.slices[name], p.landedAt = statesOf(write.Slice), time.Now()
	for _, other := range []*process{w.daemon, w.second} {
		if other != nil && other != p {
			other.otherAt = time.Now()
		}
	}
	w.counts["landed"]++
}

// decided is the state in which a write left an address that was published in another
// state before. It is the state in the slice itself, also where a worse copy stands
// elsewhere. If only that copy is left, the decision is unknown.
func decided(s publish.Slice, a netip.Addr, was, is inventory.State) inventory.State {
	switch own := s.StateOf(a); {
	case was == is, is == inventory.Absent:
		return is
	case own == inventory.Absent:
		return was
	default:
		return own
	}
}

// checkMove checks one endpoint's way from one published state to the next.
func (p *process) checkMove(a netip.Addr, slice string, from, to inventory.State) {
	serving := from == inventory.StateReady || from == inventory.StateDraining
	if from == inventory.StateDown && to == inventory.Absent {
		p.checkDropped(a, slice)
	}
	if from != inventory.Absent && to == inventory.Absent {
		p.checkTold(a, slice)
	}
	if !serving || from == to || p.w.injected(a) {
		return
	}
	w := p.w
	fell := p.hasFallen(a)
	switch to {
	case inventory.StateDown:
		p.checkHeld(a, slice)
		// What it published itself since the start is its own to take back.
		if w.set.policy.FailOpen && p.passedAt[a.Is4()].IsZero() && p.found[a] != inventory.Absent && w.pair == nil {
			w.breach(28, "%s went %s to down before anything passed since the restart", a, from)
		}
		if w.set.policy.FailOpen && !fell && !p.moved(a) {
			w.breach(10, "%s went %s to down after fewer than FALL=%d failures", a, from, w.set.policy.Fall)
		}
		if w.set.policy.HealthOff {
			w.breach(13, "%s is down with HEALTH_CHECK_MODE=off", a)
		}
		if w.cutOffFor(5*time.Second) && w.pair == nil && w.standing[a] && w.stays(a) && !p.letGo(a, slice) {
			w.breach(14, "%s was demoted while the prober was cut off", a)
		}
	case inventory.StateDraining, inventory.Absent:
		w.counts["left"]++
		p.checkLeaving(a, slice, from, to, fell)
	case inventory.StateReady:
	}
}

// checkJoining checks that an address that was not published enters by a pass of
// the node that has it: a check that was sent before a read listed it there says
// nothing of it (contract 7).
func (p *process) checkJoining(a netip.Addr) {
	w := p.w
	late := !w.smooth(time.Minute, "store", "service", "slices") // then it may have been decided earlier
	if w.set.policy.HealthOff || p.openOfLate() || late || w.injected(a) || p.published(a, inventory.StateReady) != inventory.Absent {
		return
	}
	if since, ok := p.listedSince[a]; ok && p.sentAtPass[a].Before(since) && time.Since(p.sentAtPass[a]) > slack {
		w.breach(7, "%s became ready without a check since the read that gave it to %s", a, p.holders[a])
	}
}

// injected reports whether only another client ever publishes the address.
func (w *world) injected(a netip.Addr) bool {
	return a.String() == w.unused(discoveryv1.AddressTypeIPv4) || a.String() == w.unused(discoveryv1.AddressTypeIPv6)
}

// noteEmptied notes that a write left nothing of a family ready. Where several
// slices are written, a later one may make that good.
func (p *process) noteEmptied(is4 bool, was, is map[netip.Addr]inventory.State) {
	if serving(is, is4) > 0 {
		p.emptied[is4] = false
	} else if serving(was, is4) > 0 {
		p.emptied[is4] = true
	}
}

// checkNotEmpty is contract 15, after every decision was written: health alone never
// empties a family.
func (p *process) checkNotEmpty(is4 bool) {
	emptied := p.emptied[is4]
	p.emptied[is4] = false
	if !emptied || !p.w.set.policy.FailOpen || !p.w.smooth(20*time.Second, "store", "slices", "service") {
		return
	}
	present := netip.Addr{}
	for _, m := range p.w.nodes {
		for _, a := range m.Addresses {
			if a.Is4() == is4 && p.listedFor(a, 10*time.Second) {
				present = a
			}
		}
	}
	if present.IsValid() {
		p.w.breach(15, "nothing is left ready although %s is present", present)
	}
}

// listedFor reports whether all reads of that time and the one before list the
// address as staying.
func (p *process) listedFor(a netip.Addr, d time.Duration) bool {
	since, ok := p.staysSince[a]
	return ok && time.Since(since) > d
}

// serving counts the endpoints of a family that get traffic.
func serving(members map[netip.Addr]inventory.State, is4 bool) int {
	n := 0
	for a, state := range members {
		if a.Is4() == is4 && (state == inventory.StateReady || state == inventory.StateDraining) {
			n++
		}
	}
	return n
}
