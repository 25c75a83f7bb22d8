package writer_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// neighbours are two Services of two namespaces that a third must not delay.
var neighbours = []string{"shop/web", "blog/web"}

// inCrowd runs a test in a bubble, with the neighbours and more Services that publish
// two endpoints.
func inCrowd(t *testing.T, opts writer.SetOptions, more []string, test func(t *testing.T, c *crowd)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		if opts.Random == nil {
			opts.Random = func() float64 { return 0.9 }
		}
		c := newCrowd(t, opts, append(more, neighbours...)...)
		c.start()
		c.set.Publish("blue", verdict(2))
		during(time.Minute)
		for _, s := range c.all {
			if got := s.published(); got != "1=ready 2=ready" {
				t.Fatalf("%s: got %q after the start", s.name, got)
			}
			s.taken()
		}
		test(t, c)
		c.stop()
	})
}

// wantAtOnce publishes a loss, and wants it in the neighbours' slices at once.
func (c *crowd) wantAtOnce(what string) {
	c.Helper()
	c.wantWithin(what, 0)
}

// wantWithin publishes a loss, and wants it in the neighbours' slices soon.
func (c *crowd) wantWithin(what string, most time.Duration) {
	c.Helper()
	c.set.Publish("blue", verdict(2, 2))
	during(most)
	synctest.Wait()
	for _, name := range neighbours {
		if got := c.all[name].published(); got != "1=ready 2=down" {
			c.Errorf("%s: %s has %q %s after the verdict, want the loss", what, name, got, most)
		}
	}
	c.set.Publish("blue", verdict(2))
	during(7 * time.Second)
}

func TestContract54ATargetThatCannotBeWrittenDelaysNoOther(t *testing.T) {
	hangs := func(ctx context.Context, _ publish.Write) error { return wait(ctx, time.Hour) }
	for name, fault := range map[string]func(context.Context, publish.Write) error{
		"forbidden":       func(context.Context, publish.Write) error { return errRefused },
		"a quota":         func(context.Context, publish.Write) error { return errors.New("exceeded quota: slices") },
		"conflicts":       func(context.Context, publish.Write) error { return publish.ErrConflict },
		"hangs":           hangs,
		"takes 4 seconds": func(ctx context.Context, _ publish.Write) error { return wait(ctx, 4*time.Second) },
		"panics":          func(context.Context, publish.Write) error { panic("store") },
		"an answer is late": func(ctx context.Context, _ publish.Write) error {
			return errors.Join(wait(ctx, 2*time.Second), errRefused)
		},
	} {
		t.Run(name, func(t *testing.T) {
			var broken []string
			for i := range 40 { // one namespace has more Services than there are writers
				broken = append(broken, fmt.Sprintf("bad/web%d", i))
			}
			inCrowd(t, writer.SetOptions{}, broken, func(t *testing.T, c *crowd) {
				for _, name := range broken {
					c.all[name].set(func() { c.all[name].write = fault })
				}
				for round := range 6 {
					c.wantAtOnce(fmt.Sprint("round ", round))
				}
				for _, name := range broken {
					c.all[name].set(func() { c.all[name].write = nil })
				}
				during(time.Minute)
				for _, s := range c.all {
					if got := s.published(); got != "1=ready 2=ready" || s.last().WriteErr != nil {
						t.Errorf("%s: got %q and %v after the fault was over", s.name, got, s.last().WriteErr)
					}
				}
			})
		})
	}
}

func TestContract54StoresThatCannotBeReadDelayNoOther(t *testing.T) {
	for name, fault := range map[string]func(context.Context) error{
		"hangs":  func(ctx context.Context) error { return wait(ctx, time.Hour) },
		"panics": func(context.Context) error { panic("store") },
		"fails":  func(context.Context) error { return errors.New("no watch") },
	} {
		t.Run(name, func(t *testing.T) {
			var broken []string
			for i := range 10 {
				broken = append(broken, fmt.Sprintf("bad/web%d", i))
			}
			inCrowd(t, writer.SetOptions{}, broken, func(t *testing.T, c *crowd) {
				for _, name := range broken {
					c.all[name].set(func() { c.all[name].load = fault })
					c.all[name].added.Changed()
				}
				during(20 * time.Second)
				for range 5 {
					before := c.all["shop/web"].loads
					c.all["shop/web"].Memory.Remove("web.blue")
					c.all["shop/web"].added.Changed()
					synctest.Wait()
					if got := c.all["shop/web"].loads - before; got != 1 {
						t.Errorf("got %d loads of a store that answers, want 1 at once", got)
					}
					if got := c.all["shop/web"].published(); got != "1=ready 2=ready" {
						t.Errorf("got %q, want the slice repaired", got)
					}
					during(7 * time.Minute)
				}
				for _, name := range broken { // and what they decide is still written
					c.all[name].set(func() { c.all[name].load = nil })
				}
				c.set.Publish("blue", verdict(2, 1))
				during(time.Minute)
				for _, name := range broken {
					if got := c.all[name].published(); got != "1=down 2=ready" {
						t.Errorf("%s: got %q", name, got)
					}
				}
			})
		})
	}
}

