package guard

import (
	"fmt"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
)

// mode returns the mode of one family, why, and the numbers behind it.
func mode(p pool, rows []row, w *world) (Mode, Cause, string) {
	switch {
	case w.failOpen:
		return FailOpen, NothingPasses, fmt.Sprintf("no candidate passes its health check; HEALTH_CHECK_FAIL_OPEN=true publishes all present ones until one passes HEALTH_CHECK_RISE=%d times", w.policy.Rise)
	case w.blind:
		return FailOpen, NothingPasses, "no health check has passed since the start; HEALTH_CHECK_FAIL_OPEN=true keeps members as they were"
	}
	for i := range rows {
		if rows[i].was.standing == held && rows[i].next != inventory.Absent {
			return Hold, p.cause, p.message
		}
	}
	for i := range rows {
		if rows[i].protected(w) {
			return Hold, ProbesSilent, w.silence
		}
	}
	return Publish, "", ""
}

// protected reports whether the member is up only because silence is put down to
// the prober.
func (r *row) protected(w *world) bool {
	return w.cutOff && w.mayDemote && r.isMember() && r.silent() && r.streak.Fails >= w.policy.Fall && r.next == inventory.StateReady
}

// decision says what became of the address in this stage.
func (r *row) decision(p pool, w *world) inventory.Decision {
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
	return d
}

// explainReady says why the address is published ready. The usual case costs no
// allocation.
func (r *row) explainReady(p pool, w *world) (inventory.Reason, string) {
	last := r.streak.Last.Message
	switch {
	case r.condition != passing && w.failOpen:
		return inventory.ReadyFailOpen, detailed("nothing else passes either, and HEALTH_CHECK_FAIL_OPEN=true", last)
	case r.condition != passing && w.blind:
		return inventory.ReadyFailOpen, detailed("nothing has passed since the start, and HEALTH_CHECK_FAIL_OPEN=true", last)
	case r.was.standing == held && r.was.announced:
		return inventory.ReadyHeld, detailed("announced to leave by a suspect read, and nothing else that works is ready: "+p.why, last)
	case r.was.standing == held:
		return inventory.ReadyHeld, detailed("missing from a suspect read: "+p.why, last)
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

// explainDraining says why the address is published draining.
func (r *row) explainDraining(p pool, w *world) string {
	switch r.was.standing {
	case held:
		if r.was.announced {
			return "announced to leave by a suspect read, its removal waits: " + p.why
		}
		return "draining before and missing from a suspect read: " + p.why
	case unread:
		return "draining before the restart, and no read has come since"
	case present:
		return "draining before and present again; ready when a health check counts"
	case leaving:
	}
	what := "gone from the inventory"
	if r.was.announced {
		what = "announced to leave"
	}
	return fmt.Sprintf("%s; removed after DRAIN_PERIOD=%s, or at once after HEALTH_CHECK_FALL=%d failures in a row", what, w.policy.DrainPeriod, w.policy.Fall)
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
	return last.Reason, detailed(fmt.Sprintf("down after HEALTH_CHECK_FALL=%d failures in a row; ready after HEALTH_CHECK_RISE=%d passes in a row", w.policy.Fall, w.policy.Rise), last.Message)
}

// explainAbsent says why the address is not published.
func (r *row) explainAbsent(w *world) (inventory.Reason, string) {
	last := r.streak.Last.Message
	switch {
	case !r.isMember() && r.candidate.Leaving:
		return inventory.Gone, "announced to leave; not published any more"
	case !r.isMember():
		return r.explainFailing(w)
	case r.was.standing == held:
		return inventory.Gone, detailed(fmt.Sprintf("missing from a suspect read and failed HEALTH_CHECK_FALL=%d times in a row, while others pass; removed", w.policy.Fall), last)
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
