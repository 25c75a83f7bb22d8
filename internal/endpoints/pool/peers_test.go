package pool_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/peers"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/peers/peerstest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// replicas are a leader, which runs the pool of a world, and standbys.
type replicas struct {
	*world
	lease *peerstest.Lease
	// blind are the addresses that a replica does not reach, though they work; silent ones no replica
	// reaches. Its lock is the world's.
	blind  map[string]map[netip.Addr]bool
	silent map[netip.Addr]bool
	leave  map[string]context.CancelFunc
}

// newReplicas is a world with the nodes 1 to n, all of which are ready, and a leader.
func newReplicas(t *testing.T, n int) *replicas {
	t.Helper()
	var octets []int
	for i := 1; i <= n; i++ {
		octets = append(octets, i)
	}
	r := &replicas{world: newWorld(t, octets...), lease: peerstest.New(), blind: make(map[string]map[netip.Addr]bool), silent: make(map[netip.Addr]bool), leave: make(map[string]context.CancelFunc)}
	r.opts.Asker, r.opts.Port, r.opts.Policy.AnswerWait = peers.New(r.lease.Options()), 8080, peers.AnswerWait
	r.opts.Prober = leader{r}
	r.beside(r.lease.Run)
	r.beside(r.opts.Asker.Run)
	r.start()
	during(10 * time.Second)
	return r
}

// leader checks with the leader's network.
type leader struct{ *replicas }

func (l leader) Check(ctx context.Context, addr netip.Addr) inventory.Result {
	l.set(func() { l.mute[addr] = l.silent[addr] || l.blind["leader"][addr] })
	result := l.world.Check(ctx, addr)
	result.Latency, result.NoConnection = time.Since(result.At), result.Outcome == inventory.Silent
	return result
}

// beside runs something until the test ends, or until what it returns is called.
func (r *replicas) beside(run func(context.Context)) context.CancelFunc {
	ctx, stop := context.WithCancel(context.WithoutCancel(r.Context()))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		run(ctx)
	}()
	r.Cleanup(func() {
		stop()
		<-ended
	})
	return stop
}

// standby begins to stand by, with its own network.
func (r *replicas) standby(name string) {
	a := r.lease.Standby(name, func(a netip.Addr) (after time.Duration) {
		r.set(func() {
			if !r.silent[a] && !r.dead[a] && !r.blind[name][a] {
				after = 2 * time.Millisecond
			}
		})
		return after
	})
	r.leave[name] = r.beside(a.Run)
}

// gone ends a standby.
func (r *replicas) gone(name string) {
	r.lease.Gone(name)
	r.leave[name]()
	delete(r.leave, name)
}

// loses says which nodes a replica does not reach from now on.
func (r *replicas) loses(name string, octets ...int) {
	r.set(func() {
		r.blind[name] = make(map[netip.Addr]bool)
		for _, o := range octets {
			r.blind[name][address(o)] = true
		}
	})
}

// falls begins again with another HEALTH_CHECK_FALL.
func (r *replicas) falls(fall int) {
	r.stop()
	r.opts.Policy.Fall = fall
	r.start(r.verdict.Members...)
}

// dies has a node go silent for everybody.
func (r *replicas) dies(octet int) { r.set(func() { r.silent[address(octet)] = true }) }

func TestContract239WhatTheLeaderDoesNotReachStaysWhileAStandbyDoes(t *testing.T) {
	for _, fall := range []int{1, 2, 3, 5} {
		for lost := 1; lost <= 6; lost++ {
			t.Run(fmt.Sprintf("%d of 6, fall %d", lost, fall), func(t *testing.T) {
				bubble.Test(t, func(t *testing.T) {
					r := newReplicas(t, 6)
					defer func() { r.stop() }()
					r.falls(fall)
					r.standby("b")
					during(10 * time.Second)
					r.states = nil
					r.loses("leader", []int{1, 2, 3, 4, 5, 6}[:lost]...)
					during(time.Minute)
					for _, states := range r.states {
						if strings.Contains(states, "down") {
							t.Fatalf("got %q", r.states)
						}
					}
					if r.verdict.Elsewhere != lost || r.verdict.Replica != "b" {
						t.Errorf("got %d endpoints that %q reaches, want %d of b", r.verdict.Elsewhere, r.verdict.Replica, lost)
					}
				})
			})
		}
	}
}

// alone is how long it takes until the first of some nodes that fail is down, without any other
// replica.
func alone(t *testing.T, fall int, fails func(r *replicas, octet int), octets ...int) (took time.Duration) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		r := newReplicas(t, 6)
		defer func() { r.stop() }()
		r.opts.Asker = nil
		r.falls(fall)
		during(10 * time.Second)
		for _, o := range octets {
			fails(r, o)
		}
		took = r.until(fmt.Sprintf("%d=down", octets[0]))
	})
	return took
}

