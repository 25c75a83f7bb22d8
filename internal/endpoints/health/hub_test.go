package health_test

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"pgregory.net/rapid"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// crowd is a hub in a synctest bubble, and loops with consumers.
type crowd struct {
	testing.TB
	hub *health.Hub
	ctx context.Context

	mu sync.Mutex
	// checked is when each address was checked.
	checked map[netip.Addr][]time.Time
	// silent answers after a second.
	silent func(netip.Addr) bool
}

// member is one loop, and the results it got.
type member struct {
	*health.Loop
	stop func()
	got  map[netip.Addr]int
	last map[netip.Addr]time.Time
}

func newCrowd(t testing.TB, options health.HubOptions) *crowd {
	t.Helper()
	options.Concurrency = cmp.Or(options.Concurrency, 256)
	hub := health.NewHub(options)
	ctx, cancel := context.WithCancel(t.Context())
	c := &crowd{TB: t, hub: hub, ctx: ctx, checked: map[netip.Addr][]time.Time{}, silent: func(netip.Addr) bool { return false }}
	var running sync.WaitGroup
	running.Go(func() { hub.Run(ctx) })
	t.Cleanup(func() { cancel(); running.Wait() })
	return c
}

// check answers after a millisecond, or after a second.
func (c *crowd) check(ctx context.Context, a netip.Addr) inventory.Result {
	r := inventory.Result{At: time.Now(), Outcome: inventory.Pass}
	takes := time.Millisecond
	c.mu.Lock()
	if c.silent(a) {
		r.Outcome, takes = inventory.Silent, time.Second
	}
	c.checked[a] = append(c.checked[a], time.Now())
	c.mu.Unlock()
	timer := time.NewTimer(takes)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
	return r
}

// loop opens a loop whose results are taken at once, unless it is stuck.
func (c *crowd) loop(share health.Share, key any, stuck bool) *member {
	c.Helper()
	l := c.hub.Loop(share, health.LoopOptions{Check: c.check, Key: key, Interval: 2 * time.Second, FastInterval: 200 * time.Millisecond, Gather: 20 * time.Millisecond})
	ctx, cancel := context.WithCancel(c.ctx)
	m := &member{Loop: l, got: map[netip.Addr]int{}, last: map[netip.Addr]time.Time{}}
	var running sync.WaitGroup
	running.Go(func() {
		for {
			select {
			case <-ctx.Done():
				return
			case <-l.Ready():
			}
			if stuck {
				continue
			}
			c.mu.Lock()
			for _, r := range l.Take() {
				m.got[r.Address]++
				m.last[r.Address] = time.Now()
			}
			c.mu.Unlock()
		}
	})
	m.stop = func() { cancel(); running.Wait() }
	c.Cleanup(m.stop)
	return m
}

// addresses are so many of a network.
func addresses(network byte, count int) []inventory.Watch {
	var all []inventory.Watch
	for i := range count {
		all = append(all, inventory.Watch{Address: netip.AddrFrom4([4]byte{10, network, byte(i >> 8), byte(i)})})
	}
	return all
}

// during lets time pass.
func during(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
}

// times returns when an address was checked.
func (c *crowd) times(a netip.Addr) []time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.checked[a])
}

// addresses returns how many addresses were checked.
func (c *crowd) addresses() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.checked)
}

// heard returns of how many addresses a loop got results, results how many of one,
// last when the last one came.
func (c *crowd) heard(m *member) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(m.got)
}

func (c *crowd) results(m *member, a netip.Addr) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return m.got[a]
}

func (c *crowd) last(m *member, a netip.Addr) time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return m.last[a]
}

func TestContract51TheSameCheckOfTwoLoopsIsMadeOnce(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := newCrowd(t, health.HubOptions{})
		one, two := c.loop(c.hub.Share(1), "tcp:80", false), c.loop(c.hub.Share(1), "tcp:80", false)
		three := c.loop(c.hub.Share(1), "http:80", false)
		one.Watch(addresses(0, 10))
		during(20 * time.Second)
		two.Watch(addresses(0, 10))
		during(300 * time.Millisecond)
		if got := c.heard(two); got != 10 {
			t.Errorf("the second loop has results of %d addresses after a fast interval, want 10", got)
		}
		during(20 * time.Second)
		a := addresses(0, 1)[0].Address
		if got := len(c.times(a)); got < 20 || got > 23 {
			t.Errorf("got %d checks in 40 s, want about one every 2 s", got)
		}
		if c.results(one, a) < 20 || c.results(two, a) < 10 {
			t.Errorf("got %d and %d results, want each loop to get all", c.results(one, a), c.results(two, a))
		}
		before := len(c.times(a))
		three.Watch(addresses(0, 10))
		during(20 * time.Second)
		if got := len(c.times(a)) - before; got < 19 || got > 22 {
			t.Errorf("got %d checks in 20 s with another check, want twice as many", got)
		}
	})
}

