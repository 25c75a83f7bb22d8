package pool_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// several is a pool with many groups: the world is its source, and each group has
// a world of its own for what its check finds.
type several struct {
	*world
	reader *pool.Reader
	hub    *health.Hub
	share  health.Share
	ctx    context.Context
	all    sync.WaitGroup
	stop   func()
}

// part is one group with one target.
type part struct {
	*world
	group *pool.Group
	stop  func()
	// stuck keeps whoever tells of an outcome, until it is closed.
	stuck chan struct{}
	// panics says that whoever is told panics.
	panics bool
}

// inSeveral runs a test in a pool with those nodes.
func inSeveral(t *testing.T, test func(s *several), octets ...int) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		s := newSeveral(t, octets...)
		s.run()
		test(s)
		s.stop()
	})
}

func newSeveral(t *testing.T, octets ...int) *several {
	t.Helper()
	s := &several{world: newWorld(t, octets...)}
	s.reader = pool.NewReader(s.opts.ReaderOptions)
	s.hub = health.NewHub(health.HubOptions{Concurrency: 256})
	s.share = s.hub.Share(1)
	var cancel func()
	s.ctx, cancel = context.WithCancel(t.Context())
	s.stop = func() { cancel(); s.all.Wait() }
	return s
}

// run reads and checks.
func (s *several) run() {
	s.all.Go(func() { s.reader.Run(s.ctx) })
	s.all.Go(func() { s.hub.Run(s.ctx) })
}

// group makes a group that checks by a world of its own, or by that of another.
func (s *several) group(key any, check *world) *part {
	s.Helper()
	p := &part{world: newWorld(s.T)}
	if check == nil {
		check = p.world
	}
	p.group = pool.NewGroup(pool.GroupOptions{
		Reader: s.reader, Hub: s.hub, Share: s.share, Prober: check, Key: key, Policy: s.opts.Policy,
		HealthTimeout: s.opts.HealthTimeout, Publish: p.take,
		Observe: func(o pool.Outcome) {
			var stuck chan struct{}
			panics := false
			p.set(func() { p.outcomes, stuck, panics = append(p.outcomes, o), p.stuck, p.panics })
			if panics {
				panic("told")
			}
			if stuck != nil {
				<-stuck
			}
		},
	})
	return p
}

// start runs a group from what is published, with a target that takes its verdicts.
func (s *several) start(p *part, published ...inventory.Member) *part {
	ctx, cancel := context.WithCancel(s.ctx)
	var running sync.WaitGroup
	running.Go(func() {
		if err := p.group.Run(ctx, published); err != nil {
			s.Error(err)
		}
	})
	p.stop = func() { cancel(); running.Wait() }
	s.all.Go(running.Wait)
	return p
}

// newest is the newest verdict.
func (p *part) newest() *guard.Verdict {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.verdict
}

// allChecks counts the checks of all addresses.
func (w *world) allChecks() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	total := 0
	for _, n := range w.checked {
		total += n
	}
	return total
}

func (w *world) readCount() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.reads)
}

func TestContract52OneReadServesAllGroups(t *testing.T) {
	inSeveral(t, func(s *several) {
		var parts []*part
		for i := range 5 {
			p := s.group(fmt.Sprint("check ", i), nil)
			if i == 3 {
				p.set(func() { p.dead[address(2)] = true })
			}
			parts = append(parts, s.start(p))
		}
		during(10 * time.Second)
		for i, p := range parts {
			want := "1=ready 2=ready 3=ready"
			if i == 3 {
				want = "1=ready 3=ready"
			}
			p.want(want)
		}
		during(290 * time.Second)
		if got := s.readCount(); got < 10 || got > 11 {
			t.Errorf("got %d reads in 5 minutes for 5 groups, want those of one", got)
		}
	}, 1, 2, 3)
}

// TestContract52AGroupThatEndsTakesNoInventoryFromOthers: those that stay learn of each further read.
func TestContract52AGroupThatEndsTakesNoInventoryFromOthers(t *testing.T) {
	inSeveral(t, func(s *several) {
		ends, stays := s.start(s.group("ends", nil)), s.start(s.group("stays", nil))
		during(10 * time.Second)
		stays.want("1=ready 2=ready")
		ends.stop()
		s.list(1, 2, 3)
		during(time.Minute)
		stays.want("1=ready 2=ready 3=ready")
	}, 1, 2)
}

