package guard

import (
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// checkBackends is what to do where no endpoint passes.
const checkBackends = "Check the workload, its port, and the network between it and this daemon."

// mode returns the mode of one family, why, and the numbers behind it.
func mode(p pool, rows []row, w *world, outcome acceptance) (Mode, Cause, string) {
	switch {
	case w.failOpen:
		return FailOpen, NothingPasses, fmt.Sprintf("no endpoint passes its health check: all are published ready (HEALTH_CHECK_FAIL_OPEN=true) until one passes HEALTH_CHECK_RISE=%d times in a row. %s", w.policy.Rise, checkBackends)
	case w.nonePassed:
		return FailOpen, NothingPasses, "no health check has passed since the start: endpoints keep their published state (HEALTH_CHECK_FAIL_OPEN=true). " + checkBackends
	case outcome.kept > 0:
		return Hold, p.cause, explainRejection(p, w, outcome)
	case w.drainingShown:
		return Hold, NothingPasses, fmt.Sprintf("no endpoint of the inventory passes its health check: endpoints that leave and pass are published ready until an endpoint of the inventory passes HEALTH_CHECK_RISE=%d times in a row. %s", w.policy.Rise, checkBackends)
	case some(rows, func(r *row) bool { return r.protected(w) }):
		return Hold, ProbesSilent, w.silence + ". Check the network of this daemon."
	}
	return Publish, "", ""
}

// protected reports whether the member is up only because silence is put down to
// the prober.
func (r *row) protected(w *world) bool {
	return w.cutOff && w.mayDemote && r.isMember() && r.silent() && !r.longSilent && r.streak.Fails >= w.policy.Fall && r.next == inventory.StateReady
}

// explainRejection says what a rejected inventory comes to: why it is rejected,
// what happens to the endpoints that it leaves out, and what to do.
func explainRejection(p pool, w *world, a acceptance) string {
	var text strings.Builder
	fmt.Fprintf(&text, "%s. Rejected %s in a row (EMPTY_RESULT_THRESHOLD=%d). ", p.why, inventory.Counted(p.rejected, "scheduled inventory", "scheduled inventories"), w.policy.Threshold)
	left := "endpoint that they leave out"
	if a.kept > 1 {
		left = fmt.Sprintf("%d endpoints that they leave out", a.kept)
	}
	switch gone := a.removal.Endpoints; {
	case w.policy.Threshold == 0:
		fmt.Fprintf(&text, "The %s will not be removed. ", left)
	case gone == 0:
		fmt.Fprintf(&text, "The %s will not be removed while health checks pass. An endpoint that is down at %s will be removed. ", left, inventory.Counted(w.policy.Threshold, "such inventory", "such inventories in a row"))
	case gone == a.kept:
		fmt.Fprintf(&text, "The %s will be removed %s unless the source recovers. ", left, a.when(w))
	default:
		fmt.Fprintf(&text, "%d of the %s will be removed %s unless the source recovers. ", gone, left, a.when(w))
	}
	text.WriteString(remedy(p.cause, a.pastThreshold > 0 || w.policy.Threshold == 0))
	return text.String()
}

// when says when the first endpoint will be removed. The time does not change
// from one decision to the next.
func (a acceptance) when(w *world) string {
	if at := a.removal.At; !at.IsZero() {
		return "at " + clock(at)
	}
	return fmt.Sprintf("after EMPTY_RESULT_THRESHOLD=%d such inventories", w.policy.Threshold)
}

// remedy says what the operator can do about rejected inventories. Where they
// last, the nodes may really be gone.
func remedy(cause Cause, lasts bool) string {
	switch {
	case cause == ContradictoryRead:
		return "Correct the source: an address belongs to one node."
	case !lasts:
		return "Check the source."
	case cause == TooManyRemovals:
		return "Check the source. If these nodes are really gone, stop the workload that still answers on them, or raise MAX_REMOVAL_PERCENT."
	}
	return "Check the source. If all nodes are really gone, stop this program, delete its EndpointSlices, and start it again."
}

// named is how many addresses a message names.
const named = 10

// message says which endpoints go although inventories were rejected, and why.
func (a acceptance) message(w *world) string {
	if len(a.addresses) == 0 {
		return ""
	}
	why := ", down at each"
	switch {
	case w.policy.HealthOff:
		why = " (HEALTH_CHECK_MODE=off)"
	case a.forbidden == len(a.addresses):
		why = ", not allowed by SECURED_SUBNET_CIDR"
	case a.dead == 0:
		why = ", and as many new endpoints pass their health checks"
	}
	return fmt.Sprintf("%s in a row left out %s%s: removing %s", inventory.Counted(w.policy.Threshold, "rejected inventory", "rejected inventories"), inventory.Counted(len(a.addresses), "endpoint", "endpoints"), why, listed(a.addresses))
}

// listed names addresses, the first of them if they are many.
func listed(addresses []netip.Addr) string {
	var names []string
	for _, a := range addresses[:min(len(addresses), named)] {
		names = append(names, a.String())
	}
	text := strings.Join(names, ", ")
	if more := len(addresses) - named; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// clock renders a time of day.
func clock(t time.Time) string { return t.UTC().Format(time.TimeOnly) + " UTC" }
