package health

import (
	"cmp"
	"net/netip"

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
//
// Turns is counted up where a pass follows a failure or a failure a pass.
//
// A result that was sent before the last one that counted is left out.
func Advance(health inventory.Health, results []inventory.Result) inventory.Health {
	return health.Fold(results, fold)
}

// fold adds one result to one streak.
func fold(streak inventory.Streak, result inventory.Result) inventory.Streak {
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
		return inventory.Streak{Fails: streak.Fails + 1, Turns: turns(streak, streak.Passes > 0), SilentAt: streak.SilentAt, Last: result}
	case inventory.Silent:
		since := streak.SilentSince
		if since.IsZero() {
			since = result.At
		}
		return inventory.Streak{Fails: streak.Fails + 1, Turns: turns(streak, streak.Passes > 0), SilentSince: since, SilentAt: result.At, Last: result}
	case inventory.LocalError:
	}
	if streak.Trouble == "" {
		streak.TroubleSince = result.At
	}
	streak.Trouble = cmp.Or(result.Message, "the check could not be made")
	return streak
}

// turns returns the turns of a streak after one more result.
func turns(streak inventory.Streak, turned bool) int {
	if turned {
		return streak.Turns + 1
	}
	return streak.Turns
}

// Keep returns the part of health that belongs to the given addresses, so that
// what is remembered is bounded by what there is. An address that moved to
// another node is forgotten by leaving it out once. The inputs stay as they are;
// sorted addresses cost the least.
func Keep(health inventory.Health, addresses []netip.Addr) inventory.Health {
	return health.Only(addresses)
}
