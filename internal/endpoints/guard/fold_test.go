package guard_test

import (
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// fold counts a result, as the contract (9 and 10) wants it counted.
func fold(health inventory.Health, r inventory.Result) inventory.Health {
	return health.Fold([]inventory.Result{r}, count)
}

// count adds a result to the streak of its address.
func count(streak inventory.Streak, r inventory.Result) inventory.Streak {
	unconnected := streak.Unconnected
	switch {
	case r.Outcome == inventory.Elsewhere:
		if u := unconnected; !streak.SilentSince.IsZero() && !r.At.Before(streak.SilentSince) && r.Failures > u.Elsewhere && r.Failures <= u.Failures {
			switch {
			case !r.Missed:
				u.Elsewhere, u.Answered, u.Replica = r.Failures, r.At, r.Message
			case r.At.After(u.Missed): // an answer may come late
				u.Missed = r.At
			}
			streak.Unconnected = u
		}
		return streak
	case r.Outcome == inventory.Pass:
		unconnected = inventory.ConnectFailures{}
	case r.NoConnection:
		unconnected.Failures++
	}
	counted := countOutcome(streak, r)
	counted.Unconnected = unconnected
	return counted
}

func countOutcome(streak inventory.Streak, r inventory.Result) inventory.Streak {
	r.Message = r.Outcome.String()
	switch r.Outcome {
	case inventory.Pass:
		r.Reason = inventory.Ready
		streak = inventory.Streak{Passes: streak.Passes + 1, Turns: streak.Turns + min(streak.Fails, 1), SilentAt: streak.SilentAt, Last: r}
	case inventory.Refused:
		r.Reason = inventory.ProbeRefused
		streak = inventory.Streak{Fails: streak.Fails + 1, Turns: streak.Turns + min(streak.Passes, 1), SilentAt: streak.SilentAt, Last: r}
	case inventory.Silent:
		r.Reason = inventory.ProbeTimeout
		since := r.At
		if streak.Last.Outcome == inventory.Silent {
			since = streak.SilentSince
		}
		streak = inventory.Streak{Fails: streak.Fails + 1, Turns: streak.Turns + min(streak.Passes, 1), SilentSince: since, SilentAt: r.At, Last: r}
	case inventory.LocalError, inventory.Elsewhere:
		if streak.Trouble == "" {
			streak.TroubleSince = r.At
		}
		streak.Trouble = r.Message
	}
	return streak
}