func TestContract51WhatOneLoopDropsTheOtherKeeps(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := newCrowd(t, health.HubOptions{})
		one, two := c.loop(c.hub.Share(1), "tcp:80", false), c.loop(c.hub.Share(1), "tcp:80", false)
		one.Watch(addresses(0, 10))
		two.Watch(addresses(0, 5))
		during(10 * time.Second)
		one.Close()
		one.Close()
		during(3 * time.Second)
		mine, theirs := c.results(one, addresses(0, 1)[0].Address), c.results(two, addresses(0, 1)[0].Address)
		total := c.addresses()
		during(10 * time.Second)
		if got := c.results(one, addresses(0, 1)[0].Address); got != mine {
			t.Errorf("a closed loop got %d more results", got-mine)
		}
		if got := c.results(two, addresses(0, 1)[0].Address) - theirs; got != 5 {
			t.Errorf("the other loop got %d results in 10 s, want 5", got)
		}
		if got := len(c.times(addresses(0, 10)[9].Address)); got > 6 || total != 10 {
			t.Errorf("an address that nothing watches was checked %d times in 23 s", got)
		}
		two.Watch(nil)
		during(3 * time.Second)
		before := len(c.times(addresses(0, 1)[0].Address))
		during(10 * time.Second)
		if got := len(c.times(addresses(0, 1)[0].Address)); got != before {
			t.Error("an address that nothing watches is still checked")
		}
	})
}

func TestContract51AStuckLoopDelaysNoOther(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := newCrowd(t, health.HubOptions{})
		stuck, other := c.loop(c.hub.Share(1), "tcp:80", true), c.loop(c.hub.Share(1), "tcp:80", false)
		stuck.Watch(addresses(0, 10))
		during(10 * time.Second)
		other.Watch(addresses(0, 10))
		during(time.Minute)
		a := addresses(0, 1)[0].Address
		if got := c.results(other, a); got < 30 || got > 32 {
			t.Errorf("got %d results in a minute beside a stuck loop, want 30", got)
		}
		if got := stuck.Stats().Undelivered; got > 40 {
			t.Errorf("the stuck loop keeps %d results of 10 addresses", got)
		}
		other.Close()
		during(time.Minute)
		if got := len(c.times(a)); got > 34 {
			t.Errorf("an address is checked %d times although no result is taken", got)
		}
	})
}

func TestContract51ASilentPoolTakesNoSlotsOfAnother(t *testing.T) {
	for _, slots := range []int{16, 64, 256} {
		t.Run(fmt.Sprint(slots), func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				c := newCrowd(t, health.HubOptions{Concurrency: slots})
				c.silent = func(a netip.Addr) bool { return a.As4()[1] == 1 }
				mute, well := c.loop(c.hub.Share(1), "tcp:80", false), c.loop(c.hub.Share(1), "tcp:80", false)
				well.Watch(addresses(2, 100))
				during(10 * time.Second)
				mute.Watch(addresses(1, 1000)) // never checked before, so not known to be slow
				during(30 * time.Second)
				for _, target := range addresses(2, 100) {
					times := c.times(target.Address)
					for i := 2; i < len(times); i++ {
						if gap := times[i].Sub(times[i-1]); gap > 2100*time.Millisecond {
							t.Fatalf("%s was not checked for %s", target.Address, gap)
						}
					}
					if len(times) < 20 {
						t.Fatalf("%s was checked %d times in 40 s", target.Address, len(times))
					}
				}
				if got := well.Stats().Overruns; got != 0 {
					t.Errorf("got %d overruns of the pool that answers", got)
				}
				if got := mute.Stats(); got.InFlight < slots/2 {
					t.Errorf("got %d checks in flight of the silent pool, want it to use what is free of %d", got.InFlight, slots)
				}
			})
		})
	}
}

func TestContract51CommonSlotsGoRoundByWeight(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := newCrowd(t, health.HubOptions{Concurrency: 80})
		c.silent = func(netip.Addr) bool { return true }
		light, heavy := c.loop(c.hub.Share(1), "tcp:80", false), c.loop(c.hub.Share(3), "tcp:80", false)
		light.Watch(addresses(1, 1000))
		heavy.Watch(addresses(2, 1000))
		during(time.Minute + time.Second/2)
		a, b := light.Stats().InFlight, heavy.Stats().InFlight
		if a+b < 55 || a+b > 80 || b < 2*a || b > 4*a {
			t.Errorf("got %d and %d of 80 slots, want one to three", a, b)
		}
	})
}

func TestContract51ThereAreNoMoreChecksThanAllowed(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := newCrowd(t, health.HubOptions{MaxChecks: 15})
		one, two := c.loop(c.hub.Share(1), "tcp:80", false), c.loop(c.hub.Share(1), "http:80", false)
		one.Watch(addresses(0, 10))
		two.Watch(addresses(1, 10))
		during(10 * time.Second)
		if got := two.Stats(); got.Addresses != 7 || got.Refused != 3 || c.heard(two) != 7 {
			t.Errorf("got %+v and results of %d addresses, want half of 15 watched and 3 refused", got, c.heard(two))
		}
		one.Watch(addresses(0, 2))
		two.Watch(addresses(1, 10))
		during(10 * time.Second)
		if got := two.Stats(); got.Addresses != 10 || got.Refused != 0 || c.heard(two) != 10 {
			t.Errorf("got %+v and results of %d addresses when there was room again", got, c.heard(two))
		}
	})
}

