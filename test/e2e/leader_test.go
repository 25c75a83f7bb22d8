package e2e_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// TestTheElection runs several processes for one Service. Whatever becomes of the
// leader, the audit log shows one writer at a time and no write when nothing
// changed.
func TestTheElection(t *testing.T) {
	netns.Require(t)
	cp := controlplane.Start(t, controlplane.Options{Audit: true})
	for name, test := range map[string]func(*testing.T, *world){
		"Contract29TakesOverFromOneThatWasKilled":          takesOverFromTheKilled,
		"Contract29And32ResumesAfterAMinuteAndWritesNot":   resumesAndWritesNothing,
		"Contract29EndsWhenItsConnectionsAreRefused":       func(t *testing.T, w *world) { endsWhenCutOff(t, w, refusing) },
		"Contract29EndsWhenItsConnectionsAreSwallowed":     func(t *testing.T, w *world) { endsWhenCutOff(t, w, swallowing) },
		"Contract30HandsOverWhenTerminated":                handsOver,
		"Contract30StopsInTimeWithoutAnAnswer":             stopsUnanswered,
		"Contract29TakesOverThoughItsConnectionsAreDead":   takesOverThoughStranded,
		"Contract29OnlyOneOfThreeTakesOver":                oneOfThree,
		"Contract21And29TwoForcedLeadersConverge":          twoLeadersConverge,
		"Contract29AStandbyNeitherReadsNorProbesNorWrites": standbyDoesNothing,
		"Contract29AStandbyAnswersForTheLeader":            standbyAnswers,
		"Contract31AStandbyIsReady":                        standbyIsReady,
		"OnceWaitsForTheLease":                             onceWaits,
		"ADryRunTakesNoPart":                               dryRunTakesNoPart,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, newWorld(t, cp, "client-go"))
		})
	}
	t.Run("Contract30HandsOverWhenTerminatedWithKubectl", func(t *testing.T) {
		t.Parallel()
		handsOver(t, newWorld(t, cp, "kubectl"))
	})
}

// wantTakeover demands that it took no longer than promised.
func wantTakeover(t *testing.T, from, at time.Time, atMost time.Duration) {
	t.Helper()
	wantWithin(t, "the takeover", from, at, atMost)
}

// diesWithinSeconds kills a backend and demands that it is gone soon.
func (tm *team) diesWithinSeconds(i int, want ...string) {
	tm.t.Helper()
	start := time.Now()
	tm.nodes[i].backends[0].kill()
	tm.wantPublished(tm.all(want...))
	wantWithin(tm.t, "taking out a dead backend", start, time.Now(), 10*time.Second)
}

func takesOverFromTheKilled(t *testing.T, w *world) {
	tm := newTeam(t, w, 2)
	leader := tm.lead()
	tm.wantStandby(tm.replicas[1])
	killed := time.Now()
	leader.kill()
	_, at := tm.successor()
	wantTakeover(t, killed, at, leaseDuration+2*time.Second)
	tm.diesWithinSeconds(1, "ready", "down")
	tm.wantOneWriter(2)
}

func resumesAndWritesNothing(t *testing.T, w *world) {
	tm := newTeam(t, w, 2)
	leader := tm.lead()
	stopped := time.Now()
	if err := leader.cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	// What it would want to write when it goes on.
	tm.nodes[0].backends[0].kill()
	_, at := tm.successor()
	wantTakeover(t, stopped, at, leaseDuration+2*time.Second)
	tm.wantPublished(tm.all("down"))
	tm.nodes[0].backends[0].start(t)
	tm.wantPublished(tm.all())
	<-time.After(time.Until(stopped.Add(time.Minute)))
	if err := leader.cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if got := leader.end(); got != lostStatus {
		t.Errorf("got exit status %d, want %d", got, lostStatus)
	}
	leader.says("lease lost, stopping")
	tm.diesWithinSeconds(1, "ready", "down")
	tm.wantOneWriter(4)
}

