//go:build lab

package lab_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/lab"
)

const (
	// threshold is the default of EMPTY_RESULT_THRESHOLD.
	threshold = 10
	// rejected counts the scheduled inventories in a row that were rejected.
	rejected = "ionos_endpointslice_rejected_inventories"
)

// wrongInventories make the source forget workers that serve (contract 13): an
// endpoint that passes its health check stays, and a dead one goes as usual.
func wrongInventories(*testing.T) []trouble {
	options := func(workers int) lab.Options {
		return lab.Options{Workers: workers, Env: map[string]string{"SOURCE_POLL_INTERVAL": "1s", "DRAIN_PERIOD": "5s"}}
	}
	return []trouble{
		{name: "empty for long", text: "the inventory is empty for more than EMPTY_RESULT_THRESHOLD reads while every worker serves; then one backend ends and a machine falls silent",
			options: options(5), story: emptyForLong},
		{name: "empty, daemon killed", text: "the same, with kill -9 and a new start twice meanwhile; then a backend ends",
			options: options(4), story: emptyAndKilled},
		{name: "empty, prober cut off", text: "the inventory is empty, and the daemon alone reaches no worker meanwhile; a backend that was down before is back when the network is",
			options: options(5), story: emptyAndCutOff},
		{name: "other nodes", text: "from one read to the next all nodes are others, and the old ones serve until no request comes to them",
			options: options(3), story: otherNodes},
		{name: "a third of the nodes", text: "two thirds of the nodes are missing for more than EMPTY_RESULT_THRESHOLD reads and serve; then a listed node leaves",
			options: options(9), story: aThird},
	}
}

// outlast waits for more rejected inventories than would count as the truth, and
// in the long form for ten minutes.
func (s *tale) outlast() {
	s.Helper()
	before := s.Daemon.Metric(rejected)
	if long() {
		pause(10 * time.Minute)
	}
	s.Daemon.AwaitMetric(rejected, before+threshold+2)
}

// want fails the test for each worker that is published in another state.
func (s *tale) want(state string, workers ...*lab.Worker) {
	s.Helper()
	states := s.States()
	for _, w := range workers {
		if got := states[w.Address]; got != state {
			s.Errorf("%s is %q, want %q\n%s", w.Name, got, state, s.Daemon.Log())
		}
	}
}

// lists makes these workers the inventory again and waits until all are used.
func (s *tale) lists(workers ...*lab.Worker) {
	s.Helper()
	s.Mark("the inventory is right again")
	s.Replace(workers...)
	s.AwaitAllReady()
	s.AwaitAnswers(workers...)
	s.AwaitEvent("RemovalReleased")
}

// emptyForLong: nothing changes as long as workers serve. Dead ones go down as fast
// as usual, and are removed when they were down for the threshold.
func emptyForLong(s *tale) {
	workers := s.Workers()
	s.Mark("the inventory is empty")
	s.Replace()
	s.outlast()
	s.wantNoWrites()
	s.AwaitEvent("RemovalHeld")
	before := s.Daemon.Metric(rejected)
	s.isOut(workers[0], s.crashes(workers[0]), refusedBound)
	s.isOut(workers[1], s.silences(workers[1], "both"), silentBound)
	s.AwaitState(workers[0], "")
	s.Mark("the dead ones are removed")
	if inventories := s.Daemon.Metric(rejected) - before; inventories < threshold {
		s.Errorf("%s is removed after %v inventories, want at least %d", workers[0].Name, inventories, threshold)
	}
	s.AwaitState(workers[1], "")
	s.want("ready", workers[2:]...)
	s.AwaitEvent("RemovalAccepted")
	workers[0].Boot()
	workers[1].Hear()
	s.lists(workers...)
}