func TestContract54NewTargetsThatCannotBeReadDelayNoOther(t *testing.T) {
	for name, c := range map[string]struct {
		namespaces int
		most       time.Duration
	}{
		"of one namespace":    {1, 0},
		"of three namespaces": {3, 5 * time.Second}, // once, until it is known
	} {
		t.Run(name, func(t *testing.T) {
			inCrowd(t, writer.SetOptions{}, nil, func(t *testing.T, crowd *crowd) {
				for i := range 60 {
					s := newServed(t, fmt.Sprintf("bad%d/web%d", i%c.namespaces, i), 100)
					s.load = func(ctx context.Context) error { return wait(ctx, time.Hour) }
					crowd.add(s)
				}
				for i := range 6 {
					during(c.most)
					s := newServed(t, fmt.Sprintf("good/web%d", i), 100)
					crowd.add(s)
					synctest.Wait()
					if i == 0 {
						during(c.most)
					}
					if got := s.published(); got != "1=ready 2=ready" {
						t.Errorf("%s: got %q at once, want its endpoints", s.name, got)
					}
					during(20 * time.Second)
				}
			})
		})
	}
}

// TestContract54AStoreThatHangsHasOneReader, however often its target comes and goes.
func TestContract54AStoreThatHangsHasOneReader(t *testing.T) {
	inCrowd(t, writer.SetOptions{}, []string{"shop/flip"}, func(t *testing.T, c *crowd) {
		s, flying, most := c.all["shop/flip"], 0, 0
		s.set(func() {
			s.load = func(ctx context.Context) error {
				s.set(func() { flying++; most = max(most, flying) })
				defer s.set(func() { flying-- })
				return wait(ctx, time.Hour)
			}
		})
		for range 50 {
			c.remove(s)
			c.add(s)
			during(100 * time.Millisecond)
		}
		if most != 1 {
			t.Errorf("got %d loads of one store at a time, want 1", most)
		}
		hangs := make(chan struct{}) // beyond every bound
		s.set(func() {
			s.load = func(context.Context) error {
				s.set(func() { flying++; most = max(most, flying) })
				defer s.set(func() { flying-- })
				<-hangs
				return nil
			}
		})
		for range 3 {
			during(2 * time.Minute)
			c.remove(s)
			during(2 * time.Minute)
			c.add(s)
		}
		if most != 1 {
			t.Errorf("got %d loads of one store that is away for minutes, want 1", most)
		}
		close(hangs)
		during(time.Minute)
	})
}

// TestContract54ANamespaceHasTwoReadersAtMostWhenSlicesPassToAnotherService while they are read.
func TestContract54ANamespaceHasTwoReadersAtMostWhenSlicesPassToAnotherService(t *testing.T) {
	inCrowd(t, writer.SetOptions{}, nil, func(t *testing.T, c *crowd) {
		before, heir := newServed(t, "bad/web", 100), newServed(t, "bad/heir", 100)
		heir.fill.Target.SliceName = before.fill.Target.SliceName
		before.load = func(ctx context.Context) error { return wait(ctx, 900*time.Millisecond) }
		c.add(before)
		synctest.Wait()
		c.remove(before)
		c.add(heir)
		during(time.Second)
		flying, most := 0, 0
		for i := range 20 {
			s := newServed(t, fmt.Sprintf("bad/more%d", i), 100)
			s.load = func(ctx context.Context) error {
				heir.set(func() { flying++; most = max(most, flying) })
				defer heir.set(func() { flying-- })
				return wait(ctx, 100*time.Millisecond)
			}
			c.add(s)
		}
		during(time.Minute)
		if most != 2 {
			t.Errorf("got %d loads at a time for one of several namespaces, want 2", most)
		}
	})
}