func TestContract52ANewGroupStartsWithTheNewestInventory(t *testing.T) {
	inSeveral(t, func(s *several) {
		during(31 * time.Second)
		reads := s.readCount()
		p := s.start(s.group("late", nil))
		during(time.Second)
		p.want("1=ready 2=ready 3=ready")
		if got := s.readCount(); got != reads {
			t.Errorf("got %d reads more for a new group", got-reads)
		}
		p.stop()
		// Where the newest answer is an error, the inventory before is the newest one.
		s.set(func() { s.err = errors.New("away") })
		s.signal()
		during(2 * time.Second)
		p = s.start(s.group("later", nil))
		during(time.Second)
		p.want("1=ready 2=ready 3=ready")
		if err := p.outcomes[len(p.outcomes)-1].Source.LastErr; err == nil {
			t.Error("the new group does not know that the source fails")
		}
	}, 1, 2, 3)
}

func TestContract52AnInventoryThatOthersPolledDoesNotCountAsScheduled(t *testing.T) {
	inSeveral(t, func(s *several) {
		s.list() // no node
		s.signal()
		during(31 * time.Second)
		p := s.start(s.group("late", nil), inventory.Member{Address: address(1), State: ready})
		during(2 * time.Second)
		if got := p.newest(); got.Cause != guard.NoNodes || got.Memory.Rejected() != 0 {
			t.Errorf("got cause %s and %d rejected scheduled inventories, want none counted", got.Cause, got.Memory.Rejected())
		}
	}, 1, 2, 3)
}

func TestContract52ANewCheckTakesOverWhenEverythingWasCheckedAndSomethingWorks(t *testing.T) {
	inSeveral(t, func(s *several) {
		old := s.start(s.group("old", nil))
		during(10 * time.Second)
		old.want("1=ready 2=ready 3=ready")
		next := s.group("new", nil)
		next.set(func() {
			for o := 1; o <= 3; o++ {
				next.dead[address(o)] = true
			}
			next.mute[address(3)] = true
		})
		s.start(next, old.newest().Published(guard.WorkByFamily{}, nil)...)
		for range 20 {
			during(500 * time.Millisecond)
			next.want("1=ready 2=ready 3=ready")
			if next.newest().MayReplace() {
				t.Fatal("the new check takes over although nothing passes it")
			}
		}
		next.set(func() { delete(next.dead, address(1)) })
		during(5 * time.Second)
		if !next.newest().MayReplace() {
			t.Fatal("the new check does not take over although everything was checked and one passes")
		}
		old.stop()
		before := old.allChecks()
		during(10 * time.Second)
		if got := old.allChecks(); got != before {
			t.Errorf("got %d checks of a group that has ended", got-before)
		}
		next.want("1=ready 2=down 3=down")
	}, 1, 2, 3)
}

func TestContract52OneUncheckedEndpointKeepsTheOldCheck(t *testing.T) {
	inSeveral(t, func(s *several) {
		next := s.group("new", nil)
		next.set(func() { next.mute[address(3)], next.silence = true, 20*time.Second })
		s.start(next, inventory.Member{Address: address(1), State: ready}, inventory.Member{Address: address(3), State: ready})
		during(10 * time.Second)
		if next.newest().MayReplace() {
			t.Error("the new check takes over although one endpoint has no result")
		}
	}, 1, 3)
}

func TestContract51GroupsWithTheSameCheckShareItsProbes(t *testing.T) {
	inSeveral(t, func(s *several) {
		one := s.start(s.group("tcp:80", s.world))
		two := s.start(s.group("tcp:80", s.world))
		during(60 * time.Second)
		one.want("1=ready 2=ready 3=ready")
		two.want("1=ready 2=ready 3=ready")
		if got := s.allChecks(); got < 85 || got > 105 {
			t.Errorf("got %d checks of 3 endpoints in a minute for two groups, want those of one", got)
		}
		two.stop()
		s.set(func() { s.dead[address(2)] = true })
		if took := one.until("2=down"); took > 3*time.Second {
			t.Errorf("it was down after %s when the other group had ended", took)
		}
	}, 1, 2, 3)
}

