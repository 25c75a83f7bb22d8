//go:build lab

package lab_test

import (
	"maps"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/lab"
)

// heldConnections are lost without a backend being dead, in every way that there
// is. No request may be lost or delayed by that, and no endpoint taken down. A target beside,
// of which no connection is held, shows whether requests are delayed.
func heldConnections(*testing.T) []trouble {
	// A wire that loses five packets of a hundred makes a tenth of the checks fail.
	tolerant := map[string]string{"HEALTH_CHECK_FALL": "4"}
	// The alarms of all are to count, also when they come at the same time.
	https := map[string]string{"HEALTH_CHECK_MODE": "https", "HEALTH_CHECK_TLS_INSECURE": "true", "HEALTH_CHECK_MAX_SILENT_PERCENT": "100"}
	return []trouble{
		{name: "one connection at a time", text: "backends serve one connection at a time, and none is held: the default", story: oneAtATime},
		held(trouble{name: "one connection at a time, held", text: "the same with a connection held to each: it occupies them, which is why that is off by default", story: occupied, delays: true}, nil),
		held(trouble{name: "idle connections closed", text: "backends close connections that are idle for 5 s", story: losesConnections("idle 5s", 8*time.Second)}, nil),
		held(trouble{name: "idle connections reset", text: "what stands before the backends resets connections that are idle for 1 s", story: losesConnections("reset 1s", 8*time.Second)}, nil),
		held(trouble{name: "all connections flushed", text: "a firewall resets all connections at once", story: losesConnections("reset 300ms", 4*time.Second)}, nil),
		held(trouble{name: "connections forgotten", text: "a firewall forgets connections, and drops what belongs to them", story: forgotten}, nil),
		held(trouble{name: "restart in 50 ms", text: "backends are away for 50 ms, one after the other, which costs the requests of that time", story: restartsQuickly}, nil),
		held(trouble{name: "5 % packet loss", text: "a wire loses five packets of a hundred, in both directions", story: packetLoss(5)}, tolerant),
		held(trouble{name: "prober cut off for 3 s", text: "the daemon alone reaches no worker for 3 s", story: cutOffShortly}, nil),
		held(trouble{name: "TLS", text: "backends speak TLS, and close connections without a handshake after 1 s", story: noHandshakes, options: lab.Options{Handshake: time.Second}}, https),
	}
}

// held has connections held to the backends of a scenario, and none to those beside.
func held(s trouble, env map[string]string) trouble {
	beside := s.options
	s.options.Env, beside.Env = maps.Clone(holding), env
	maps.Copy(s.options.Env, env)
	s.beside = &beside
	return s
}

// losesConnections makes all backends end idle connections, at about the same time:
// such alarms mean nothing, except one.
func losesConnections(mode string, d time.Duration) func(*tale) {
	return func(s *tale) {
		s.AwaitHeld()
		before := s.alarms()
		s.Mark("%s", mode)
		for _, one := range s.both() {
			for _, w := range one.Workers() {
				w.Say(mode)
			}
		}
		pause(d)
		if lost := s.alarms() - before; lost < len(s.Workers()) {
			s.Errorf("%d connections are lost, want each of %d", lost, len(s.Workers()))
		}
		if s.Daemon.Metric("ionos_endpointslice_connections_lost_ignored_total") == 0 {
			s.Error("no alarm was ignored although all connections were lost at once")
		}
		s.wantNoWrites()
	}
}

// noHandshakes holds connections to TLS servers, which end them after a second because
// no handshake comes.
func noHandshakes(s *tale) {
	s.AwaitHeld()
	before, checks := s.alarms(), s.Daemon.Metric(probes)
	begin := s.Mark("held without a handshake")
	pause(12 * time.Second)
	lost, took := s.alarms()-before, time.Since(begin)
	if most := endings(took) * len(s.Workers()); lost < 2*len(s.Workers()) || lost > most {
		s.Errorf("%d connections to %d workers are lost in %v, want at most %d, and at least two each", lost, len(s.Workers()), took, most)
	}
	s.wantChecks(checks, begin, lost)
	s.wantNoWrites()
}