// refuses has the port of a node refuse.
func (r *replicas) refuses(octet int) { r.set(func() { r.dead[address(octet)] = true }) }

// A crash is an answer: no replica is asked, and the same checks take the endpoint down.
func TestContract239ACrashIsSeenAsFastWithAStandby(t *testing.T) {
	for _, fall := range []int{1, 3} {
		want := alone(t, fall, (*replicas).refuses, 2, 4, 6)
		bubble.Test(t, func(t *testing.T) {
			r := newReplicas(t, 6)
			defer func() { r.stop() }()
			r.falls(fall)
			r.standby("b")
			during(10 * time.Second)
			for _, o := range []int{2, 4, 6} {
				r.refuses(o)
			}
			if took := r.until("2=down"); took != want {
				t.Errorf("fall %d: down after %s, want %s as with one replica", fall, took, want)
			}
		})
	}
}

// With a standby that is there, slow, cut off or gone a dead endpoint goes as fast as with one replica.
func TestContract239SilenceForEverybodyIsSeenAsFast(t *testing.T) {
	for _, fall := range []int{1, 3} {
		want := alone(t, fall, (*replicas).dies, 2, 4)
		if fall == 1 {
			want += peers.AnswerWait
		}
		for name, standby := range map[string]func(r *replicas){
			"there":   func(r *replicas) { r.standby("b") },
			"cut off": func(r *replicas) { r.standby("b"); r.loses("b", 1, 2, 3, 4, 5, 6) },
			"gone":    func(r *replicas) { r.standby("b"); r.gone("b") },
			"none":    func(*replicas) {},
			"API server away": func(r *replicas) {
				r.standby("b")
				r.lease.With(func() { r.lease.Down = context.DeadlineExceeded })
			},
		} {
			t.Run(fmt.Sprintf("%s, fall %d", name, fall), func(t *testing.T) {
				bubble.Test(t, func(t *testing.T) {
					r := newReplicas(t, 6)
					defer func() { r.stop() }()
					r.falls(fall)
					standby(r)
					during(10 * time.Second)
					r.dies(2)
					r.dies(4)
					if took := r.until("2=down"); took > want+20*time.Millisecond {
						t.Errorf("down after %s, want %s as with one replica", took, want)
					}
					r.until("4=down")
				})
			})
		}
	}
}

func TestContract239ALeaderThatReachesNothingSeesADeathThroughItsStandby(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		r := newReplicas(t, 6)
		defer func() { r.stop() }()
		r.standby("b")
		r.loses("leader", 1, 2, 3, 4, 5, 6)
		during(30 * time.Second)
		r.want("1=ready 2=ready 3=ready 4=ready 5=ready 6=ready")
		for _, o := range []int{3, 5} {
			r.dies(o)
			if took := r.until(fmt.Sprintf("%d=down", o)); took > 6*time.Second {
				t.Errorf("%d is down after %s, want 6 s at most", o, took)
			}
			during(time.Minute) // the standby may miss one at a time
		}
		r.want("1=ready 2=ready 3=down 4=ready 5=down 6=ready")
	})
}

func TestContract240WhatTheLeaderDoesNotReachDoesNotJoin(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		r := newReplicas(t, 6)
		defer func() { r.stop() }()
		r.standby("b")
		r.loses("leader", 1, 7)
		r.list(1, 2, 3, 4, 5, 6, 7)
		r.signal()
		during(time.Minute)
		r.want("1=ready 2=ready 3=ready 4=ready 5=ready 6=ready")
	})
}

func TestContract242WhileAllPassNothingIsAsked(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		r := newReplicas(t, 6)
		defer func() { r.stop() }()
		r.standby("b")
		r.set(func() { r.dead[address(2)] = true }) // a refusal asks nothing
		during(10 * time.Minute)
		r.want("1=ready 2=down 3=ready 4=ready 5=ready 6=ready")
		r.lease.With(func() {
			if l := r.lease; len(l.Notes)+l.Watches+l.Reads != 0 || l.Writes != 1 {
				t.Errorf("got the notes %q, %d watches, %d reads and %d lines", l.Notes, l.Watches, l.Reads, l.Writes)
			}
		})
	})
}

// Whatever a storm does to the networks of three replicas and to the nodes: what works, and what the leader
// or a standby that is there reaches, is not taken away; and what is dead goes, unless so much is silent
// that the leader is presumed cut off.
func TestContract239NoStormTakesAwayWhatAReplicaReaches(t *testing.T) {
	storms := 30
	if testing.Short() {
		storms = 10
	}
	for seed := range storms {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) { storm(t, rand.New(rand.NewPCG(239, uint64(seed)))) })
		})
	}
}