// TestContract54ANamespaceAloneHasAllReaders, and two of them where another one has a Service.
func TestContract54ANamespaceAloneHasAllReaders(t *testing.T) {
	for others, want := range map[int]int{0: 4, 1: 2, 2: 2} {
		bubble.Test(t, func(t *testing.T) {
			c := newCrowd(t, writer.SetOptions{}, neighbours[:others]...)
			c.start()
			during(time.Second)
			var mu sync.Mutex
			flying, most := 0, 0
			count := func(by int) {
				mu.Lock()
				defer mu.Unlock()
				flying += by
				most = max(most, flying)
			}
			for i := range 20 {
				s := newServed(t, fmt.Sprintf("big/web%d", i), 100)
				s.load = func(ctx context.Context) error {
					count(1)
					defer count(-1)
					return wait(ctx, 100*time.Millisecond)
				}
				c.add(s)
			}
			during(time.Minute)
			if most != want {
				t.Errorf("got %d loads at a time beside %d other namespaces, want %d", most, others, want)
			}
			c.stop()
		})
	}
}

func TestContract54APanicStopsOneTargetAndIsTriedAgain(t *testing.T) {
	inCrowd(t, writer.SetOptions{}, []string{"bad/web"}, func(t *testing.T, c *crowd) {
		bad, panics := c.all["bad/web"], 0
		bad.set(func() {
			bad.observe = func(o writer.Outcome) {
				if o.Passed && o.Defect == nil {
					panics++
					panic("the observer of one target")
				}
			}
		})
		c.set.Publish("blue", verdict(2, 1))
		synctest.Wait()
		for _, name := range neighbours {
			if got := c.all[name].published(); got != "1=down 2=ready" {
				t.Errorf("%s has %q after a neighbour's panic", name, got)
			}
		}
		got := bad.last()
		if got.Defect == nil || got.Pool != "blue" || !strings.Contains(got.Defect.Error(), "the observer of one target") ||
			!strings.Contains(got.Defect.Stack, "writer_test") || time.Until(got.Defect.Again) > time.Second {
			t.Errorf("got %+v, want the panic, its place, and that the target is tried in a second", got.Defect)
		}
		bad.taken()
		during(time.Hour)
		if panics < 10 || panics > 25 {
			t.Errorf("got %d tries in an hour, want them ever rarer, down to one in 5 min", panics)
		}
		for range 3 {
			c.wantAtOnce("while a target is stopped")
		}
		bad.set(func() { bad.observe = nil })
		during(6 * time.Minute)
		if got := bad.published(); got != "1=ready 2=ready" || bad.last().Defect != nil {
			t.Errorf("got %q and %v, want the newest verdict once the defect is over", got, bad.last().Defect)
		}
	})
}

