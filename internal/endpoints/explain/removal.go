package explain

import (
	"fmt"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
)

// removal says when rejected inventories are going to remove endpoints, and when
// they have: the nodes may still be there, and a person can act before.
func (s *Story) removal(before, after guard.Verdict) {
	if n := len(after.Accepted); n > 0 {
		s.announce(Notice{Reason: RemovalAccepted, Note: after.AcceptedMessage})
		s.say(Warn, "endpoints removed although the inventories were rejected", "endpoints", n, "message", after.AcceptedMessage)
	}
	if pending := after.Removal; before.Removal.Endpoints == 0 && pending.Endpoints > 0 {
		s.announce(Notice{Reason: RemovalPending, Note: PendingRemoval(pending) + ": " + after.Message})
		s.say(Warn, "rejected inventories will remove endpoints", "endpoints", pending.Endpoints, "inventories", pending.Inventories, "message", after.Message)
	}
}

// unchecked says when the health checks of some endpoints cannot be carried out,
// and when all can again.
func (s *Story) unchecked(before, after guard.Verdict) {
	switch {
	case before.Unchecked == 0 && after.Unchecked > 0:
		s.say(Warn, "endpoints are not checked: this daemon cannot carry out their health checks", "endpoints", after.Unchecked)
	case before.Unchecked > 0 && after.Unchecked == 0:
		s.say(Info, "all endpoints are checked again")
	}
}

// PendingRemoval says what further rejected inventories will take away.
func PendingRemoval(r guard.Removal) string {
	endpoints, inventories := "1 kept endpoint", "1 more scheduled inventory is rejected"
	if r.Endpoints != 1 {
		endpoints = fmt.Sprintf("%d kept endpoints", r.Endpoints)
	}
	if r.Inventories != 1 {
		inventories = fmt.Sprintf("%d more scheduled inventories are rejected", r.Inventories)
	}
	when := "when "
	if !r.At.IsZero() {
		when = "at " + r.At.UTC().Format(time.TimeOnly) + " UTC, if "
	}
	if r.Endpoints > 1 {
		return endpoints + " will be removed, the first " + when + inventories
	}
	return endpoints + " will be removed " + when + inventories
}
