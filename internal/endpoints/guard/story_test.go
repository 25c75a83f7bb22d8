package guard_test

import (
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// story plays a world in time. Every two seconds each watched endpoint is checked
// once, in the order of the addresses. A second later those whose state is in
// question are checked again. Every thirty seconds comes a scheduled inventory.
type story struct {
	*lab
	// listed is what the inventories say. dead endpoints refuse, mute ones are
	// silent, cut hides all from the prober, and loss is the share of checks that
	// are lost.
	listed     string
	dead, mute map[string]bool
	// alive are the nodes that have Pods.
	alive  string
	cut    bool
	loss   float64
	random *rand.Rand
	// each looks at each decision.
	each func(s *story)
	// accepted collects what the verdicts accepted.
	accepted []string
}

// begin returns a story in which all of these endpoints are published and pass.
func begin(t testing.TB, backends string) *story {
	t.Helper()
	s := &story{lab: running(t, backends), listed: backends, dead: map[string]bool{}, mute: map[string]bool{}, random: rand.New(rand.NewPCG(1, 2))}
	s.long, s.policy.PollInterval = true, 30*time.Second
	return s
}

// during lets time pass.
func (s *story) during(d time.Duration) {
	s.Helper()
	for end := s.now.Add(d); s.now.Before(end); s.now = s.now.Add(time.Second) {
		second := int(s.now.Sub(start).Seconds())
		if second%30 == 0 {
			s.read(s.listed)
			s.look()
		}
		for _, w := range s.verdict.Watch {
			if second%2 == 0 || w.Urgent {
				s.deliver(inventory.Result{Address: w.Address, At: s.now, Outcome: s.outcome(nameOf(w.Address))})
				s.look()
			}
		}
	}
}

func (s *story) look() {
	s.accepted = append(s.accepted, strings.Fields(namesOf(s.verdict.Accepted))...)
	if s.each != nil {
		s.each(s)
	}
}

// outcome is what a check of the endpoint learns.
func (s *story) outcome(name string) inventory.Outcome {
	switch {
	case s.cut, s.mute[name], s.random.Float64() < s.loss:
		return inventory.Silent
	case s.dead[name]:
		return inventory.Refused
	}
	return inventory.Pass
}

// again restarts the daemon from what the slices hold, with the newest inventory.
func (s *story) again() {
	s.Helper()
	s.restart(s.states())
}

// readies returns the names of the ready endpoints.
func (s *story) readies() string {
	var names []string
	for _, m := range s.verdict.Members {
		if m.State == inventory.StateReady {
			names = append(names, nameOf(m.Address))
		}
	}
	return strings.Join(names, " ")
}

// restarts runs a scenario twice: as it is, and with a restart in the middle.
func restarts(t *testing.T, scenario func(t *testing.T, middle func(s *story))) {
	t.Helper()
	t.Run("without a restart", func(t *testing.T) { scenario(t, func(*story) {}) })
	t.Run("with a restart in the middle", func(t *testing.T) { scenario(t, func(s *story) { s.again() }) })
}