// comesBack stops a target by a panic, and adds it again with what its store has.
func (c *crowd) comesBack(t *testing.T, name string) *crowdService {
	t.Helper()
	bad := c.all[name]
	bad.set(func() { bad.observe = func(writer.Outcome) { panic("once") } })
	bad.added.Changed()
	synctest.Wait()
	bad.set(func() { bad.observe = nil })
	c.remove(bad)
	state, err := bad.Memory.Load(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	bad.fill.State = &state
	c.add(bad)
	return bad
}

// TestContract54ATargetThatComesBackAfterAPanicIsDecidedOnWithItsState, although no other verdict
// comes.
func TestContract54ATargetThatComesBackAfterAPanicIsDecidedOnWithItsState(t *testing.T) {
	inCrowd(t, writer.SetOptions{}, []string{"bad/web"}, func(t *testing.T, c *crowd) {
		bad := c.comesBack(t, "bad/web")
		c.set.Publish("blue", verdict(2, 1))
		synctest.Wait()
		if got := bad.published(); got != "1=ready 2=ready" {
			t.Errorf("got %q at once, want that the target is tried again in a second", got)
		}
		during(time.Second)
		if got := bad.published(); got != "1=down 2=ready" {
			t.Errorf("got %q, want the verdict that came while the target was stopped", got)
		}
	})
}

// TestContract54ATargetThatComesBackAfterAPanicIsReadWhenItIsTriedAgain: what it was read to be when it
// came is out of date by then.
func TestContract54ATargetThatComesBackAfterAPanicIsReadWhenItIsTriedAgain(t *testing.T) {
	inCrowd(t, writer.SetOptions{}, []string{"bad/web"}, func(t *testing.T, c *crowd) {
		bad := c.comesBack(t, "bad/web")
		bad.Memory.Remove("web.blue")
		bad.added.Changed()
		during(time.Second)
		if got := bad.published(); got != "1=ready 2=ready" {
			t.Errorf("got %q, want the slice that was deleted while the target was stopped", got)
		}
	})
}

// TestContract54AWriteUnderWayAtAPanicIsOverBeforeTheNext: a slice has one request in
// flight.
func TestContract54AWriteUnderWayAtAPanicIsOverBeforeTheNext(t *testing.T) {
	inCrowd(t, writer.SetOptions{}, []string{"bad/web"}, func(t *testing.T, c *crowd) {
		bad, flying, most, fail := c.all["bad/web"], 0, 0, false
		bad.set(func() {
			bad.write = func(ctx context.Context, _ publish.Write) error {
				bad.set(func() { flying++; most = max(most, flying) })
				defer bad.set(func() { flying-- })
				return wait(ctx, 4*time.Second)
			}
			bad.observe = func(writer.Outcome) {
				if fail {
					fail = false
					panic("once")
				}
			}
		})
		c.set.Publish("blue", verdict(2, 1))
		synctest.Wait()
		fail = true
		c.set.Publish("blue", verdict(2, 2))
		during(30 * time.Second)
		if got := bad.published(); most != 1 || got != "1=ready 2=down" {
			t.Errorf("got %d requests at a time and %q, want 1 and the newest verdict", most, got)
		}
	})
}

func TestContract54AnOutageDelaysAllAndOneTriesFirst(t *testing.T) {
	inCrowd(t, writer.SetOptions{}, manyNames(100), func(t *testing.T, c *crowd) {
		tries := 0
		for _, s := range c.all {
			s.set(func() {
				s.write = func(context.Context, publish.Write) error {
					c.all["shop/web"].set(func() { tries++ })
					return publish.ErrUnavailable
				}
			})
		}
		c.set.Publish("blue", verdict(2, 2))
		during(10 * time.Minute)
		if tries > 8+60 { // as many as there are writers, then one in 13.5 s
			t.Errorf("got %d requests to a server that is away for ten minutes, want one in 13.5 s", tries)
		}
		for _, s := range c.all {
			s.set(func() { s.write = nil })
		}
		during(15 * time.Second)
		for _, s := range c.all {
			if got := s.published(); got != "1=ready 2=down" {
				t.Errorf("%s: got %q after the outage", s.name, got)
			}
		}
	})
}

// TestContract54AWriteThatMeetsAnOutageEachTimeHoldsUpNoAdditionElsewhere: the server is away for one
// namespace alone, as behind a limit that it has.
func TestContract54AWriteThatMeetsAnOutageEachTimeHoldsUpNoAdditionElsewhere(t *testing.T) {
	inCrowd(t, writer.SetOptions{}, []string{"full/web", "full/shop"}, func(t *testing.T, c *crowd) {
		for _, name := range []string{"full/web", "full/shop"} {
			c.all[name].set(func() {
				c.all[name].write = func(context.Context, publish.Write) error { return publish.ErrUnavailable }
			})
		}
		added := newServed(t, "shop/added", 100)
		added.fill.Pool = "red"
		c.add(added)
		c.set.Publish("blue", verdict(2, 1))
		during(5 * time.Minute) // the pauses are as long as they get
		c.set.Publish("red", verdict(2))
		during(time.Minute)
		if got := added.published(); got != "1=ready 2=ready" {
			t.Errorf("got %q, want the endpoints of a Service of another namespace", got)
		}
		for _, name := range neighbours {
			if got := c.all[name].published(); got != "1=down 2=ready" {
				t.Errorf("%s: got %q, want the loss", name, got)
			}
		}
	})
}

// busy makes the writes of Services take that long, and returns the most that were
// under way at a time since the last call.
func (c *crowd) busy(takes time.Duration, names ...string) (most func() int) {
	flying, top := 0, 0
	first := c.all["shop/web"]
	for _, name := range names {
		c.all[name].set(func() {
			c.all[name].write = func(ctx context.Context, _ publish.Write) error {
				first.set(func() { flying++; top = max(top, flying) })
				defer first.set(func() { flying-- })
				return wait(ctx, takes)
			}
		})
	}
	return func() int {
		first.mu.Lock()
		defer first.mu.Unlock()
		got := top
		top = flying
		return got
	}
}

func TestContract54AServiceHasTwoWritersAtMost(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := newCrowd(t, writer.SetOptions{}, "shop/web")
		hog := newServed(t, "shop/hog", 1)
		c.all["shop/hog"] = hog
		c.start()
		most := c.busy(500*time.Millisecond, "shop/hog")
		c.set.Publish("blue", verdict(50))
		during(time.Minute)
		if got := most(); got != 2 || strings.Count(hog.published(), "ready") != 50 {
			t.Errorf("got %d writers for one of two Services, want 2; it has %q", got, hog.published())
		}
		c.remove(c.all["shop/web"])
		during(2 * time.Minute)
		c.set.Publish("blue", zoned(50))
		during(time.Minute)
		if got := most(); got != 8 {
			t.Errorf("got %d writers for the only Service, want all 8", got)
		}
		c.stop()
	})
}