func endsWhenCutOff(t *testing.T, w *world, how cut) {
	tm := newTeam(t, w, 2)
	leader := tm.lead()
	cutOff := time.Now()
	leader.road.close(how)
	tm.nodes[0].backends[0].kill()
	if got := leader.end(); got != lostStatus {
		t.Errorf("got exit status %d, want %d", got, lostStatus)
	}
	stopped := saidAt(t, leader.says("lease lost, stopping"))
	_, at := tm.successor()
	if !stopped.Before(at) {
		t.Errorf("another led %s before it stopped", stopped.Sub(at))
	}
	wantTakeover(t, cutOff, at, leaseDuration+2*time.Second)
	if at.Sub(cutOff) < renewDeadline {
		t.Errorf("the takeover took %s, want that the leader's time is over first", at.Sub(cutOff))
	}
	tm.wantPublished(tm.all("down"))
	tm.wantOneWriter(2)
}

func handsOver(t *testing.T, w *world) {
	tm := newTeam(t, w, 2)
	leader := tm.lead()
	terminated := time.Now()
	leader.wantStop()
	if leader.count("lease released") != 1 {
		t.Error("it does not say that it released the lease")
	}
	_, at := tm.successor()
	wantTakeover(t, terminated, at, 2*time.Second)
	tm.wantOneWriter(1)
	tm.diesWithinSeconds(2, "ready", "ready", "down")
	tm.wantOneWriter(2)
}

func stopsUnanswered(t *testing.T, w *world) {
	tm := newTeam(t, w, 2)
	leader := tm.lead()
	leader.road.close(swallowing)
	tm.nodes[0].backends[0].kill()
	for leader.says("endpoint changed")["to"] != "down" {
	}
	stopped := time.Now()
	leader.stop()
	wantWithin(t, "stopping", stopped, time.Now(), 10*time.Second)
	tm.successor()
	tm.wantPublished(tm.all("down"))
	tm.wantOneWriter(2)
}

// A standby is not late when its connections died without a reset.
func takesOverThoughStranded(t *testing.T, w *world) {
	tm := newTeam(t, w, 2)
	leader := tm.lead()
	tm.replicas[1].road.strand()
	killed := time.Now()
	leader.kill()
	_, at := tm.successor()
	wantTakeover(t, killed, at, leaseDuration+2*time.Second)
	tm.diesWithinSeconds(1, "ready", "down")
	tm.wantOneWriter(2)
}

func oneOfThree(t *testing.T, w *world) {
	tm := newTeam(t, w, 3)
	leader := tm.lead()
	leader.stop()
	heir, _ := tm.successor()
	killed := time.Now()
	heir.kill()
	last := tm.replicas[1]
	if last == heir {
		last = tm.replicas[2]
	}
	tm.wantStandby(last)
	last.says("leading")
	wantTakeover(t, killed, time.Now(), leaseDuration+2*time.Second)
	tm.diesWithinSeconds(0, "down")
	tm.wantOneWriter(2)
}

func twoLeadersConverge(t *testing.T, w *world) {
	tm := newTeam(t, w, 2)
	for i := range tm.replicas {
		tm.run(i, "LEADER_ELECTION=false")
	}
	tm.wantPublished(tm.all())
	for range 3 {
		tm.nodes[1].backends[0].kill()
		tm.wantPublished(tm.all("ready", "down"))
		tm.nodes[1].backends[0].start(t)
		tm.wantPublished(tm.all())
	}
	// The slower one's write may still be refused.
	before := -1
	tm.until(func() bool {
		written := len(tm.slicesWritten())
		same := written == before
		before = written
		<-time.After(2 * time.Second)
		return same
	}, func() string { return "two leaders do not come to rest" })
	if before > 4*7 {
		t.Errorf("got %d attempts at 7 changes, want few", before)
	}
	<-time.After(10 * time.Second)
	if got := len(tm.slicesWritten()); got != before {
		t.Errorf("got %d writes at rest, want none", got-before)
	}
	tm.wantPublished(tm.all())
}