// emptyAndKilled: a restart forgets no endpoint, and the count begins again.
func emptyAndKilled(s *tale) {
	workers := s.Workers()
	s.Mark("the inventory is empty")
	s.Replace()
	for range 2 {
		s.Daemon.AwaitMetric(rejected, threshold/2+1)
		s.Mark("kill -9")
		s.Daemon.Kill()
		s.Daemon.Start()
		s.Daemon.AwaitReady()
	}
	s.outlast()
	s.wantNoWrites()
	s.isOut(workers[0], s.crashes(workers[0]), refusedBound)
	s.want("ready", workers[1:]...)
	workers[0].Boot()
	s.lists(workers...)
}

// emptyAndCutOff: without an inventory and without a health check nothing changes,
// not even for an endpoint that was down before.
func emptyAndCutOff(s *tale) {
	workers := s.Workers()
	s.Mark("the inventory is empty")
	s.Replace()
	s.Daemon.AwaitMetric(rejected, 1)
	died := s.crashes(workers[0])
	s.AwaitState(workers[0], "down")
	s.writesAtStart, _ = s.APIRequests()
	s.Mark("the prober is cut off")
	s.CutProber()
	s.isOut(workers[0], died, refusedBound)
	workers[0].Boot()
	s.outlast()
	s.want("down", workers[0])
	s.want("ready", workers[1:]...)
	s.wantNoWrites()
	s.Mark("the prober is back")
	s.MendProber()
	s.AwaitState(workers[0], "ready")
	s.AwaitAnswers(workers...)
	s.want("ready", workers...)
	s.isOut(workers[1], s.crashes(workers[1]), refusedBound)
	workers[1].Boot()
	s.lists(workers...)
}

// otherNodes: as many new nodes that serve as old ones are left out were a
// replacement. The old ones serve until then, drain, and go.
func otherNodes(s *tale) {
	old := s.Workers()
	fresh := []*lab.Worker{s.AddWorker(), s.AddWorker(), s.AddWorker()}
	replaced := s.Mark("other nodes are listed")
	s.Replace(fresh...)
	s.AwaitAnswers(fresh...)
	s.AwaitAnswers(old...)
	s.AwaitEvent("RemovalHeld")
	for _, w := range old {
		s.AwaitState(w, "draining")
	}
	// From the first to the last of them are at least nine intervals of 0.9 s.
	if took := s.Mark("the old ones drain").Sub(replaced); took < 8*time.Second {
		s.Errorf("the old nodes drain %v after the new ones were listed, want EMPTY_RESULT_THRESHOLD=%d inventories first", took, threshold)
	}
	s.AwaitAllReady()
	s.Mark("the old ones are gone")
	s.AwaitNoAnswers(old...)
	s.AwaitEvent("RemovalAccepted")
	s.AwaitEvent("RemovalReleased")
	if status := s.Daemon.Status(); status.Mode != "Publish" {
		s.Errorf("got %+v, want the mode Publish", status)
	}
}

// aThird: an endpoint that is left out and serves is kept for good, and every surface
// says so. It does not block the next ordinary removal.
func aThird(s *tale) {
	all := s.Workers()
	s.Mark("two thirds are missing")
	s.Replace(all[:3]...)
	s.outlast()
	s.wantNoWrites()
	s.AwaitAnswers(all...)
	s.AwaitEvent("RemovalHeld")
	if status := s.Daemon.Status(); status.Mode != "Hold" || status.Reason != "TooManyRemovals" || !strings.Contains(status.Message, "MAX_REMOVAL_PERCENT") {
		s.Errorf("got %+v, want the mode Hold, the reason TooManyRemovals, and the remedy MAX_REMOVAL_PERCENT", status)
	}
	leaving, staying := all[0], all[1:]
	s.Mark("%s leaves", leaving.Name)
	s.Leave(leaving)
	s.AwaitState(leaving, "draining")
	s.AwaitState(leaving, "")
	s.AwaitNoAnswers(leaving)
	s.Mark("%s is gone", leaving.Name)
	leaving.Stop()
	leaving.Remove()
	s.Gone(leaving)
	pause(2 * time.Second)
	s.want("ready", staying...)
	s.AwaitAnswers(staying...)
	s.lists(staying...)
}
