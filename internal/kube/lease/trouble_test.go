package lease_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube/lease"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// The time of a holder begins with its request, not with the answer.
func TestASlowAnswerToTheFirstRequestProlongsNothing(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		p := prepare(t, newAPI(), "one")
		p.client.set(func(string) outcome { return slow })
		p.run()
		within(t, 6*time.Second+soon, "lead", p.leading)
		if left := p.elector.Remaining(); left > lease.RenewDeadline-3*time.Second {
			t.Errorf("got %s left, want at most 7 s", left)
		}
	})
}

// To be slower than others is no trouble.
func TestALostRaceIsNotTold(t *testing.T) {
	for _, verb := range []string{"create", "update"} {
		t.Run(verb, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				a := newAPI()
				if verb == "update" {
					a.holds("", time.Now())
				}
				p := prepare(t, a, "one")
				p.client.set(func(v string) outcome {
					if v == verb && a.holder() != "other" {
						a.holds("other", time.Now())
					}
					return served
				})
				p.run()
				time.Sleep(lease.LeaseDuration / 2)
				if states := p.told(); len(states) != 1 || states[0].LastErr != nil || states[0].Holder != "other" {
					t.Errorf("got %+v, want only that other leads", states)
				}
			})
		})
	}
}

// A watch that cannot be opened blocks no process.
func TestAWatchThatHangsIsGivenUp(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := newAPI()
		a.holds("other", time.Now())
		p := prepare(t, a, "one")
		p.client.set(func(verb string) outcome {
			if verb == "watch" {
				return hanging
			}
			return served
		})
		p.run()
		time.Sleep(time.Second)
		a.holds("", time.Now())
		within(t, requestTimeout+lease.RetryPeriod, "lead", p.leading)
	})
}

// Lost answers to the request that takes the Lease.
func TestALeaseThatWasGotUnknowinglyIsFound(t *testing.T) {
	for _, verb := range []string{"create", "update"} {
		t.Run(verb, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				a := newAPI()
				p := prepare(t, a, "one")
				if verb == "update" {
					a.holds("", time.Now())
				}
				once := true
				p.client.set(func(v string) outcome {
					if v == verb && once {
						once = false
						return lost
					}
					return served
				})
				p.run()
				within(t, 5*time.Second, "lead", p.leading)
				if a.holder() != "one" {
					t.Errorf("got holder %q, want one", a.holder())
				}
				time.Sleep(time.Minute)
				wantLeading(t, []*process{p}, p)
			})
		})
	}
}

func TestSIGTERMDuringTheCampaignEndsIt(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := newAPI()
		a.holds("other", time.Now())
		p := start(t, a, "one")
		time.Sleep(5 * time.Second)
		p.stop()
		within(t, soon, "end", p.ended)
		if !errors.Is(p.err, lease.ErrNotElected) || !errors.Is(p.err, context.Canceled) || !strings.Contains(p.err.Error(), "other holds it") {
			t.Errorf("got %v, want that it was not elected because other holds the lease", p.err)
		}
		if a.count("one", "update", "create") != 0 || a.holder() != "other" {
			t.Error("got a write, want none")
		}
	})
}

// The request that took the Lease got no answer. The Lease is given back.
func TestSIGTERMWhileTheLeaseIsTakenLeavesItFree(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		a := newAPI()
		p := prepare(t, a, "one")
		p.client.set(func(verb string) outcome {
			if verb == "create" {
				return lost
			}
			return served
		})
		p.run()
		time.Sleep(time.Second)
		p.stop()
		within(t, soon, "end", p.ended)
		if a.holder() != "" {
			t.Errorf("got holder %q, want none", a.holder())
		}
	})
}

func TestTroubleIsToldOnceAndWithItsRemedy(t *testing.T) {
	for what, tt := range map[string]struct {
		verb string
		do   outcome
		want string
	}{
		"away":         {"list", refused, "connection refused"},
		"silent":       {"list", hanging, "deadline"},
		"no right":     {"list", denied, "grant list, watch, create and update of leases (coordination.k8s.io) in the namespace infra"},
		"no namespace": {"create", missing, "create the namespace, or set LEADER_ELECTION_NAMESPACE"},
	} {
		t.Run(what, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				a := newAPI()
				p := prepare(t, a, "one")
				p.client.set(func(verb string) outcome {
					if verb == tt.verb {
						return tt.do
					}
					return served
				})
				p.run()
				time.Sleep(10 * time.Minute)
				states := p.told()
				if len(states) != 1 || !strings.Contains(states[0].LastErr.Error(), tt.want) || !strings.Contains(states[0].LastErr.Error(), "lease infra/lease") {
					t.Errorf("got %+v, want once %q", states, tt.want)
				}
				if got := a.count("one", tt.verb); got < 90 || got > 700 {
					t.Errorf("got %d attempts in ten minutes, want one each two seconds or so", got)
				}
				if !p.elector.Alive() {
					t.Error("it counts as dead because the API server does not serve it")
				}
				p.client.set(nil)
				within(t, lease.RetryPeriod+requestTimeout, "lead", p.leading)
			})
		})
	}
}

// requestTimeout is how long a request may take.
const requestTimeout = 4 * time.Second
