//go:build lab

package lab_test

import (
	"net/http"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/apiproxy"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/lab"
)

// storeRecovery is how long the daemon may need to come back to an API server
// that is well again: it waits at most 15 s after a failure, and a request that
// is under way may take 5 s.
const storeRecovery = 20 * time.Second

// The requests that matter.
var (
	sliceUpdate = apiproxy.Match{Verb: "update", Resource: "endpointslices"}
	leaseUpdate = apiproxy.Match{Verb: "update", Resource: "leases"}
	// A client that lists by a watch makes no list.
	sliceRead = apiproxy.Match{Resource: "endpointslices"}
	nodeRead  = apiproxy.Match{Resource: "nodes"}
)

// badAPIServers kill a worker while the local API server misbehaves.
func badAPIServers(*testing.T) []trouble {
	return []trouble{
		{name: "refuses", behind: true, text: "connections are refused for 6 s, and a backend ends meanwhile",
			story: whileDown(func(s *tale) { s.Local.Refuse() })},
		{name: "swallows", behind: true, text: "requests get no answer for 6 s, and a backend ends meanwhile",
			story: whileDown(func(s *tale) { s.Local.Swallow() })},
		{name: "answers 500", behind: true, text: "every request is answered 500 for 6 s, and a backend ends meanwhile",
			story: whileDown(answers(http.StatusInternalServerError, 0))},
		{name: "answers 503", behind: true, text: "every request is answered 503 for 6 s, and a backend ends meanwhile",
			story: whileDown(answers(http.StatusServiceUnavailable, time.Second))},
		{name: "is full", behind: true, text: "every request is answered 429 with Retry-After for 6 s, and a backend ends meanwhile",
			story: whileDown(answers(http.StatusTooManyRequests, time.Second))},
		{name: "is slow", behind: true, text: "every request takes a second longer, and a backend ends", story: func(s *tale) {
			s.Local.Set(apiproxy.Fault{Delay: time.Second})
			// The write waits, and a request before it may.
			s.dies(refusedBound + 2*time.Second)
		}},
		{name: "strands connections", behind: true, text: "the open connections go silent for good, new ones are served, and a backend ends", story: func(s *tale) {
			s.Mark("the connections go silent")
			s.Local.Strand()
			// A write gets no answer in 5 s; the next goes another way.
			s.dies(refusedBound + 8*time.Second)
		}},
		{name: "cuts watches", behind: true, text: "every watch is cut four times a second, and a backend ends", story: cutWatches},
		{name: "conflicts", behind: true, text: "somebody else changes the slice before each of three updates", story: func(s *tale) {
			conflicts := s.Local.Conflict(3)
			// The first conflict is decided again at once, the others wait up to 1 and 2 s.
			s.leaves(s.kill(), refusedBound+5*time.Second)
			s.happens(conflicts)
			s.revives()
		}},
		{name: "loses an answer", behind: true, text: "the connection ends after an update was stored and before its answer", story: func(s *tale) {
			lost := s.Local.LoseAnswer(sliceUpdate)
			s.dies(refusedBound)
			s.happens(lost)
		}},
	}
}

// whileDown kills the victim in an outage. It can only leave afterwards.
func whileDown(fault func(*tale)) func(*tale) {
	return func(s *tale) {
		s.Mark("the API server fails")
		fault(s)
		pause(3 * time.Second)
		s.kill()
		pause(3 * time.Second)
		s.Local.Mend()
		s.leaves(s.Mark("the API server is well"), storeRecovery)
		s.revives()
	}
}

// answers makes the API server answer every request with a status.
func answers(status int, retryAfter time.Duration) func(*tale) {
	return func(s *tale) { s.Local.Set(apiproxy.Fault{Status: status, RetryAfter: retryAfter}) }
}

// cutWatches ends every watch again and again.
func cutWatches(s *tale) {
	stop, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for ticker := time.NewTicker(250 * time.Millisecond); ; <-ticker.C {
			select {
			case <-stop:
				ticker.Stop()
				return
			default:
				s.Local.CutWatches()
			}
		}
	}()
	s.dies(refusedBound + time.Second)
	close(stop)
	<-ended
}

// kills end the daemon at the worst moments, and start it again.
func kills(*testing.T) []trouble {
	elected := map[string]string{"LEADER_ELECTION": "true"}
	return []trouble{
		{name: "before a write", behind: true, text: "kill -9 when the update of the slice has arrived and nothing is stored",
			story: killedAt(apiproxy.Arrives, sliceUpdate)},
		{name: "after a write", behind: true, text: "kill -9 when the update of the slice is stored and not answered",
			story: killedAt(apiproxy.Answered, sliceUpdate)},
		{name: "during a read", behind: true, text: "kill -9 while the nodes are listed, right after the start",
			options: lab.Options{Source: "kubernetes"}, story: killedInARead},
		{name: "while it loads", behind: true, text: "kill -9 while the slices are listed, right after the start", story: killedInALoad},
		{name: "during a renewal", behind: true, text: "kill -9 when the renewal of the Lease has arrived; the next start waits for its end",
			options: lab.Options{Env: elected}, story: killedInARenewal},
	}
}

// started is how much later a death is noticed by a daemon that has just been
// started: it loads the slices and needs FALL failures of its own.
const started = 3 * time.Second

// killedAt kills the daemon at a point of the write that takes the victim out.
func killedAt(when apiproxy.When, match apiproxy.Match) func(*tale) {
	return func(s *tale) {
		hit := s.Local.Break(when, match, s.Daemon.Kill)
		s.kill()
		s.happens(hit)
		s.Daemon.Start()
		s.leaves(s.Mark("the daemon was killed and starts again"), refusedBound+started)
		s.revives()
	}
}

// killedInARead kills three starts while they read the inventory.
func killedInARead(s *tale) {
	for range 3 {
		s.Daemon.Kill()
		hit := s.Remote.Break(apiproxy.Answered, nodeRead, s.Daemon.Kill)
		s.Daemon.Start()
		s.happens(hit)
		s.Mark("the daemon was killed")
	}
	s.Daemon.Start()
	s.Daemon.AwaitReady()
	s.dies(refusedBound)
}

// killedInALoad kills three starts while they load the slices.
func killedInALoad(s *tale) {
	for range 3 {
		s.Daemon.Kill()
		hit := s.Local.Break(apiproxy.Answered, sliceRead, s.Daemon.Kill)
		s.Daemon.Start()
		s.happens(hit)
		s.Mark("the daemon was killed")
	}
	s.Daemon.Start()
	s.Daemon.AwaitReady()
	s.dies(refusedBound)
}

// killedInARenewal leaves a Lease without a living holder. No process may take it
// before its 15 s are over.
func killedInARenewal(s *tale) {
	s.happens(s.Local.Break(apiproxy.Arrives, leaseUpdate, s.Daemon.Kill))
	s.Mark("the daemon was killed")
	s.Daemon.Start()
	const lease = 20 * time.Second // 15 s, and a look every few
	s.leaves(s.kill(), lease+refusedBound+started)
	s.revives()
}
