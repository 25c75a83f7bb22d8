package guard

import (
	"fmt"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
)

// mode returns the mode of one family, why, and the numbers behind it.
func mode(p pool, rows []row, w world) (Mode, Cause, string) {
	if w.blind {
		return FailOpen, NothingPasses, "no health check has passed since the start; members stay as they were"
	}
	if w.failOpen && w.policy.FailOpen {
		return FailOpen, NothingPasses, fmt.Sprintf("no candidate passes its health check; all present ones are published until one passes HEALTH_CHECK_RISE=%d times", w.policy.Rise)
	}
	for _, r := range rows {
		if r.isMember && r.was.standing == held && r.next != inventory.Absent {
			return Hold, p.cause, fmt.Sprintf("%s; %s", p.message, counting(p, w))
		}
	}
	for _, r := range rows {
		if r.protected(w) {
			return Hold, ProbesSilent, fmt.Sprintf("%d of %d present members are silent at once, more than HEALTH_CHECK_MAX_SILENT_PERCENT=%d allows; the prober is presumed cut off", w.silent, w.present, w.policy.MaxSilentPercent)
		}
	}
	return Publish, "", ""
}

// counting says how far suspect reads are from being believed.
func counting(p pool, w world) string {
	if w.policy.Threshold == 0 {
		return fmt.Sprintf("suspect read %d, never believed (EMPTY_RESULT_THRESHOLD=0)", p.suspects)
	}
	return fmt.Sprintf("suspect read %d of EMPTY_RESULT_THRESHOLD=%d", p.suspects, w.policy.Threshold)
}

// protected reports whether the member is up only because silence is put down to
// the prober.
func (r row) protected(w world) bool {
	return w.cutOff && r.isMember && r.silent() && r.streak.Fails >= w.policy.Fall && r.next == inventory.StateReady
}

// decision says what became of the address in this stage.
func (r row) decision(p pool, w world) inventory.Decision {
	d := inventory.Decision{Node: r.was.node, Address: r.address, Stage: inventory.StageGuard}
	if r.listed {
		d.Node = r.candidate.Node
	}
	switch r.next {
	case inventory.StateReady:
		d.Reason, d.Message = r.explainReady(p, w)
	case inventory.StateDraining:
		d.Reason, d.Message = r.explainDraining(p, w)
	case inventory.StateDown:
		d.Reason, d.Message = r.explainFailing(w)
	case inventory.Absent:
		d.Reason, d.Message = r.explainAbsent(w)
	}
	return d
}

// explainReady says why the address is published ready.
func (r row) explainReady(p pool, w world) (inventory.Reason, string) {
	last := r.streak.Last.Message
	switch {
	case w.policy.HealthOff && r.was.standing != held:
		return inventory.Ready, "HEALTH_CHECK_MODE=off counts every candidate as passing"
	case (w.failOpen && w.policy.FailOpen || w.blind) && r.condition != passing:
		return inventory.ReadyFailOpen, join2("nothing else passes either", last)
	case r.isMember && r.was.standing == held:
		return inventory.ReadyHeld, fmt.Sprintf("missing from a suspect read: %s; %s", p.message, counting(p, w))
	case r.protected(w):
		return inventory.ReadyHeld, fmt.Sprintf("silent together with %d of %d present members: %s", w.silent, w.present, last)
	case r.condition == unknown:
		return inventory.ProbePending, join2("published before, no health check has counted yet", r.streak.Trouble)
	case r.condition == wavering, r.condition == excused:
		return inventory.ReadyFailing, fmt.Sprintf("failed %d of HEALTH_CHECK_FALL=%d times in a row: %s", r.fails(), w.policy.Fall, last)
	}
	return inventory.Ready, last
}

// explainDraining says why the address is published draining.
func (r row) explainDraining(p pool, w world) (inventory.Reason, string) {
	switch r.was.standing {
	case held:
		return inventory.Draining, fmt.Sprintf("announced to leave by a suspect read: %s; %s", p.message, counting(p, w))
	case unread:
		return inventory.Draining, "draining before the restart, no read has come since"
	case present, leaving:
	}
	what := "gone from the inventory"
	if r.was.announced {
		what = "announced to leave"
	}
	return inventory.Draining, fmt.Sprintf("%s, still passing; removed after DRAIN_PERIOD=%s", what, w.policy.DrainPeriod)
}

// explainFailing says why the address is down, or not published at all.
func (r row) explainFailing(w world) (inventory.Reason, string) {
	last := r.streak.Last
	switch {
	case !r.streak.Known():
		return inventory.ProbePending, join2("no health check has counted yet", r.streak.Trouble)
	case r.streak.Passes > 0:
		return inventory.ProbePending, fmt.Sprintf("passed %d of HEALTH_CHECK_RISE=%d times in a row: %s", r.streak.Passes, w.policy.Rise, last.Message)
	}
	return last.Reason, fmt.Sprintf("failed %d times in a row: %s", r.streak.Fails, last.Message)
}

// explainAbsent says why the address is not published.
func (r row) explainAbsent(w world) (inventory.Reason, string) {
	switch {
	case r.isMember && r.condition == failing:
		return inventory.Gone, join2("left and failing; removed", r.streak.Last.Message)
	case r.isMember && r.condition == unknown:
		return inventory.Gone, "left and never checked; removed"
	case r.isMember:
		return inventory.Gone, fmt.Sprintf("left and drained for DRAIN_PERIOD=%s; removed", w.policy.DrainPeriod)
	case r.candidate.Leaving:
		return inventory.Draining, "announced to leave; not added"
	}
	return r.explainFailing(w)
}

// join2 joins a sentence and its detail, where there is one.
func join2(sentence, detail string) string {
	if detail == "" {
		return sentence
	}
	return sentence + ": " + detail
}
