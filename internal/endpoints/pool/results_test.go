package pool_test

import (
	"net/netip"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory/inventorytest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
)

// streak is so many passes, or failures of the given kind where it is negative.
func streak(n int, last inventory.Outcome) inventory.Streak {
	s := inventory.Streak{Last: inventory.Result{Outcome: last}}
	if n > 0 {
		s.Passes = n
	} else {
		s.Fails = -n
	}
	return s
}

func TestWhichResultsCallForAPass(t *testing.T) {
	const (
		pass, refused = inventory.Pass, inventory.Refused
		silent, local = inventory.Silent, inventory.LocalError
	)
	for name, c := range map[string]struct {
		state   inventory.State
		streak  inventory.Streak
		outcome inventory.Outcome
		// world changes what was decided, or adds an inventory that waits.
		world func(*guard.Verdict) (waits bool)
		want  bool
	}{
		"a ready one passes again":                        {ready, streak(7, pass), pass, nil, false},
		"a draining one passes again":                     {draining, streak(2, pass), pass, nil, false},
		"a ready one passes, which was new":               {ready, streak(1, pass), pass, nil, true},
		"a ready one passes after failures":               {ready, streak(-2, refused), pass, nil, true},
		"a ready one refuses":                             {ready, streak(7, pass), refused, nil, true},
		"a ready one is silent":                           {ready, streak(7, pass), silent, nil, true},
		"a ready one could not be checked":                {ready, streak(7, pass), local, nil, false},
		"a draining one refuses":                          {draining, streak(7, pass), refused, nil, true},
		"a down one passes":                               {down, streak(-7, refused), pass, nil, true},
		"a down one refuses again":                        {down, streak(-7, refused), refused, nil, false},
		"a down one refuses for the fourth time":          {down, streak(-3, refused), refused, nil, false},
		"a down one refuses for the third time":           {down, streak(-2, refused), refused, nil, true},
		"a down one is silent now":                        {down, streak(-7, refused), silent, nil, true},
		"a down one refuses now":                          {down, streak(-7, silent), refused, nil, true},
		"one that is not published passes":                {inventory.Absent, streak(0, local), pass, nil, true},
		"one that is not published fails":                 {inventory.Absent, streak(0, local), refused, nil, true},
		"one that is not published fails again":           {inventory.Absent, streak(-7, refused), refused, nil, false},
		"a ready one that is checked faster passes":       {ready, streak(7, pass), pass, questioned, true},
		"a down one that is checked faster refuses again": {down, streak(-7, refused), refused, questioned, true},
		"a ready one passes while failing open":           {ready, streak(7, pass), pass, failingOpen, true},
		"a down one refuses again while failing open":     {down, streak(-7, refused), refused, failingOpen, true},
		"a ready one passes while an inventory waits":     {ready, streak(7, pass), pass, func(*guard.Verdict) bool { return true }, true},
	} {
		t.Run(name, func(t *testing.T) {
			v := decided(states{1: c.state, 2: ready}, 1)
			if c.state == inventory.Absent {
				v = decided(states{2: ready}, 1)
			}
			waits := c.world != nil && c.world(v)
			r := pool.NewResults(guard.Policy{Rise: 2, Fall: 3}, v, inventorytest.HealthOf(map[netip.Addr]inventory.Streak{address(1): c.streak, address(2): streak(9, pass)}))
			if waits {
				r.Waits()
			}
			if got := r.Take(time.Now(), result(2, pass), result(1, c.outcome), result(2, pass)); got != c.want {
				t.Errorf("got %t, want %t", got, c.want)
			}
			if !r.Wake().IsZero() {
				t.Errorf("got a pass put off to %s, want none", r.Wake())
			}
		})
	}
}

// questioned makes the first address one that is checked faster.
func questioned(v *guard.Verdict) bool {
	v.Watch[0].Urgent = true
	return false
}

func failingOpen(v *guard.Verdict) bool {
	v.Mode, v.Cause = guard.FailOpen, guard.NothingPasses
	return false
}

func cutOff(v *guard.Verdict) bool {
	v.Mode, v.Cause = guard.Hold, guard.ProbesSilent
	return false
}

// TestPassesThatAreNotUrgentCostAFifthAtMost: while every check fails, each failure
// may change something, but nothing urgent.
func TestPassesThatAreNotUrgentCostAFifthAtMost(t *testing.T) {
	const took = 30 * time.Millisecond
	for name, c := range map[string]struct {
		world   func(*guard.Verdict) bool
		outcome inventory.Outcome
		waits   bool
	}{
		"failing open, another failure":       {failingOpen, inventory.Refused, true},
		"failing open, another silence":       {failingOpen, inventory.Silent, true},
		"failing open, a pass":                {failingOpen, inventory.Pass, false},
		"cut off, another silence":            {cutOff, inventory.Silent, true},
		"cut off, a failure of another kind":  {cutOff, inventory.Refused, false},
		"cut off, a pass after a failure":     {cutOff, inventory.Pass, false},
		"all is well, a failure":              {func(*guard.Verdict) bool { return false }, inventory.Refused, false},
		"another cause to hold, and a silent": {func(v *guard.Verdict) bool { v.Mode, v.Cause = guard.Hold, guard.NoNodes; return false }, inventory.Silent, false},
	} {
		t.Run(name, func(t *testing.T) {
			v := decided(states{1: ready})
			c.world(v)
			r := pool.NewResults(guard.Policy{Rise: 2, Fall: 3}, v, inventorytest.HealthOf(map[netip.Addr]inventory.Streak{address(1): streak(-1, inventory.Refused)}))
			began := time.Now()
			ended := began.Add(took)
			r.Passed(began, ended)
			next := ended.Add(4 * took)
			if got := r.Take(ended.Add(4*took-1), result(1, c.outcome)); got == c.waits {
				t.Errorf("before four times the duration of the last pass: got a pass: %t", got)
			}
			if due := r.Wake(); c.waits && !due.Equal(next) || !c.waits && !due.IsZero() {
				t.Errorf("got a pass wanted at %s, want it at %s: %t", due, next, c.waits)
			}
			if !r.Take(next, result(1, c.outcome)) {
				t.Error("no pass although the time is over")
			}
			r.Passed(next, next.Add(1))
			if !r.Wake().IsZero() {
				t.Error("a pass is still wanted after it was made")
			}
		})
	}
}