func storm(t *testing.T, random *rand.Rand) {
	n := 2 + random.IntN(7)
	r := newReplicas(t, n)
	defer func() { r.stop() }()
	r.standby("b")
	some := func() (octets []int) {
		for o := 1; o <= n; o++ {
			if random.IntN(3) == 0 {
				octets = append(octets, o)
			}
		}
		return octets
	}
	var story []string
	// Since when each is dead, reached by somebody, and fine for the leader.
	since, reached, fine := map[int]time.Time{}, map[int]time.Time{}, map[int]time.Time{}
	for range 40 {
		switch random.IntN(8) {
		case 0, 1:
			lost := some()
			r.loses("leader", lost...)
			story = append(story, fmt.Sprint("the leader does not reach ", lost))
		case 2:
			if r.leave["c"] != nil {
				r.gone("c")
			} else {
				r.standby("c")
			}
			story = append(story, "c comes or goes")
		case 3:
			r.loses("c", some()...)
			story = append(story, "c reaches others")
		case 4, 5:
			o := 1 + random.IntN(n)
			r.set(func() { r.silent[address(o)] = !r.silent[address(o)] })
			story = append(story, fmt.Sprint(o, " dies or comes back"))
		case 6:
			o := 1 + random.IntN(n)
			r.set(func() { r.dead[address(o)] = !r.dead[address(o)] })
			story = append(story, fmt.Sprint(o, " refuses or not"))
		case 7:
			r.loses("leader")
			story = append(story, "the leader reaches all")
		}
		for end := time.Now().Add(time.Duration(random.IntN(20_000)) * time.Millisecond); time.Now().Before(end); {
			during(100 * time.Millisecond)
			r.look(n, since, reached, fine, story)
			if t.Failed() {
				return
			}
		}
	}
}

// look holds what is published against what there is.
func (r *replicas) look(n int, dead, reached, fine map[int]time.Time, story []string) {
	r.Helper()
	published := r.published()
	r.mu.Lock()
	defer r.mu.Unlock()
	silent, lasts := 0, false // whether something passes for so long that nothing fails open
	for o := 1; o <= n; o++ {
		a := address(o)
		if r.silent[a] || r.blind["leader"][a] {
			silent++
		}
		if r.silent[a] || r.dead[a] || r.blind["leader"][a] {
			delete(fine, o)
		} else if fine[o].IsZero() {
			fine[o] = time.Now()
		}
		lasts = lasts || !fine[o].IsZero() && time.Since(fine[o]) > 20*time.Second
	}
	for o := 1; o <= n; o++ {
		a := address(o)
		works := !r.silent[a] && !r.dead[a]
		// b is there all the time and reaches what works. What is not reached by the leader comes back
		// only after it is: a connection elsewhere lets nothing return.
		if !works || !strings.Contains(published, fmt.Sprintf("%d=ready", o)) && reached[o].IsZero() {
			delete(reached, o)
		} else if strings.Contains(published, fmt.Sprintf("%d=ready", o)) && reached[o].IsZero() {
			reached[o] = time.Now()
		}
		if at := reached[o]; !at.IsZero() && time.Since(at) > 10*time.Second && !strings.Contains(published, fmt.Sprintf("%d=ready", o)) {
			r.Errorf("%d works since %s ago, and is not ready: %s\n%s", o, time.Since(at), published, strings.Join(story, "\n"))
		}
		if works || r.dead[a] && r.blind["leader"][a] || 2*silent > n || !lasts {
			delete(dead, o)
		} else if dead[o].IsZero() {
			dead[o] = time.Now()
		}
		if at := dead[o]; !at.IsZero() && time.Since(at) > 20*time.Second && strings.Contains(published, fmt.Sprintf("%d=ready", o)) {
			r.Errorf("%d is dead since %s ago, and ready: %s\n%s", o, time.Since(at), published, strings.Join(story, "\n"))
		}
	}
}

// TestContract239AGroupThatEndsAsksNoMore: its questions go with it.
func TestContract239AGroupThatEndsAsksNoMore(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		r := newReplicas(t, 3)
		r.standby("b")
		during(10 * time.Second)
		r.loses("leader", 1)
		newest := func() (note string) {
			r.lease.With(func() { note = r.lease.Notes[len(r.lease.Notes)-1] })
			return note
		}
		during(30 * time.Second)
		asked := address(1).String()
		if note := newest(); !strings.Contains(note, asked) {
			t.Fatalf("got the note %q, want a question about %s", note, asked)
		}
		r.stop()
		during(10 * time.Second)
		if note := newest(); strings.Contains(note, asked) {
			t.Errorf("got the note %q when the group had ended", note)
		}
	})
}
