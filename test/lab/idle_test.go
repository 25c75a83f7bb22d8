//go:build lab

package lab_test

import (
	"maps"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/lab"
)

// heldConnections are lost without a backend being dead, in every way that there
// is. No request may be lost by that, and no endpoint taken down.
func heldConnections(*testing.T) []trouble {
	held := lab.Options{Env: holding}
	// A wire that loses five packets of a hundred makes a tenth of the checks fail.
	tolerant := lab.Options{Env: maps.Clone(holding)}
	tolerant.Env["HEALTH_CHECK_FALL"] = "4"
	return []trouble{
		{name: "idle connections closed", text: "backends close connections that are idle for 5 s", options: held, story: losesConnections("idle 5s", 8*time.Second)},
		{name: "idle connections reset", text: "what stands before the backends resets connections that are idle for 1 s", options: held, story: losesConnections("reset 1s", 8*time.Second)},
		{name: "all connections flushed", text: "a firewall resets all connections at once", options: held, story: losesConnections("reset 300ms", 4*time.Second)},
		{name: "connections forgotten", text: "a firewall forgets connections, and drops what belongs to them", options: held, story: forgotten},
		{name: "restart in 50 ms", text: "backends are away for 50 ms, one after the other, which costs the requests of that time", options: held, story: restartsQuickly},
		{name: "5 % packet loss", text: "a wire loses five packets of a hundred, in both directions", options: tolerant, story: packetLoss(5)},
		{name: "prober cut off for 3 s", text: "the daemon alone reaches no worker for 3 s", options: held, story: cutOffShortly},
		{name: "one connection at a time", text: "backends serve one connection at a time, and none is held: the default", story: oneAtATime},
		{name: "one connection at a time, held", text: "the same with a connection held to each: it occupies them, which is why that is off by default", options: held, story: occupied},
	}
}

// losesConnections makes all backends end idle connections, at about the same time:
// such alarms mean nothing, except one.
func losesConnections(mode string, d time.Duration) func(*tale) {
	return func(s *tale) {
		s.AwaitHeld()
		before := s.alarms()
		s.Mark("%s", mode)
		for _, w := range s.Workers() {
			w.Say(mode)
		}
		pause(d)
		if lost := s.alarms() - before; lost < len(s.Workers()) {
			s.Errorf("%d connections are lost, want each of %d", lost, len(s.Workers()))
		}
		if s.Daemon.Metric("ionos_endpointslice_connection_alarms_ignored_total") == 0 {
			s.Error("no alarm was ignored although all connections were lost at once")
		}
		s.wantNoWrites()
	}
}

// alarms is how many held connections were lost.
func (s *tale) alarms() int {
	s.Helper()
	return int(s.Daemon.Metric("ionos_endpointslice_connection_alarms_total"))
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
	for _, w := range s.Workers() {
		s.Mark("%s restarts", w.Name)
		began := s.excuse(time.Now())
		w.Say("refuse")
		pause(50 * time.Millisecond)
		w.Say("ok")
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
	s.CutProber()
	pause(3 * time.Second)
	s.MendProber()
	s.Mark("the prober is back")
	pause(4 * time.Second)
	s.wantNoWrites()
}

// oneAtATime makes the backends serve one connection at a time and restarts the
// daemon: its held connections are then the only ones that they serve.
func oneAtATime(s *tale) {
	for _, w := range s.Workers() {
		w.Say("single")
	}
	s.Mark("one connection at a time")
	s.Daemon.Stop()
	s.Daemon.Start()
	s.Daemon.AwaitReady()
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