// severalNamespaces are ten Services in each of five namespaces.
func severalNamespaces() []string {
	var names []string
	for i := range 50 {
		names = append(names, fmt.Sprintf("bad%d/web%d", i%5, i))
	}
	return names
}

// TestContract54AServiceHasTwoWritersAtMostWhenItsSlicesPassToAnother, also while it still has
// writes in flight.
func TestContract54AServiceHasTwoWritersAtMostWhenItsSlicesPassToAnother(t *testing.T) {
	inCrowd(t, writer.SetOptions{}, nil, func(t *testing.T, c *crowd) {
		hog := newServed(t, "shop/hog", 1)
		c.all["shop/hog"] = hog
		most := c.busy(4*time.Second, "shop/hog")
		hog.fill.Pool = "red"
		c.add(hog)
		c.set.Publish("red", verdict(50))
		for range 3 {
			during(time.Second)
			c.remove(hog)
			heir := newServed(t, "shop/heir", 1)
			heir.fill.Target.SliceName = hog.fill.Target.SliceName
			c.add(heir)
			hog.fill.Target.SliceName += ".next"
			c.add(hog)
		}
		during(time.Second)
		if got := most(); got != 2 {
			t.Errorf("got %d writers for one of several Services, want 2", got)
		}
		during(time.Minute)
	})
}

func TestContract54TheOnlyServiceMayHaveAllWritersAlsoIfItsSlicesPassedToIt(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		c := newCrowd(t, writer.SetOptions{}, "shop/web")
		c.start()
		during(time.Second)
		before, heir := c.all["shop/web"], newServed(t, "shop/heir", 1)
		c.busy(4*time.Second, "shop/web")
		c.set.Publish("blue", verdict(2))
		synctest.Wait()
		c.remove(before) // its write is under way
		heir.fill.Target.SliceName = before.fill.Target.SliceName
		c.add(heir)
		during(10 * time.Second)
		c.all["shop/heir"] = heir
		most := c.busy(500*time.Millisecond, "shop/heir")
		c.set.Publish("blue", verdict(50))
		during(time.Minute)
		if got := most(); got != 8 {
			t.Errorf("got %d writers for the only Service, want all 8", got)
		}
		c.stop()
	})
}

func TestContract54SlowNamespacesTogetherLeaveTwoWritersToTheOthers(t *testing.T) {
	inCrowd(t, writer.SetOptions{}, severalNamespaces(), func(t *testing.T, c *crowd) {
		most := c.busy(4*time.Second, severalNamespaces()...)
		c.set.Publish("blue", zoned(2))
		during(21 * time.Second) // by now it is known of each that it is slow
		most()
		for range 5 {
			c.wantAtOnce("five namespaces are slow")
		}
		if got := most(); got != 6 {
			t.Errorf("slow namespaces had %d writers, want 6", got)
		}
		during(5 * time.Minute)
	})
}

