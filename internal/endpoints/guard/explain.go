package guard

import (
	"fmt"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// decision says what became of the address in this stage.
func (r *row) decision(p *pool, w *world) inventory.Decision {
	d := inventory.Decision{Node: r.was.node, Address: r.address, Stage: inventory.StageGuard}
	if r.listed() {
		d.Node = r.candidate.Node
	}
	switch r.next {
	case inventory.StateReady:
		d.Reason, d.Message = r.explainReady(p, w)
	case inventory.StateDraining:
		d.Reason, d.Message = inventory.Draining, r.explainDraining(p, w)
	case inventory.StateDown:
		d.Reason, d.Message = r.explainFailing(w)
	case inventory.Absent:
		d.Reason, d.Message = r.explainAbsent(w)
		if r.listed() && r.candidate.podless {
			d.Reason = inventory.NoPod
		}
	}
	if r.next == inventory.StateReady && r.unprobed(w) {
		d.Message += r.explainRemoval(w)
	}
	if r.next != inventory.StateReady && w.placing.names(d.Node) {
		d.Message += explainPlaced(d.Reason)
	}
	if r.unchecked(w) {
		r.explainUnchecked(&d, w)
	}
	return d
}

// explainPlaced says why the check of a node with a ready Pod may fail behind policy Local.
func explainPlaced(reason inventory.Reason) string {
	if reason == inventory.ProbeTimeout {
		return "; a ready Pod is on the node, so its kube-proxy does not know the Pod yet, or the network drops the connection"
	}
	if reason == inventory.ProbeRefused {
		return "; a ready Pod is on the node, so the Pod refuses, or kube-proxy opens no NodePort at this address (nodePortAddresses)"
	}
	return ""
}

// explainUnchecked says that the address is not checked. Being ready is no result
// any more: the last check that counted is too old.
func (r *row) explainUnchecked(d *inventory.Decision, w *world) {
	if d.Reason == inventory.Ready {
		d.Reason = inventory.ProbePending
	}
	since := r.streak.TroubleSince.UTC().Format(time.DateTime + " UTC")
	d.Message = fmt.Sprintf("not checked since %s, longer than HEALTH_CHECK_FALL=%d intervals of %s: %s; before that: %s", since, w.policy.Fall, w.policy.Interval, r.streak.Trouble, d.Message)
}

// explainReady says why the address is published ready. The usual case costs no
// allocation.
func (r *row) explainReady(p *pool, w *world) (inventory.Reason, string) {
	last := r.streak.Last.Message
	switch {
	case r.condition != passing && w.failOpen:
		return inventory.ReadyFailOpen, joinText(last, ": ", "ready because no endpoint passes (HEALTH_CHECK_FAIL_OPEN=true)")
	case r.condition != passing && w.nonePassed:
		return inventory.ReadyFailOpen, joinText(last, ": ", "ready because no health check has passed since the start (HEALTH_CHECK_FAIL_OPEN=true)")
	case r.waits:
		return inventory.ReadyFailing, joinText(last, ": ", "stays ready until each endpoint has been checked once")
	case r.was.standing == unplaced && w.placing.spares:
		return w.placing.reason(), joinText("kept, though "+r.leaves()+": "+w.placing.why(w.policy), "; ", last)
	case r.kept() && r.was.announced:
		return inventory.ReadyHeld, joinText(r.explainKept(p)+"; ready, because no other endpoint passes and is ready", "; ", last)
	case r.kept():
		return inventory.ReadyHeld, joinText(r.explainKept(p), "; ", last)
	case r.drains:
		return inventory.ReadyDraining, joinText(fmt.Sprintf("%s: ready, because no other endpoint passes and is ready; drains when one that stays has passed HEALTH_CHECK_RISE=%d times in a row", r.leaves(), w.policy.Rise), "; ", last)
	case r.elsewhere() && r.condition != failing:
		return inventory.ReadyElsewhere, joinText(last, "; ", "replica "+r.streak.Unconnected.Replica+" connects to it")
	case r.protected(w):
		return inventory.ReadyHeld, joinText(last, "; ", w.silence)
	case r.condition == unknown:
		return inventory.ProbePending, r.explainPending("stays ready")
	case r.condition == belowFall:
		return inventory.ReadyFailing, joinText(last, ", ", fmt.Sprintf("failure %d of HEALTH_CHECK_FALL=%d in a row: still ready", r.fails(), w.policy.Fall))
	case r.condition == uncounted:
		return inventory.ReadyFailing, joinText(last, ", ", fmt.Sprintf("%s in a row: ready, because these failures do not count towards HEALTH_CHECK_FALL=%d: %s", inventory.Counted(r.streak.Fails, "time", "times"), w.policy.Fall, w.whyUncounted(r)))
	case w.policy.HealthOff:
		return inventory.Ready, "not checked, counts as passing (HEALTH_CHECK_MODE=off)"
	}
	return inventory.Ready, last
}

// whyUncounted says why failures of the address do not count.
func (w *world) whyUncounted(r *row) string {
	switch {
	case w.cutOff && r.silent():
		return w.silence
	case !w.mayDemote:
		return "no health check has passed since the start"
	}
	return "they began while failures did not count"
}

// explainKept says why a rejected inventory does not take the address away.
func (r *row) explainKept(p *pool) string {
	if r.was.announced {
		return "kept: the last inventory announced this node to leave, but was rejected: " + p.why
	}
	return "kept: the last inventory left this node out, but was rejected: " + p.why
}

// explainPending says that no health check of the address has counted yet, and
// what follows from that.
func (r *row) explainPending(follows string) string {
	seen := "no health check has counted yet"
	if !r.movedAt().IsZero() {
		seen = "no health check has counted since the address moved to node " + r.candidate.Node.Name
	}
	return joinText(seen, ": ", r.streak.Trouble) + "; " + follows
}

// leaves says how a leaving address leaves.
func (r *row) leaves() string {
	switch {
	case r.was.foreign:
		return "the address belongs to node " + r.was.node.Name + " now, which is not eligible"
	case r.was.standing == unplaced && r.was.announced:
		return "the Pods on node " + r.was.node.Name + " end"
	case r.was.standing == unplaced:
		return "no ready Pod is on node " + r.was.node.Name
	case r.was.announced:
		return "announced to leave"
	case r.was.standing == unread:
		return "draining before the restart, and no inventory has come since"
	}
	return "gone from the inventory"
}

// explainDraining says why the address is published draining.
func (r *row) explainDraining(p *pool, w *world) string {
	switch r.was.standing {
	case kept:
		if r.was.announced {
			return r.explainKept(p) + "; draining, and not removed while it passes"
		}
		return r.explainKept(p) + "; stays draining"
	case unread:
		return r.leaves()
	case present:
		return "listed again: stays draining until a health check counts"
	case unplaced:
		if w.placing.spares {
			return r.leaves() + "; draining, and not removed while it passes: " + w.placing.why(w.policy)
		}
	case leaving:
	}
	if r.lasts(w) {
		return fmt.Sprintf("%s: drains until an endpoint of the inventory passes HEALTH_CHECK_RISE=%d times in a row, or until HEALTH_CHECK_FALL=%d failures in a row", r.leaves(), w.policy.Rise, w.policy.Fall)
	}
	return fmt.Sprintf("%s: removed after DRAIN_PERIOD=%s, or at once after HEALTH_CHECK_FALL=%d failures in a row", r.leaves(), w.policy.DrainPeriod, w.policy.Fall)
}

// explainFailing says why the address is down, or not published yet. It names no
// count that grows with each check: findings would change for nothing.
func (r *row) explainFailing(w *world) (inventory.Reason, string) {
	last, until := r.streak.Last, fmt.Sprintf("no traffic until HEALTH_CHECK_RISE=%d passes in a row", w.policy.Rise)
	if r.was.standing == unplaced {
		until = r.leaves() + "; " + until
	}
	switch {
	case r.condition == unknown && r.next == inventory.Absent:
		return inventory.ProbePending, r.explainPending("published on its first pass")
	case r.condition == unknown:
		return inventory.ProbePending, r.explainPending("stays down")
	case r.streak.Passes > 0:
		return inventory.ProbePending, joinText(last.Message, ", ", fmt.Sprintf("pass %d of HEALTH_CHECK_RISE=%d in a row: still down", r.streak.Passes, w.policy.Rise))
	case r.next == inventory.Absent:
		return last.Reason, joinText(last.Message, ", ", inventory.Counted(r.streak.Fails, "time", "times")+" in a row: published on its first pass")
	case r.condition != failing:
		return last.Reason, joinText(last.Message, ", ", "stays down: "+until+r.explainRemoval(w))
	}
	return last.Reason, joinText(last.Message, ", ", fmt.Sprintf("at least HEALTH_CHECK_FALL=%d times in a row: %s%s", w.policy.Fall, until, r.explainRemoval(w)))
}

// explainRemoval says when an endpoint goes that is down and left out.
func (r *row) explainRemoval(w *world) string {
	switch {
	case !r.kept() || w.policy.Threshold == 0:
		return ""
	case r.unprobed(w) && r.was.removeAt.IsZero():
		return fmt.Sprintf("; removed when EMPTY_RESULT_THRESHOLD=%d rejected inventories in a row left it out", w.policy.Threshold)
	case r.unprobed(w):
		return fmt.Sprintf("; removed at %s unless an inventory lists it (EMPTY_RESULT_THRESHOLD=%d)", clock(r.was.removeAt), w.policy.Threshold)
	case r.was.removeAt.IsZero():
		return fmt.Sprintf("; removed when EMPTY_RESULT_THRESHOLD=%d rejected inventories in a row left it out while it was down", w.policy.Threshold)
	}
	return fmt.Sprintf("; removed at %s unless an inventory lists it or it passes (EMPTY_RESULT_THRESHOLD=%d)", clock(r.was.removeAt), w.policy.Threshold)
}

// explainAbsent says why the address is not published.
func (r *row) explainAbsent(w *world) (inventory.Reason, string) {
	last := r.streak.Last.Message
	switch {
	case !r.isMember() && r.candidate.podless:
		return inventory.NoPod, "no ready Pod of the remote Service is on this node: neither checked nor published"
	case !r.isMember() && r.candidate.Leaving:
		return inventory.Gone, "announced to leave: not published"
	case !r.isMember():
		return r.explainFailing(w)
	case r.accepted && r.condition != passing:
		return inventory.Gone, joinText(fmt.Sprintf("left out by EMPTY_RESULT_THRESHOLD=%d rejected inventories in a row and down at each: removed", w.policy.Threshold), "; ", last)
	case r.condition == failing:
		return inventory.Gone, joinText(fmt.Sprintf("%s, and failed HEALTH_CHECK_FALL=%d times in a row: removed", r.leaves(), w.policy.Fall), "; ", last)
	case r.was.State == inventory.StateDown:
		return inventory.Gone, joinText(r.leaves()+", and down: removed", "; ", last)
	case r.neverProbed(w):
		return inventory.Gone, joinText(r.leaves()+", and no health check has counted: removed", "; ", r.streak.Trouble)
	}
	return inventory.Gone, fmt.Sprintf("%s, and drained for DRAIN_PERIOD=%s: removed", r.leaves(), w.policy.DrainPeriod)
}

// joinText joins two texts of which either may be empty.
func joinText(first, separator, second string) string {
	if first == "" || second == "" {
		return first + second
	}
	return first + separator + second
}