// endings is how many connections end in that time, each after a second, if one is open
// when it begins and the pause between two doubles from a second on.
func endings(in time.Duration) int {
	count := 0
	for at, pause := time.Duration(0), time.Second; at < in; at, pause = at+time.Second+pause, 2*pause {
		count++
	}
	return count
}

// probes counts the health checks.
const probes = "ionos_endpointslice_health_checks_total"

// wantChecks fails the test unless all checks since then passed, and each alarm cost one
// check: the others are an interval apart.
func (s *tale) wantChecks(before float64, since time.Time, alarms int) {
	s.Helper()
	made := s.Daemon.Metric(probes) - before
	regular := float64(len(s.Workers())) * (time.Since(since).Seconds()/2 + 1)
	if made > regular+float64(alarms) {
		s.Errorf("%v checks, want at most %.0f and one for each of %d alarms", made, regular, alarms)
	}
	if confirmed := s.Daemon.Metric("ionos_endpointslice_connections_lost_confirmed_total"); confirmed != 0 {
		s.Errorf("a check failed after %v alarms, want none", confirmed)
	}
	if ignored := s.Daemon.Metric("ionos_endpointslice_connections_lost_ignored_total"); ignored != 0 {
		s.Errorf("%v alarms were ignored, want none", ignored)
	}
}

// alarms is how many held connections were lost.
func (s *tale) alarms() int {
	s.Helper()
	return int(s.Daemon.Metric("ionos_endpointslice_connections_lost_total"))
}

// forgotten waits until keep-alives have not been acknowledged.
func forgotten(s *tale) {
	s.AwaitHeld()
	if n := s.ForgetHeld(); n < len(s.Workers()) {
		s.Errorf("the firewall forgets %d connections, want those to %d workers", n, len(s.Workers()))
	}
	s.Mark("forgotten")
	s.Await("keep-alives without an answer", func() bool { return s.alarms() >= len(s.Workers()) })
	pause(2 * time.Second)
	s.wantNoWrites()
}

// restartsQuickly closes the port and all connections of one backend after the
// other. Three checks after the alarm span two fast intervals, 400 ms.
func restartsQuickly(s *tale) {
	s.AwaitHeld()
	away := time.Duration(0)
	for i, w := range s.Workers() {
		s.Mark("%s restarts", w.Name)
		began := s.excuse(time.Now())
		for _, mode := range []string{"refuse", "ok"} {
			for _, one := range s.both() {
				one.Workers()[i].Say(mode)
			}
			if mode == "refuse" {
				pause(50 * time.Millisecond)
			}
		}
		away = max(away, time.Since(began))
		s.excuses[len(s.excuses)-1].to = time.Now()
		pause(time.Second)
	}
	if away > 300*time.Millisecond {
		s.Logf("the machine took %v for 50 ms, which is no short restart", away)
		return
	}
	s.wantNoWrites()
}

// cutOffShortly makes all addresses silent at once, which counts for nothing
// (contract 14), while keep-alives are not lost.
func cutOffShortly(s *tale) {
	s.AwaitHeld()
	s.Mark("the prober is cut off")
	for _, one := range s.both() {
		one.CutProber()
	}
	pause(3 * time.Second)
	for _, one := range s.both() {
		one.MendProber()
	}
	s.Mark("the prober is back")
	pause(4 * time.Second)
	s.wantNoWrites()
}

// oneAtATime makes the backends serve one connection at a time and restarts the
// daemon: its held connections are then the only ones that they serve.
func oneAtATime(s *tale) {
	s.Mark("one connection at a time")
	for _, one := range s.both() {
		for _, w := range one.Workers() {
			w.Say("single")
		}
		one.Daemon.Stop()
		one.Daemon.Start()
		one.Daemon.AwaitReady()
	}
	pause(5 * time.Second)
}

// occupied shows that clients wait for the connection that is held.
func occupied(s *tale) {
	since := s.excuse(time.Now())
	oneAtATime(s)
	if _, lost := s.Record().LastLost(since); lost < 100 {
		s.Errorf("%d requests are lost although the backends are occupied, want nearly all", lost)
	}
}
