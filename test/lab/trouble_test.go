//go:build lab

package lab_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/lab"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/traffic"
)

// shared is what a scenario allows beyond the promise. Other scenarios run beside it,
// and kube-proxy writes its rules for all of them, at most once a second. One death
// is also no percentile.
const shared = 1500 * time.Millisecond

// trouble is a scenario with faults of what stands around the daemon, or of
// itself.
type trouble struct {
	name, text string
	options    lab.Options
	// behind puts proxies between the daemon and the API servers.
	behind bool
	// beside is a second target that has the same faults and needs no excuse. The
	// requests of the first are compared with those of the second.
	beside *lab.Options
	// delays says that the requests of the first do take longer.
	delays bool
	story  func(*tale)
}

// tale is a running scenario. Requests may be lost only where it excuses them.
type tale struct {
	*testing.T
	*lab.Target
	lab.Proxies
	world *lab.World
	// beside is what the requests are compared with; see [trouble].
	beside  *tale
	excuses []excuse
	facts   []traffic.Fact
	// writesAtStart is how often slices had been written when the story began.
	writesAtStart int
}

// excuse is a time in which a dead backend may cost requests.
type excuse struct{ from, to time.Time }

// TestTroubles makes everything around the daemon go wrong, and the daemon itself. A
// worker that dies in that time must leave as soon as the fault allows it. No other
// request may be lost.
func TestTroubles(t *testing.T) {
	w := lab.Start(t)
	t.Run("many", func(t *testing.T) {
		t.Parallel()
		tenRotate(t, w)
	})
	// Alone, because its requests take half of the machine.
	t.Run("envoy Contract97 crash", func(t *testing.T) { crashesBehindEnvoy(t, w) })
	t.Run("envoy", func(t *testing.T) {
		t.Parallel()
		envoys(t, w)
	})
	for group, troubles := range map[string]func(*testing.T) []trouble{
		"API server": badAPIServers, "killed": kills, "daemon": strains, "clock": clocks, "network": badNetworks,
		"inventory": wrongInventories, "held": heldConnections,
	} {
		// All are made before any runs: one of them compiles.
		scenarios := troubles(t)
		t.Run(group, func(t *testing.T) {
			t.Parallel()
			suffer(t, w, group, scenarios)
		})
	}
}

// suffer runs scenarios side by side.
func suffer(t *testing.T, w *lab.World, group string, troubles []trouble) {
	t.Helper()
	for _, s := range troubles {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			tale := &tale{T: t, world: w}
			if s.behind {
				tale.Target, tale.Proxies = w.TargetBehindProxies(t, s.options)
			} else {
				tale.Target = w.Target(t, s.options)
			}
			if s.beside != nil {
				tale.beside = begunBeside(t, w, *s.beside)
			}
			tale.Begin(100)
			tale.writesAtStart, _ = tale.APIRequests()
			s.story(tale)
			pause(quietTime)
			tale.End()
			tale.judge()
			if s.beside != nil {
				tale.compare(s.delays)
			}
			tale.Report(group+"/"+s.name, s.text, tale.facts...)
		})
	}
}

// judge fails the test for each lost request that nothing excuses.
func (s *tale) judge() {
	s.Helper()
	var text strings.Builder
	count := 0
	for _, lost := range s.Record().Lost() {
		excused := false
		for _, e := range s.excuses {
			excused = excused || !lost.Start.Before(e.from) && !lost.Start.After(e.to)
		}
		if excused {
			continue
		}
		if count++; count <= 10 {
			fmt.Fprintf(&text, "\n\t%s %s after %v (late %v)", lost.Start.Format("15:04:05.000"), lost.Failure, lost.Took, lost.Late)
		}
	}
	if count == 0 || s.starved(count) {
		return
	}
	for _, m := range s.Record().Marks() {
		fmt.Fprintf(&text, "\n\t%s -- %s", m.At.Format("15:04:05.000"), m.Text)
	}
	s.Errorf("%d of %d requests are lost beyond what a dead backend explains; 99 of 100 began at most %v late%s\n%s",
		count, s.Record().Len(), s.Record().Lateness(), text.String(), s.Daemon.Log())
}

// starved reports whether the machine, not the daemon, explains these few losses: one
// request of a hundred began a tenth of a second late or more, so some took a whole
// second. It says so in the log and in the report.
func (s *tale) starved(lost int) bool {
	s.Helper()
	late, requests := s.Record().Lateness(), s.Record().Len()
	if late < 100*time.Millisecond || lost*500 > requests {
		return false
	}
	note := fmt.Sprintf("%d of %d requests, on a machine that begins them %v late", lost, requests, late.Round(time.Millisecond))
	s.Log("ignored: " + note)
	s.facts = append(s.facts, traffic.Fact{Name: "ignored", Value: note})
	return true
}

// victim is the worker that dies.
func (s *tale) victim() *lab.Worker { return s.Workers()[0] }

// kill crashes the victim. It may cost requests from now on, until [tale.leaves] ends
// that.
func (s *tale) kill() time.Time {
	s.Helper()
	return s.crashes(s.victim())
}

// crashes ends a backend, and silences drops the packets of a worker. Either may
// cost requests from now on, until [tale.isOut] ends that.
func (s *tale) crashes(w *lab.Worker) time.Time {
	s.Helper()
	s.Mark("%s crashes", w.Name)
	return s.excuse(w.Kill())
}

func (s *tale) silences(w *lab.Worker, direction string) time.Time {
	s.Helper()
	s.Mark("%s falls silent", w.Name)
	return s.excuse(w.Silence(direction))
}

// excuse allows for requests that a fault costs from then on.
func (s *tale) excuse(fault time.Time) time.Time {
	// A request that was under way may have begun before.
	s.excuses = append(s.excuses, excuse{fault.Add(-traffic.Timeout), fault.Add(time.Hour)})
	return fault
}

// leaves waits until the dead victim costs nothing any more, and fails the test
// when that was later than the bound after since.
func (s *tale) leaves(since time.Time, bound time.Duration) {
	s.Helper()
	s.isOut(s.victim(), since, bound)
}

// isOut is [tale.leaves] for a worker that the inventory may not list.
func (s *tale) isOut(w *lab.Worker, since time.Time, bound time.Duration) {
	s.Helper()
	s.AwaitState(w, "down")
	pause(shared + quietTime)
	last, _ := s.Record().LastLost(since)
	bound += shared + lab.Allowance(s.Record())
	s.excuses[len(s.excuses)-1].to = since.Add(bound)
	s.Logf("last lost request %.2f s after, at most %.2f s", last.Seconds(), bound.Seconds())
	s.facts = append(s.facts, traffic.Fact{Name: "last lost after", Value: last.Round(time.Millisecond).String()})
}

// revives starts the victim again and waits until it is back.
func (s *tale) revives() {
	s.Helper()
	s.victim().Boot()
	s.AwaitAllReady()
	s.AwaitAnswers(s.victim())
	s.Mark("%s is back", s.victim().Name)
}

// dies is a whole death, from crash to recovery.
func (s *tale) dies(bound time.Duration) {
	s.Helper()
	s.leaves(s.kill(), bound)
	s.revives()
}

// happens waits until a proxy has done what it was asked to do.
func (s *tale) happens(done <-chan struct{}) {
	s.Helper()
	select {
	case <-done:
	case <-time.After(time.Minute):
		s.Fatalf("no request came to the point\n%s", s.Daemon.Log())
	}
}