func TestContract54WhatFailedIsTriedAgainByTwoWritersAtMost(t *testing.T) {
	inCrowd(t, writer.SetOptions{}, severalNamespaces(), func(t *testing.T, c *crowd) {
		most := c.busy(time.Hour, severalNamespaces()...)
		c.set.Publish("blue", zoned(2))
		during(time.Minute)
		most()
		during(time.Minute)
		if got := most(); got != 2 {
			t.Errorf("got %d writers that try again what failed, want 2", got)
		}
		for range 5 {
			c.wantAtOnce("five namespaces hang")
		}
	})
}

// TestContract54WhatDidNotFailWaitsForNoRetry: a Service of which a slice waits until it may be
// tried again gets its other slices written.
func TestContract54WhatDidNotFailWaitsForNoRetry(t *testing.T) {
	hanging := []string{"bad0/web", "bad1/web", "bad2/web", "bad3/web"}
	inCrowd(t, writer.SetOptions{}, hanging, func(t *testing.T, c *crowd) {
		s := newServed(t, "shop/small", 1)
		s.fill.Pool = "red"
		c.add(s)
		c.set.Publish("red", verdict(2))
		during(time.Minute)
		for _, name := range hanging { // there are no more than two retries at a time
			c.all[name].set(func() {
				c.all[name].write = func(ctx context.Context, _ publish.Write) error { return wait(ctx, time.Hour) }
			})
		}
		c.set.Publish("blue", verdict(2, 1))
		s.set(func() {
			s.write = func(_ context.Context, w publish.Write) error {
				if w.Slice.StateOf(address(1)) == verdict(1, 1).Members[0].State {
					return errRefused
				}
				return nil
			}
		})
		c.set.Publish("red", verdict(2, 1))
		during(30 * time.Second)
		for n := 3; n < 20; n++ {
			c.set.Publish("red", verdict(n, 1))
			synctest.Wait()
			if got := s.published(); !strings.HasSuffix(got, fmt.Sprintf("%d=ready", n)) {
				t.Errorf("got %q at once, want also %d", got, n)
			}
			during(time.Second)
		}
		during(time.Minute)
	})
}

// TestContract54WhatIsTriedAgainComesAfterWhatIsAsUrgent: while there is always something new to
// write, the only writer is not used to try again.
func TestContract54WhatIsTriedAgainComesAfterWhatIsAsUrgent(t *testing.T) {
	inCrowd(t, writer.SetOptions{Lanes: 1}, []string{"bad/web"}, func(t *testing.T, c *crowd) {
		c.all["bad/web"].set(func() { c.all["bad/web"].write = func(context.Context, publish.Write) error { return errRefused } })
		c.busy(time.Second, neighbours...)
		writes := func() (bad, good int) {
			for _, name := range neighbours {
				good += len(c.all[name].taken())
			}
			return len(c.all["bad/web"].taken()), good
		}
		change := func(seconds int) {
			for i := range seconds {
				v := verdict(2)
				v.Members[0].Zone = fmt.Sprint("z", i)
				c.set.Publish("blue", v)
				during(time.Second)
			}
		}
		change(4)
		writes()
		change(20)
		if bad, good := writes(); bad > 0 || good < 18 {
			t.Errorf("got %d writes that try again, and %d others, want none and one each second", bad, good)
		}
		during(time.Minute)
		if bad, _ := writes(); bad == 0 {
			t.Error("what failed was not tried again")
		}
	})
}

func TestContract54AllSlowNamespacesTogetherHaveTwoOfTheReaders(t *testing.T) {
	t.Parallel()
	for slow, want := range []bool{true, true, false, false} {
		if slowOne, other := writer.Takes(slow); slowOne != want || !other {
			t.Errorf("with %d reads of slow namespaces: one more may begin: %t, one of another namespace: %t, want %t, true", slow, slowOne, other, want)
		}
	}
}

// TestATargetThatIsGoneTakesNoOtherOut: its slices may have another target by now.
func TestATargetThatIsGoneTakesNoOtherOut(t *testing.T) {
	inCrowd(t, writer.SetOptions{}, nil, func(t *testing.T, c *crowd) {
		web := c.all["shop/web"]
		old := web.added
		c.set.Remove(old)
		c.add(web)
		c.set.Remove(old)
		during(time.Second)
		if _, err := c.set.Add(writer.Options{Fills: []writer.Fill{web.fill}}); err == nil {
			t.Error("the same slices got two targets")
		}
		c.wantAtOnce("the first target was removed twice")
	})
}
