//go:build lab

package lab_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/lab"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/strain"
)

// program is the daemon's package.
const program = "github.com/ablmnzde/ionoscloud-endpointslice-controller/cmd/ionos-endpointslice-controller"

// clocks move the wall clock of the daemon alone, by hours and by weeks, forwards
// and backwards: only monotonic time decides (contract 32).
func clocks(t *testing.T) []trouble {
	t.Helper()
	clock := strain.NewClock(t)
	name, path, _ := strings.Cut(clock.Environment(), "=")
	stepped := strain.SteppedBuild(t, program)
	return []trouble{
		// The proxy's certificate is valid for long enough.
		{name: "stepped", behind: true, text: "the daemon's wall clock is an hour, then twenty days fast and slow; backends end meanwhile",
			options: lab.Options{Program: stepped, Source: "kubernetes", Env: map[string]string{name: path}},
			story:   func(s *tale) { steps(s, clock) }},
		{name: "stepped with a broken source", behind: true, text: "the same while the remote API server is down",
			options: lab.Options{Program: stepped, Source: "kubernetes", Env: map[string]string{name: path}},
			story: func(s *tale) {
				s.Remote.Refuse()
				steps(s, clock)
				s.Remote.Mend()
			}},
		{name: "replicas disagree", behind: true, text: "the clock of the leader is stepped, that of the standby is not",
			options: lab.Options{Program: stepped, Env: map[string]string{name: path, "LEADER_ELECTION": "true"}},
			story: func(s *tale) {
				standby := s.NewDaemon()
				standby.Env["KUBECONFIG"] = s.Daemon.Env["KUBECONFIG"]
				standby.Start()
				steps(s, clock)
				if own, other := s.Daemon.Metric(leads), standby.Metric(leads); own != 1 || other != 0 {
					s.Errorf("the leader says %v, the standby %v, want 1 and 0", own, other)
				}
			}},
	}
}

// leads is 1 where a replica leads.
const leads = "ionos_endpointslice_leader"

// steps lets backends die under a wrong clock, and nothing change otherwise. The
// scenarios share the clock, and may find it anywhere.
func steps(s *tale, clock *strain.Clock) {
	s.writesAtStart, _ = s.APIRequests()
	for _, ahead := range []time.Duration{time.Hour, -time.Hour, 20 * 24 * time.Hour, -20 * 24 * time.Hour} {
		s.Mark("the clock is %v ahead", ahead)
		clock.Set(ahead)
		pause(3 * time.Second)
	}
	s.wantNoWrites()
	for _, ahead := range []time.Duration{7 * time.Hour, -7 * time.Hour} {
		died := s.kill()
		s.Mark("the clock is %v ahead", ahead)
		clock.Set(ahead)
		s.leaves(died, refusedBound)
		s.revives()
	}
}