// TestContract51APoolTakesNoOtherItsChecks: a node of one pool may say that it has any number of
// addresses, before another pool begins.
func TestContract51APoolTakesNoOtherItsChecks(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := newCrowd(t, health.HubOptions{MaxChecks: 30})
		one, first, second := c.loop(c.hub.Share(1), "tcp:80", false), c.hub.Share(1), c.hub.Share(1)
		one.Watch(addresses(0, 100))
		two, three := c.loop(first, "tcp:80", false), c.loop(second, "tcp:80", false)
		two.Watch(addresses(1, 8))
		three.Watch(addresses(2, 100))
		during(10 * time.Second)
		for m, want := range map[*member]int{one: 30, two: 8, three: 10} {
			if got := m.Stats().Addresses; got != want || c.heard(m) != want {
				t.Errorf("got %d addresses that are checked and results of %d, want %d", got, c.heard(m), want)
			}
		}
	})
}

func TestAPanicOfACheckIsALocalError(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		l := health.NewLoop(health.LoopOptions{Check: func(context.Context, netip.Addr) inventory.Result { panic("oh") }, Interval: time.Second})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { l.Run(ctx) })
		l.Watch(addresses(0, 1))
		<-l.Ready()
		results := l.Take()
		if len(results) != 1 || results[0].Outcome != inventory.LocalError || results[0].Message != "the check panicked: oh" || results[0].At.IsZero() {
			t.Errorf("got %+v", results)
		}
		cancel()
		running.Wait()
	})
}

func TestContract51EachLoopGetsItsResultsWhateverTheOthersDo(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		bubble.Test(t, func(t *testing.T) {
			c := newCrowd(t, health.HubOptions{Concurrency: rapid.IntRange(20, 40).Draw(r, "slots")})
			shares := []health.Share{c.hub.Share(1), c.hub.Share(2)}
			var loops []*member
			isStuck := map[*member]bool{}
			watched := map[*member][]inventory.Watch{}
			open := func(stuck bool) {
				m := c.loop(rapid.SampledFrom(shares).Draw(r, "share"), rapid.SampledFrom([]any{"a", "b", nil}).Draw(r, "key"), stuck)
				loops = append(loops, m)
				isStuck[m] = stuck
			}
			mute := addresses(0, 8)[rapid.IntRange(0, 7).Draw(r, "mute")].Address
			c.silent = func(a netip.Addr) bool { return a == mute }
			open(false)
			for range rapid.IntRange(5, 20).Draw(r, "steps") {
				switch rapid.IntRange(0, 5).Draw(r, "step") {
				case 0:
					open(rapid.Bool().Draw(r, "stuck"))
				case 1:
					if len(loops) > 1 {
						i := rapid.IntRange(0, len(loops)-1).Draw(r, "closed")
						loops[i].Close()
						loops[i].stop()
						delete(watched, loops[i])
						loops = slices.Delete(loops, i, i+1)
					}
				case 2:
					m := rapid.SampledFrom(loops).Draw(r, "alarmed")
					m.Alarm(addresses(0, 8)[rapid.IntRange(0, 7).Draw(r, "address")].Address, 3)
				default:
					m := rapid.SampledFrom(loops).Draw(r, "watching")
					var targets []inventory.Watch
					for _, target := range addresses(0, 8) {
						if rapid.Bool().Draw(r, "watch") {
							target.Urgent = rapid.IntRange(0, 3).Draw(r, "urgent") == 0
							targets = append(targets, target)
						}
					}
					m.Watch(targets)
					watched[m] = targets
				}
				during(time.Duration(rapid.IntRange(0, 3000).Draw(r, "pause")) * time.Millisecond)
			}
			during(5 * time.Second)
			for _, m := range loops {
				for _, target := range watched[m] {
					if isStuck[m] || target.Address == mute && c.results(m, mute) > 0 {
						continue
					}
					if late := time.Since(c.last(m, target.Address)); late > 2200*time.Millisecond {
						r.Fatalf("a loop has had no result of %s for %s", target.Address, late)
					}
				}
				if got := m.Stats(); got.Addresses != len(watched[m]) {
					r.Fatalf("got %+v, want %d addresses", got, len(watched[m]))
				}
			}
		})
	})
}

func TestContract51ALoopThatComesDuringACheckIsServedBesideAStuckOne(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := newCrowd(t, health.HubOptions{})
		c.silent = func(netip.Addr) bool { return true }
		stuck, other := c.loop(c.hub.Share(1), "tcp:80", true), c.loop(c.hub.Share(1), "tcp:80", false)
		stuck.Watch(addresses(0, 1))
		during(500 * time.Millisecond)
		other.Watch(addresses(0, 1))
		during(20 * time.Second)
		if got := c.results(other, addresses(0, 1)[0].Address); got < 9 {
			t.Errorf("got %d results in 20 s, want 9 or more", got)
		}
	})
}