// TestContract31TheAgeOfAGroupIsTimeThatItStandsStill: here what takes its verdicts does not
// return. Another group of the pool is not older for it.
func TestContract31TheAgeOfAGroupIsTimeThatItStandsStill(t *testing.T) {
	inSeveral(t, func(s *several) {
		good, bad := s.start(s.group("good", nil)), s.group("bad", nil)
		if age := bad.group.Age(); age != 0 {
			t.Errorf("got an age of %s before it runs", age)
		}
		s.start(bad)
		during(10 * time.Second)
		release := make(chan struct{})
		bad.set(func() { bad.stuck = release })
		s.list(1, 2, 3, 4)
		s.signal()
		during(time.Minute)
		if age := bad.group.Age(); age < 55*time.Second || age > time.Minute {
			t.Errorf("got an age of %s after it stood still for a minute", age)
		}
		if age := good.group.Age(); age > 2*time.Second {
			t.Errorf("got an age of %s where nothing stands still", age)
		}
		close(release)
		during(10 * time.Second)
		if age := bad.group.Age(); age > 2*time.Second {
			t.Errorf("got an age of %s when it goes on", age)
		}
		bad.stop()
		if age := bad.group.Age(); age != 0 {
			t.Errorf("got an age of %s when it has ended", age)
		}
	}, 1, 2, 3)
}

func TestContract53APanicHoldsOneGroupAndIsRetried(t *testing.T) {
	inSeveral(t, func(s *several) {
		bad, good := s.group("bad", nil), s.start(s.group("good", nil))
		var mu sync.Mutex
		broken, tries := false, 0
		bad.group.Break(func() bool {
			mu.Lock()
			defer mu.Unlock()
			if broken {
				tries++
			}
			return broken
		})
		s.start(bad)
		during(10 * time.Second)
		mu.Lock()
		broken = true
		mu.Unlock()
		for _, p := range []*part{bad, good} {
			p.set(func() { p.dead[address(2)] = true })
		}
		s.list(1, 2, 3, 4)
		s.signal()
		during(12 * time.Second)
		good.want("1=ready 2=down 3=ready 4=ready")
		bad.want("1=ready 2=ready 3=ready")
		last := bad.outcomes[len(bad.outcomes)-1]
		if last.Trouble == nil || last.Trouble.Panic != "broken" || !strings.Contains(last.Trouble.Stack, "pool") || !last.Trouble.Retry.After(time.Now()) {
			t.Errorf("got trouble %+v, want the panic, where it was, and when it is retried", last.Trouble)
		}
		if tries < 3 || tries > 6 {
			t.Errorf("got %d tries in 12 s, want a back-off from a second", tries)
		}
		if age := bad.group.Age(); age > 2*time.Second {
			t.Errorf("the loop came round %s ago", age)
		}
		mu.Lock()
		broken = false
		mu.Unlock()
		reads := s.readCount()
		bad.until("1=ready 2=down 3=ready 4=ready")
		if got := s.readCount(); got != reads {
			t.Error("what it had not decided on was lost")
		}
		if last := bad.outcomes[len(bad.outcomes)-1]; last.Trouble != nil {
			t.Errorf("still %+v", last.Trouble)
		}
	}, 1, 2, 3)
}

// TestContract53APanicIsRetriedThoughNothingHappens: where nothing is checked, only the source
// says something, every half minute.
func TestContract53APanicIsRetriedThoughNothingHappens(t *testing.T) {
	inSeveral(t, func(s *several) {
		s.opts.Policy.HealthOff = true
		p := s.group("read", nil)
		var broken atomic.Bool
		p.group.Break(broken.Load)
		s.start(p)
		during(10 * time.Second)
		broken.Store(true)
		s.list(1, 2, 3, 4)
		s.signal()
		during(500 * time.Millisecond)
		broken.Store(false)
		during(time.Second)
		p.want("1=ready 2=ready 3=ready 4=ready")
	}, 1, 2, 3)
}

// TestContract53APanicOfWhoIsToldEndsNoGroup: it goes on when that is over.
func TestContract53APanicOfWhoIsToldEndsNoGroup(t *testing.T) {
	inSeveral(t, func(s *several) {
		p := s.start(s.group("told", nil))
		during(10 * time.Second)
		p.set(func() { p.panics, p.dead[address(2)] = true, true })
		during(20 * time.Second)
		p.set(func() { p.panics = false })
		during(6 * time.Minute) // it waits longer each time
		p.want("1=ready 2=down 3=ready")
		if last := p.outcomes[len(p.outcomes)-1]; last.Trouble != nil {
			t.Errorf("still %+v", last.Trouble)
		}
	}, 1, 2, 3)
}

