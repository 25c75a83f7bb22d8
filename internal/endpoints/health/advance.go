package health

import (
	"cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// Advance returns health with the results folded in, in their order; results
// of one address must be in the order in which they were sent. The inputs stay
// as they are.
//
//	outcome          Passes  Fails  Last    Trouble      SilentSince         SilentAt
//	Pass             +1      0      result  empty        zero                as it was
//	Refused          0       +1     result  empty        zero                as it was
//	Silent           0       +1     result  empty        set, unless it is   the result's
//	LocalError       as it was              its message  as it was           as it was
//	Elsewhere        as it was              as it was    as it was           as it was
//
// Unconnected counts up with Silent where there was no connection, begins anew with a pass,
// and is told by Elsewhere how many of them another replica answered. An Elsewhere is left out
// that answers what was before the silence of now.
//
// Turns is counted up where a pass follows a failure or a failure a pass.
//
// A result that was sent before the last one that counted is left out.
func Advance(health inventory.Health, results []inventory.Result) inventory.Health {
	return health.Fold(results, fold)
}

// fold adds one result to one streak.
func fold(streak inventory.Streak, result inventory.Result) inventory.Streak {
	if result.Outcome == inventory.Elsewhere {
		streak.Unconnected = answered(streak, result)
		return streak
	}
	if result.At.Before(streak.Last.At) {
		return streak
	}
	if result.Message == streak.Last.Message {
		result.Message = streak.Last.Message // one copy of the text is enough, and faster to compare
	}
	switch result.Outcome {
	case inventory.Pass:
		return inventory.Streak{Passes: streak.Passes + 1, Turns: turns(streak, streak.Fails > 0), SilentAt: streak.SilentAt, Last: result}
	case inventory.Refused:
		return inventory.Streak{Fails: streak.Fails + 1, Turns: turns(streak, streak.Passes > 0), SilentAt: streak.SilentAt, Unconnected: streak.Unconnected, Last: result}
	case inventory.Silent:
		unconnected := streak.Unconnected
		if result.NoConnection {
			unconnected.Failures++
		}
		since := cmp.Or(streak.SilentSince, result.At)
		return inventory.Streak{Fails: streak.Fails + 1, Turns: turns(streak, streak.Passes > 0), SilentSince: since, SilentAt: result.At, Unconnected: unconnected, Last: result}
	case inventory.LocalError, inventory.Elsewhere:
	}
	if streak.Trouble == "" {
		streak.TroubleSince = result.At
	}
	streak.Trouble = cmp.Or(result.Message, "the check could not be made")
	return streak
}

// answered returns which failures without a connection are answered after one more answer of
// another replica.
func answered(streak inventory.Streak, answer inventory.Result) inventory.ConnectFailures {
	u := streak.Unconnected
	switch {
	case streak.SilentSince.IsZero(), answer.At.Before(streak.SilentSince), answer.Failures <= u.Elsewhere, answer.Failures > u.Failures:
	case !answer.Missed:
		u.Elsewhere, u.Answered, u.Replica = answer.Failures, answer.At, answer.Message
	case answer.At.After(u.Missed):
		u.Missed = answer.At
	}
	return u
}

// turns returns the turns of a streak after one more result.
func turns(streak inventory.Streak, turned bool) int {
	if turned {
		return streak.Turns + 1
	}
	return streak.Turns
}
