package guard

import (
	"fmt"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
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
	}
	if r.next == inventory.StateReady && r.unprobed(w) {
		d.Message += r.explainRemoval(w)
	}
	if r.unchecked(w) {
		r.explainUnchecked(&d, w)
	}
	return d
}

// explainUnchecked says that nobody watches the address. What it says is as old
// as the last check that counted, so being ready is no result any more.
func (r *row) explainUnchecked(d *inventory.Decision, w *world) {
	if d.Reason == inventory.Ready {
		d.Reason = inventory.ProbePending
	}
	d.Message = fmt.Sprintf("not checked since %s, longer than HEALTH_CHECK_FALL=%d intervals of %s: %s; until then: %s", r.streak.TroubleSince.UTC().Format(time.DateTime+" UTC"), w.policy.Fall, w.policy.Interval, r.streak.Trouble, d.Message)
}

// explainReady says why the address is published ready. The usual case costs no
// allocation.
func (r *row) explainReady(p *pool, w *world) (inventory.Reason, string) {
	last := r.streak.Last.Message
	switch {
	case r.condition != passing && w.failOpen:
		return inventory.ReadyFailOpen, detailed("nothing else passes either, and HEALTH_CHECK_FAIL_OPEN=true", last)
	case r.condition != passing && w.blind:
		return inventory.ReadyFailOpen, detailed("nothing has passed since the start, and HEALTH_CHECK_FAIL_OPEN=true", last)
	case r.waits:
		return inventory.ReadyFailing, detailed("as before, until a first check of the others tells whether anything passes", last)
	case r.kept() && r.was.announced:
		return inventory.ReadyHeld, detailed("kept: the last inventory announced this node to leave, but was rejected, and nothing else that passes is ready: "+p.why, last)
	case r.kept():
		return inventory.ReadyHeld, detailed("kept: the last inventory left this node out, but was rejected: "+p.why, last)
	case r.drains:
		return inventory.ReadyDraining, detailed(fmt.Sprintf("%s; ready because nothing else that passes is, until a present endpoint passes HEALTH_CHECK_RISE=%d times in a row", r.leaves(), w.policy.Rise), last)
	case r.protected(w):
		return inventory.ReadyHeld, detailed(w.silence, last)
	case r.condition == unknown:
		return r.explainPending("published before")
	case r.condition == wavering:
		return inventory.ReadyFailing, detailed(fmt.Sprintf("failed %d of HEALTH_CHECK_FALL=%d times in a row", r.fails(), w.policy.Fall), last)
	case r.condition == excused:
		return inventory.ReadyFailing, detailed(fmt.Sprintf("failed %d times in a row, which does not count towards HEALTH_CHECK_FALL=%d yet", r.streak.Fails, w.policy.Fall), last)
	case w.policy.HealthOff:
		return inventory.Ready, "HEALTH_CHECK_MODE=off counts every candidate as passing"
	}
	return inventory.Ready, last
}

// explainPending says that no health check tells anything of the address yet.
func (r *row) explainPending(what string) (inventory.Reason, string) {
	since := "no health check has counted yet"
	if !r.movedAt().IsZero() {
		since = "no health check has counted since the address moved to node " + r.candidate.Node.Name
	}
	return inventory.ProbePending, detailed(what+", "+since, r.streak.Trouble)
}

// leaves says how a leaving address leaves.
func (r *row) leaves() string {
	switch {
	case r.was.foreign:
		return "its address belongs to node " + r.was.node.Name + " now, which is not eligible"
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
			return "announced to leave by an inventory that was rejected: not removed while it passes: " + p.why
		}
		return "draining before, and left out by an inventory that was rejected: " + p.why
	case unread:
		return r.leaves()
	case present:
		return "draining before and present again; ready when a health check counts"
	case leaving:
	}
	if r.lasts(w) {
		return fmt.Sprintf("%s; stays until a present endpoint passes its health check, or until HEALTH_CHECK_FALL=%d failures in a row", r.leaves(), w.policy.Fall)
	}
	return fmt.Sprintf("%s; removed after DRAIN_PERIOD=%s, or at once after HEALTH_CHECK_FALL=%d failures in a row", r.leaves(), w.policy.DrainPeriod, w.policy.Fall)
}

// explainFailing says why the address is down, or not published yet.
func (r *row) explainFailing(w *world) (inventory.Reason, string) {
	last := r.streak.Last
	switch {
	case r.condition == unknown:
		return r.explainPending("not ready before")
	case r.streak.Passes > 0:
		return inventory.ProbePending, detailed(fmt.Sprintf("passed %d of HEALTH_CHECK_RISE=%d times in a row", r.streak.Passes, w.policy.Rise), last.Message)
	case r.next == inventory.Absent:
		return last.Reason, detailed(fmt.Sprintf("failed %d times in a row; published on its first pass", r.streak.Fails), last.Message)
	}
	return last.Reason, detailed(fmt.Sprintf("down after HEALTH_CHECK_FALL=%d failures in a row; ready after HEALTH_CHECK_RISE=%d passes in a row%s", w.policy.Fall, w.policy.Rise, r.explainRemoval(w)), last.Message)
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
	case !r.isMember() && r.candidate.Leaving:
		return inventory.Gone, "announced to leave; not published any more"
	case !r.isMember():
		return r.explainFailing(w)
	case r.accepted && r.condition != passing:
		return inventory.Gone, detailed(fmt.Sprintf("left out by EMPTY_RESULT_THRESHOLD=%d rejected inventories in a row and down at each; removed", w.policy.Threshold), last)
	case r.condition == failing:
		return inventory.Gone, detailed(fmt.Sprintf("leaving and failed HEALTH_CHECK_FALL=%d times in a row; removed", w.policy.Fall), last)
	case r.was.State == inventory.StateDown:
		return inventory.Gone, detailed("leaving while down; removed", last)
	case r.neverProbed(w):
		return inventory.Gone, detailed("leaving before any health check counted; removed", r.streak.Trouble)
	}
	return inventory.Gone, fmt.Sprintf("left, and drained for DRAIN_PERIOD=%s; removed", w.policy.DrainPeriod)
}

// detailed joins a sentence and its detail, where there is one.
func detailed(sentence, detail string) string {
	if detail == "" {
		return sentence
	}
	return sentence + ": " + detail
}