// TestContract52AGroupThatEndedIsNotReadFor: a pool outlives its groups.
func TestContract52AGroupThatEndedIsNotReadFor(t *testing.T) {
	inSeveral(t, func(s *several) {
		for range 3 {
			s.start(s.group("one", nil)).stop()
		}
		p := s.group("bad", nil)
		p.group.Break(func() bool { return true })
		if err := p.group.Run(s.ctx, nil); err == nil {
			t.Error("a group whose first decision panics began")
		}
		if got := s.reader.Subscribers(); got != 0 {
			t.Errorf("got %d groups that the source is read for, want none", got)
		}
	}, 1)
}

func TestContract53APanicAtTheStartIsAnError(t *testing.T) {
	inSeveral(t, func(s *several) {
		p := s.group("bad", nil)
		p.group.Break(func() bool { return true })
		if err := p.group.Run(s.ctx, nil); err == nil || !strings.Contains(err.Error(), "the first decision panicked: broken") {
			t.Errorf("got %v", err)
		}
	}, 1)
}

// rogue is a source that hangs, or panics.
type rogue struct{ panics bool }

func (r rogue) Read(ctx context.Context) ([]inventory.Node, error) {
	if r.panics {
		panic("no source")
	}
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestContract53ASourceThatPanicsOrHangsConcernsItsPoolOnly(t *testing.T) {
	for name, source := range map[string]rogue{"panics": {panics: true}, "hangs": {}} {
		t.Run(name, func(t *testing.T) {
			inSeveral(t, func(s *several) {
				other := &several{world: newWorld(t), hub: s.hub, share: s.hub.Share(1), ctx: s.ctx}
				other.reader = pool.NewReader(pool.ReaderOptions{Source: source, PollInterval: 30 * time.Second, SourceTimeout: 20 * time.Second})
				s.all.Go(func() { other.reader.Run(s.ctx) })
				well := s.start(s.group("well", nil))
				ill := other.start(other.group("ill", nil), inventory.Member{Address: netip.MustParseAddr("10.0.9.9"), State: ready})
				during(30 * time.Second)
				well.want("1=ready 2=ready")
				ill.want("9=ready")
				if err := ill.outcomes[len(ill.outcomes)-1].Source.LastErr; err == nil {
					t.Error("the pool does not tell that its source fails")
				}
				well.set(func() { well.dead[address(2)] = true })
				if took := well.until("2=down"); took > 3*time.Second {
					t.Errorf("another pool's endpoint was down after %s", took)
				}
				ill.stop()
				s.all.Go(other.all.Wait)
			}, 1, 2)
		})
	}
}

func TestContract52GroupsComeAndGoWhileThePoolIsRead(t *testing.T) {
	rapid.Check(t, func(r *rapid.T) {
		inSeveral(t, func(s *several) {
			var parts []*part
			for range rapid.IntRange(5, 25).Draw(r, "steps") {
				switch step := rapid.IntRange(0, 4).Draw(r, "step"); {
				case step == 0 || len(parts) == 0:
					parts = append(parts, s.start(s.group(rapid.SampledFrom([]any{"a", "b"}).Draw(r, "key"), s.world)))
				case step == 1:
					i := rapid.IntRange(0, len(parts)-1).Draw(r, "ends")
					parts[i].stop()
					parts = slices.Delete(parts, i, i+1)
				case step == 2:
					a := address(rapid.IntRange(1, 2).Draw(r, "dies or comes back"))
					s.set(func() { s.dead[a] = !s.dead[a] })
				default:
					s.signal()
				}
				during(time.Duration(rapid.IntRange(1, 3000).Draw(r, "pause")) * time.Millisecond)
			}
			during(20 * time.Second)
			for i, p := range parts {
				for o := 1; o <= 3; o++ {
					got := inventory.StateOf(p.newest().Members, address(o))
					if dead := s.dead[address(o)]; dead == (got == inventory.StateReady) {
						r.Fatalf("group %d: %d is %s, and its being dead is %t", i, o, got, dead)
					}
				}
			}
		}, 1, 2, 3)
	})
}
