//go:build lab

package lab_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/lab"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/traffic"
)

const (
	// toldBound is three intervals of HEALTH_CHECK_FALL and a second.
	toldBound = 7 * time.Second
	// A leader gives the Lease away a minute after its standby reached what it does not.
	earliestMove, latestMove = 60 * time.Second, 75 * time.Second
	// movedBound is how long after it refuses an endpoint is down that the leader cannot reach.
	movedBound = 72 * time.Second
	// heldReason is of an endpoint that another replica reaches.
	heldReason = "ReadyElsewhere"
)

// twoReplicas cuts the leader of two replicas off from workers, which clients and
// the other replica reach.
func twoReplicas(t *testing.T, w *lab.World) {
	for name, scene := range map[string]struct {
		text    string
		options lab.Options
		story   func(s *tale, leader, standby *lab.Daemon)
	}{
		"half cut off": {text: "the leader alone loses the way to three of six workers; after a minute the other replica leads (HEALTH_CHECK_FALL=8)", story: halfCutOff,
			// On a slow machine the other replica may answer later than three checks fail, and the endpoint would go down.
			options: lab.Options{Env: map[string]string{"HEALTH_CHECK_FALL": "8"}}},
		"cut off, one silent":  {text: "the leader alone loses the way to six workers; then one of them falls silent for everybody", story: cutOffOneSilent},
		"cut off, one refuses": {text: "the leader alone loses the way to six workers; then one of them refuses connections", story: cutOffOneRefuses},
		"at rest, one hangs": {text: "two replicas at rest for 20 s; then an HTTP worker accepts and never answers", story: atRestOneHangs,
			options: lab.Options{Env: map[string]string{"HEALTH_CHECK_MODE": "http"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scene.options.Workers = 6
			x, leader, standby := w.Replicas(t, scene.options)
			s := &tale{T: t, world: w, Target: x}
			s.Begin(100)
			s.writesAtStart, _ = s.APIRequests()
			scene.story(s, leader, standby)
			pause(quietTime)
			s.End()
			s.judge()
			s.Report("replicas/"+name, scene.text, s.facts...)
		})
	}
}

// within fails the test when something was later than that since a fault.
func (s *tale) within(what string, since time.Time, most time.Duration) time.Duration {
	s.Helper()
	took := time.Since(since)
	s.Logf("%s: %.1f s after, at most %.1f s", what, took.Seconds(), most.Seconds())
	s.facts = append(s.facts, traffic.Fact{Name: what, Value: took.Round(100 * time.Millisecond).String()})
	if most += shared + lab.Allowance(s.Record()); took > most {
		var asked strings.Builder
		for _, e := range s.requests(since) {
			fmt.Fprintf(&asked, "%s %s: %d %s %s\n", e.Received.Format("15:04:05.000"), e.Source, e.Code, e.Verb, e.Path)
		}
		s.Errorf("%s: %v after, want at most %v\n%s\nasked since:\n%s", what, took, most, s.Daemon.Log(), &asked)
	}
	return took
}

// moves waits until the Lease has moved, and starts the old leader again as a kubelet does.
func (s *tale) moves(leader, standby *lab.Daemon) {
	s.Helper()
	standby.AwaitLogged("leading")
	leader.AwaitSuccess()
	s.Daemon = standby
	leader.Start()
	leader.AwaitLogged("standing by")
}

func halfCutOff(s *tale, leader, standby *lab.Daemon) {
	lost := s.Workers()[:3]
	fault := s.Mark("the leader loses the way to three of six")
	leader.Lose(lost...)
	leader.AwaitReason(heldReason, lost...)
	s.within("told", fault, toldBound)
	s.moves(leader, standby)
	if took := s.within("the other replica leads", fault, latestMove); took < earliestMove {
		s.Errorf("the other replica leads after %v, want %v at least", took, earliestMove)
	}
	s.Mark("the other replica leads")
	standby.AwaitReady()
	pause(6 * time.Second)
	s.wantNoWrites()
	s.leaves(s.kill(), refusedBound+2*time.Second) // after eight failures, not three
}

func cutOffOneSilent(s *tale, leader, _ *lab.Daemon) {
	s.Mark("the leader loses the way to all six")
	leader.Lose(s.Workers()...)
	leader.AwaitReason(heldReason, s.Workers()...)
	pause(2 * time.Second)
	s.wantNoWrites()
	fault := s.silences(s.victim(), "both")
	s.AwaitState(s.victim(), "down")
	s.within("down", fault, 6*time.Second)
	s.leaves(fault, silentBound+500*time.Millisecond)
	s.wantOthersReady()
	s.victim().Hear()
	pause(8 * time.Second)
	s.wantOthersReady()
}

func cutOffOneRefuses(s *tale, leader, standby *lab.Daemon) {
	s.Mark("the leader loses the way to all six")
	leader.Lose(s.Workers()...)
	leader.AwaitReason(heldReason, s.Workers()...)
	s.wantNoWrites()
	fault := s.kill()
	s.AwaitState(s.victim(), "down")
	s.within("down", fault, movedBound)
	s.wantOthersReady()
	s.moves(leader, standby)
	s.leaves(fault, movedBound)
	s.revives()
	s.wantOthersReady()
}

// wantOthersReady fails the test unless all but the victim are published as ready, and were all
// the time: each change of the victim is one write.
func (s *tale) wantOthersReady() {
	s.Helper()
	states := s.States()
	for _, w := range s.Workers()[1:] {
		if got := states[w.Address]; got != "ready" {
			s.Errorf("%s is %q, want ready\n%s", w.Name, got, s.Daemon.Log())
		}
	}
	if writes, _ := s.APIRequests(); writes > s.writesAtStart+2 {
		s.Errorf("%d writes of slices since the start, want those for one worker", writes-s.writesAtStart)
	}
}

func atRestOneHangs(s *tale, _, _ *lab.Daemon) {
	pause(3 * time.Second) // both have settled
	from := time.Now()
	pause(20 * time.Second)
	at := s.requests(from)
	s.wantRest(at, time.Since(from))
	leases := s.leases()
	hung := s.Mark("hang")
	goesBad("hang", silentBound)(s)
	for _, e := range s.requests(hung) {
		if strings.Contains(e.Path, "-reached") {
			s.Errorf("%s %s, want that nothing is asked or answered", e.Verb, e.Path)
		}
	}
	for lease := range leases() {
		s.Errorf("the Lease has the note %q, want none", lease)
	}
}

// requests are what both daemons have asked the API server for since then.
func (s *tale) requests(since time.Time) (own []controlplane.AuditEvent) {
	s.Helper()
	for _, e := range s.world.Local.Audit() {
		if e.User == s.User && e.Received.After(since) {
			own = append(own, e)
		}
	}
	return own
}

// wantRest fails the test unless these are renewals of one leader, one each 2 s, and a watch or
// two that begins anew.
func (s *tale) wantRest(requests []controlplane.AuditEvent, during time.Duration) {
	s.Helper()
	renewals, watches, leader := 0, 0, ""
	for _, e := range requests {
		switch {
		case e.Verb == "update" && e.Resource == "leases" && !strings.HasSuffix(e.Name, "-reached") && (leader == "" || leader == e.Source):
			renewals, leader = renewals+1, e.Source
		case e.Verb == "watch":
			watches++
		default:
			s.Errorf("at rest: %s %s from %s", e.Verb, e.Path, e.Source)
		}
	}
	if most := int(during/(2*time.Second)) + 2; renewals > most || watches > 2 { // one more was under way when that time began
		s.Errorf("at rest: %d renewals and %d watches in %v, want at most %d and 2", renewals, watches, during, most)
	}
	s.Logf("at rest: %d renewals and %d watches in %v", renewals, watches, during)
}

// leases watches the Lease until the function that it returns is called, which returns the notes
// that it had.
func (s *tale) leases() (stop func() map[string]bool) {
	s.Helper()
	watch, err := s.world.Client().CoordinationV1().Leases(s.Name).Watch(s.Context(), metav1.ListOptions{})
	if err != nil {
		s.Fatal(err)
	}
	notes, done := map[string]bool{}, make(chan struct{})
	go func() {
		defer close(done)
		for e := range watch.ResultChan() {
			if lease, ok := e.Object.(metav1.Object); ok {
				if note := lease.GetAnnotations()["endpoints.ablmnzde.github.io/note"]; note != "" {
					notes[note] = true
				}
			}
		}
	}()
	return func() map[string]bool {
		watch.Stop()
		<-done
		return notes
	}
}
