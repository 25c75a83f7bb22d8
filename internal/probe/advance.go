package probe

import (
	"cmp"
	"maps"
	"net/netip"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
)

// Advance returns health with the results folded in, in their order; results
// of one address must be in the order in which they were sent. The inputs stay
// as they are.
//
//	outcome          Passes  Fails  Last    Trouble
//	Pass             +1      0      result  empty
//	Refused, Silent  0       +1     result  empty
//	LocalError       as it was              its message
//
// A result that was sent before the last one that counted is left out.
func Advance(health inventory.Health, results []inventory.Result) inventory.Health {
	next := maps.Clone(health)
	if next == nil {
		next = make(inventory.Health, len(results))
	}
	for _, result := range results {
		next[result.Address] = fold(next[result.Address], result)
	}
	return next
}

// fold adds one result to one streak.
func fold(streak inventory.Streak, result inventory.Result) inventory.Streak {
	if result.At.Before(streak.Last.At) {
		return streak
	}
	switch result.Outcome {
	case inventory.Pass:
		return inventory.Streak{Passes: streak.Passes + 1, Last: result}
	case inventory.Refused, inventory.Silent:
		return inventory.Streak{Fails: streak.Fails + 1, Last: result}
	case inventory.LocalError:
	}
	streak.Trouble = cmp.Or(result.Message, "the check could not be made")
	return streak
}

// Keep returns the part of health that belongs to the given addresses, so that
// what is remembered is bounded by what there is. An address that moved to
// another node is forgotten by leaving it out once. The inputs stay as they are.
func Keep(health inventory.Health, addresses []netip.Addr) inventory.Health {
	kept := make(inventory.Health, min(len(health), len(addresses)))
	for _, address := range addresses {
		if streak, ok := health[address]; ok {
			kept[address] = streak
		}
	}
	return kept
}
