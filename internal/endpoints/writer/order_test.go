package writer_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// The same events have the same effects, or no simulation replays.
func TestTargetsTakeTurnsInTheOrderInWhichTheyCame(t *testing.T) {
	var names []string
	for i := range 20 {
		names = append(names, fmt.Sprintf("shop/s%d", i))
	}
	inCrowd(t, writer.SetOptions{Lanes: 1}, names, func(t *testing.T, c *crowd) {
		var order []string
		for _, name := range names { // of one namespace: namespaces take turns
			s := c.all[name]
			s.set(func() {
				s.write = func(context.Context, publish.Write) error { // there is one writer
					order = append(order, name)
					return nil
				}
			})
		}
		c.set.Publish("blue", verdict(3))
		during(time.Minute)
		before := order
		order = nil
		c.set.Publish("blue", verdict(4))
		during(time.Minute)
		if len(before) != len(names) || !slices.Equal(order, before) {
			t.Errorf("got the writes %v, before %v", order, before)
		}
	})
}

// TestContract26NothingIsSentThatANewerVerdictHasUndone: the loop knows the newer verdict,
// and a lane becomes free before each of 400 targets was planned for it.
func TestContract26NothingIsSentThatANewerVerdictHasUndone(t *testing.T) {
	inCrowd(t, writer.SetOptions{Lanes: 1}, manyNames(400), func(t *testing.T, c *crowd) {
		var undone atomic.Bool
		var begun, late atomic.Int32
		lands := make(chan struct{})
		newer := sync.OnceFunc(func() {
			undone.Store(true)
			close(lands)
			time.Sleep(time.Millisecond) // the loop goes on when the write has ended
		})
		for _, s := range c.all {
			s.set(func() {
				s.observe = func(o writer.Outcome) {
					if begun.Load() > 0 && o.Passed && o.Pending == 0 { // by the newer verdict
						newer()
					}
				}
				s.write = func(_ context.Context, w publish.Write) error {
					if undone.Load() && len(w.Slice.Endpoints) == 3 {
						late.Add(1)
					}
					begun.Add(1)
					<-lands
					return nil
				}
			})
		}
		c.set.Publish("blue", verdict(3))
		synctest.Wait()
		c.set.Publish("blue", verdict(2))
		during(time.Minute)
		if got := late.Load(); got > 0 || !undone.Load() {
			t.Errorf("got %d writes of a verdict that a newer one has undone, want none", got)
		}
		for _, s := range c.all {
			if got := s.published(); got != "1=ready 2=ready" {
				t.Errorf("%s: got %q", s.name, got)
			}
		}
	})
}

// log makes every Service's writes take that long, and returns who wrote, in the
// order in which the writes began.
func (c *crowd) log(takes time.Duration) *[]string {
	var order []string
	first := c.all["shop/web"]
	for _, s := range c.all {
		s.set(func() {
			s.write = func(ctx context.Context, w publish.Write) error {
				first.mu.Lock()
				order = append(order, s.name)
				first.mu.Unlock()
				return wait(ctx, takes)
			}
		})
	}
	return &order
}

func TestContract55ALossOfAnyTargetGoesFirst(t *testing.T) {
	for _, rate := range []int{0, 10} {
		t.Run(fmt.Sprint("rate ", rate), func(t *testing.T) {
			inCrowd(t, writer.SetOptions{Lanes: 4, Rate: rate}, manyNames(400), func(t *testing.T, c *crowd) {
				for _, name := range neighbours {
					s := c.all[name]
					c.remove(s)
					s.fill.Pool = "red"
					c.add(s)
				}
				during(time.Minute)
				order := c.log(100 * time.Millisecond)
				c.set.Publish("blue", zoned(2)) // 400 writes that can wait
				during(time.Second)
				*order = nil
				c.set.Publish("red", verdict(2, 1))
				during(250 * time.Millisecond) // one round of the writers is under way
				for _, name := range neighbours {
					if got := c.all[name].published(); got != "1=down 2=ready" {
						t.Errorf("%s: got %q 250 ms after the verdict, behind %v", name, got, *order)
					}
				}
				during(time.Minute)
			})
		})
	}
}

// TestContract55ALossThatFailedWaitsForNothingElse: it is tried again before what can wait, also of its
// own Service, and needs no room in the rate.
func TestContract55ALossThatFailedWaitsForNothingElse(t *testing.T) {
	inCrowd(t, writer.SetOptions{Lanes: 4, Rate: 1}, manyNames(40), func(t *testing.T, c *crowd) {
		s := newServed(t, "shop/small", 1)
		s.fill.Pool = "red"
		c.add(s)
		c.set.Publish("red", verdict(2))
		during(time.Minute)
		s.set(func() {
			s.write = func(context.Context, publish.Write) error {
				s.set(func() { s.write = nil })
				return errRefused
			}
		})
		c.set.Publish("blue", zoned(2)) // 40 writes that can wait, and spend the rate
		during(time.Second)
		both := zoned(2)
		both.Members[0].State = verdict(1, 1).Members[0].State
		c.set.Publish("red", both)
		during(4 * time.Second)
		if got := s.published(); got != "1=down 2=ready" {
			t.Errorf("got %q 4 s after the verdict, want the loss, which failed once", got)
		}
		during(time.Minute)
	})
}

// TestContract202ADeathInSlicesThatDrainGoesFirst: what a hand-over takes back waits for its turn, and
// what dies meanwhile does not.
func TestContract202ADeathInSlicesThatDrainGoesFirst(t *testing.T) {
	inCrowd(t, writer.SetOptions{Lanes: 4, Rate: 10}, manyNames(400), func(t *testing.T, c *crowd) {
		for _, name := range neighbours {
			s := c.all[name]
			c.remove(s)
			s.fill.Pool, s.fill.Phase = "red", writer.Draining
			c.add(s)
		}
		during(2 * time.Minute)
		c.set.Publish("blue", zoned(2)) // 400 writes that can wait, and spend the rate
		during(time.Second)
		c.set.Publish("red", verdict(2, 1))
		during(250 * time.Millisecond)
		for _, name := range neighbours {
			if got := c.all[name].published(); got != "2=draining" {
				t.Errorf("%s: got %q 250 ms after the verdict", name, got)
			}
		}
		during(time.Minute)
	})
}

// TestContract202WhatAHandOverTakesBackWaitsForItsTurn: what died is no loss where others have it.
func TestContract202WhatAHandOverTakesBackWaitsForItsTurn(t *testing.T) {
	for name, c := range map[string]struct {
		others int
		dead   []int
		want   string
	}{
		"nothing died":         {others: 0, want: "1=draining 2=draining"},
		"what others have":     {others: 2, want: ""},
		"what others have die": {others: 2, dead: []int{1}, want: ""},
	} {
		t.Run(name, func(t *testing.T) {
			inCrowd(t, writer.SetOptions{Lanes: 4, Rate: 1}, manyNames(40), func(t *testing.T, crowd *crowd) {
				crowd.set.Publish("green", verdict(c.others))
				for _, name := range neighbours {
					s := crowd.all[name]
					crowd.remove(s)
					s.fill.Pool, s.fill.Phase = "red", writer.Draining
					next := s.fill
					next.Pool, next.Phase, next.Target.SliceName = "green", writer.Serving, "web.green"
					next.Store = storeOf(t, next.Target)
					added, err := crowd.set.Add(writer.Options{Fills: []writer.Fill{next, s.fill}, Observe: s.told})
					if err != nil {
						t.Fatal(err)
					}
					s.added = added
				}
				during(10 * time.Minute)
				crowd.set.Publish("blue", zoned(2)) // 40 writes that can wait, and spend the rate
				during(5 * time.Second)
				crowd.set.Publish("red", verdict(2, c.dead...))
				during(250 * time.Millisecond) // at one write a second
				waiting := 0
				for _, name := range neighbours {
					if crowd.all[name].published() == "1=ready 2=ready" {
						waiting++
					}
				}
				if waiting == 0 {
					t.Error("what drains was written before what came earlier")
				}
				during(10 * time.Minute)
				for _, name := range neighbours {
					if got := crowd.all[name].published(); got != c.want {
						t.Errorf("%s: got %q, want %q", name, got, c.want)
					}
				}
			})
		})
	}
}

func TestContract55LossesDoNotCountAgainstTheRateOfAll(t *testing.T) {
	inCrowd(t, writer.SetOptions{Lanes: 4, Rate: 10}, manyNames(400), func(t *testing.T, c *crowd) {
		c.set.Publish("blue", zoned(2))
		during(time.Second)
		if got := taken(c); got < 100 || got > 112 {
			t.Errorf("got %d writes in the first second, want ten seconds' worth", got)
		}
		during(10 * time.Second)
		if got := taken(c); got < 98 || got > 102 {
			t.Errorf("got %d writes in the ten seconds after, want 10 a second", got)
		}
		c.set.Publish("blue", verdict(2, 1))
		synctest.Wait()
		if got := taken(c); got != 402 {
			t.Errorf("got %d losses written at once, want all of 402", got)
		}
		c.set.Publish("blue", verdict(2))
		during(10 * time.Second)
		if got := taken(c); got < 98 || got > 102 {
			t.Errorf("got %d writes in ten seconds after the losses, want 10 a second as before", got)
		}
		during(time.Minute)
	})
}

// TestContract55WhatALossWaitsForIsNoLessUrgent: an endpoint that is the last one
// ready stays until another is.
func TestContract55WhatALossWaitsForIsNoLessUrgent(t *testing.T) {
	inCrowd(t, writer.SetOptions{Lanes: 4, Rate: 10}, manyNames(400), func(t *testing.T, c *crowd) {
		s := newServed(t, "shop/small", 1)
		s.fill.Pool = "red"
		c.add(s)
		c.set.Publish("red", verdict(2, 2))
		during(time.Minute)
		c.set.Publish("blue", zoned(2)) // 400 writes that can wait, and spend the rate
		during(5 * time.Second)
		c.set.Publish("red", verdict(2, 1))
		synctest.Wait()
		if got := s.published(); got != "1=down 2=ready" {
			t.Errorf("got %q at once, want the endpoint that is to be ready, and then the loss", got)
		}
		during(time.Minute)
	})
}

func TestContract55NamespacesTakeTurns(t *testing.T) {
	var many []string
	for i := range 300 {
		many = append(many, fmt.Sprintf("big/web%d", i))
	}
	inCrowd(t, writer.SetOptions{Lanes: 4}, many, func(t *testing.T, c *crowd) {
		order := c.log(10 * time.Millisecond)
		c.set.Publish("blue", verdict(2, 1))
		during(time.Minute)
		for _, name := range neighbours {
			if at := slices.Index(*order, name); at < 0 || at > 30 {
				t.Errorf("%s was write %d of %d, want it among the first although its namespace is small", name, at, len(*order))
			}
		}
	})
}

func TestContract55NamespacesOfOneSizeAreWrittenEvenly(t *testing.T) {
	inCrowd(t, writer.SetOptions{Lanes: 4}, manyNames(400), func(t *testing.T, c *crowd) {
		order := c.log(10 * time.Millisecond)
		c.set.Publish("blue", verdict(2, 1))
		during(time.Minute)
		count := make(map[string]int)
		for _, name := range (*order)[:100] {
			namespace, _, _ := strings.Cut(name, "/")
			count[namespace]++
		}
		for i := range 20 {
			if got := count[fmt.Sprint("ns", i)]; got < 3 || got > 7 {
				t.Errorf("got %d of the first 100 writes in namespace %d of 20, want about 5", got, i)
			}
		}
	})
}

// TestContract55LossesOfANamespaceAreNoTurnsOfItsAdditions: in each class the namespaces take turns.
func TestContract55LossesOfANamespaceAreNoTurnsOfItsAdditions(t *testing.T) {
	var many, dying []string
	for i := range 150 {
		many = append(many, fmt.Sprintf("shop/web%d", i), fmt.Sprintf("blog/web%d", i))
	}
	for i := range 40 {
		dying = append(dying, fmt.Sprintf("shop/dying%d", i))
	}
	inCrowd(t, writer.SetOptions{Lanes: 4, Rate: 10}, append(many, dying...), func(t *testing.T, c *crowd) {
		for _, name := range dying {
			s := c.all[name]
			c.remove(s)
			s.fill.Pool = name
			c.add(s)
			c.set.Publish(name, verdict(2))
		}
		c.set.Publish("blue", verdict(2, 1))
		during(time.Minute)
		c.set.Publish("blue", verdict(2)) // 300 additions, of which the first third is sent at once
		during(50 * time.Millisecond)
		order := c.log(time.Millisecond)
		for _, name := range dying {
			c.set.Publish(name, verdict(2, 1))
			during(50 * time.Millisecond)
		}
		count := make(map[string]int)
		c.all["shop/web"].set(func() { // the log is under its lock
			for _, name := range *order {
				kind, _, _ := strings.Cut(name, "web")
				count[kind]++
			}
		})
		if shop, blog := count["shop/"], count["blog/"]; shop < 8 || blog < 8 {
			t.Errorf("got %d additions of one namespace, whose other endpoints die meanwhile, and %d of another, want as many of each", shop, blog)
		}
		during(time.Minute)
	})
}

func TestContract55ATargetThatComesAndGoesIsWrittenNoMoreOften(t *testing.T) {
	inCrowd(t, writer.SetOptions{}, []string{"flip/web"}, func(t *testing.T, c *crowd) {
		s := c.all["flip/web"]
		for i := range 100 { // ten times a second, and each time it is to publish something else
			c.remove(s)
			s.fill.Pool = []string{"blue", "red"}[i%2]
			c.set.Publish("red", verdict(2, 1))
			c.add(s)
			during(100 * time.Millisecond)
			if i%20 == 10 {
				c.set.Publish("blue", verdict(2, 2))
				synctest.Wait()
				for _, name := range neighbours {
					if got := c.all[name].published(); got != "1=ready 2=down" {
						t.Errorf("%s: got %q while a neighbour comes and goes", name, got)
					}
				}
				c.set.Publish("blue", verdict(2))
			}
		}
		if got := len(s.taken()); got > 15 {
			t.Errorf("got %d writes of a slice in ten seconds, want 5 and one a second", got)
		}
		during(time.Minute)
		if got := s.published(); got != "1=down 2=ready" {
			t.Errorf("got %q, want what the last target says", got)
		}
	})
}

func TestContract55ATargetThatComesAndGoesWritesNothingIfNothingDiffers(t *testing.T) {
	inCrowd(t, writer.SetOptions{}, []string{"flip/web"}, func(t *testing.T, c *crowd) {
		s := c.all["flip/web"]
		for range 50 {
			c.remove(s)
			c.add(s)
			during(100 * time.Millisecond)
		}
		if got := len(s.taken()); got != 0 || s.published() != "1=ready 2=ready" {
			t.Errorf("got %d writes and %q, want none", got, s.published())
		}
		c.remove(s)
		c.set.Publish("blue", verdict(2, 1))
		during(2 * time.Minute)
		if got := s.published(); got != "1=ready 2=ready" {
			t.Errorf("got %q of a Service that is no target, want it left alone", got)
		}
	})
}

func TestContract55AWriteOfATargetThatWentCountsForTheOneThatComes(t *testing.T) {
	inCrowd(t, writer.SetOptions{}, []string{"flip/web"}, func(t *testing.T, c *crowd) {
		s, flying, most := c.all["flip/web"], 0, 0
		s.set(func() {
			s.write = func(ctx context.Context, _ publish.Write) error {
				s.set(func() { flying++; most = max(most, flying) })
				defer s.set(func() { flying-- })
				return wait(ctx, 3*time.Second)
			}
		})
		c.set.Publish("blue", verdict(2, 1))
		for i := range 20 {
			during(100 * time.Millisecond)
			c.remove(s)
			c.set.Publish("blue", verdict(2, 1+i%2))
			c.add(s)
		}
		during(time.Minute)
		if most != 1 || s.published() != "1=ready 2=down" {
			t.Errorf("got %d requests at a time and %q, want 1 and the newest verdict", most, s.published())
		}
		for _, w := range s.taken() {
			if w.err != nil {
				t.Errorf("got %v of a slice that nothing else writes", w.err)
			}
		}
	})
}

func TestATargetIsGoneWhenItsRequestsHaveEnded(t *testing.T) {
	gone := func(s *crowdService) bool {
		synctest.Wait()
		select {
		case <-s.added.Gone():
			return true
		default:
			return false
		}
	}
	inCrowd(t, writer.SetOptions{}, nil, func(t *testing.T, c *crowd) {
		idle, busy := c.all["shop/web"], c.all["blog/web"]
		busy.set(func() {
			busy.write = func(ctx context.Context, _ publish.Write) error { return wait(ctx, 2*time.Second) }
			busy.load = func(ctx context.Context) error { return wait(ctx, 3*time.Second) }
		})
		c.set.Publish("blue", verdict(2, 1))
		busy.added.Changed()
		synctest.Wait()
		if gone(idle) {
			t.Error("it is gone before it was removed")
		}
		c.remove(idle)
		c.remove(busy)
		if !gone(idle) || gone(busy) {
			t.Errorf("got gone %t without requests and %t with two, want true and false", gone(idle), gone(busy))
		}
		during(2500 * time.Millisecond)
		if gone(busy) {
			t.Error("it is gone although it is read")
		}
		during(time.Second)
		if !gone(busy) {
			t.Error("it is not gone although its requests have ended")
		}
	})
}

func TestTwoTargetsForTheSameSlicesAreRefused(t *testing.T) {
	c := newCrowd(t, writer.SetOptions{}, "shop/web")
	s := c.all["shop/web"]
	c.add(s)
	if _, err := c.set.Add(writer.Options{Fills: []writer.Fill{s.fill}}); err == nil || !strings.Contains(err.Error(), "shop/web") {
		t.Errorf("got %v, want an error that names the Service", err)
	}
	c.remove(s)
	c.remove(s) // does nothing
	c.add(s)
}

func TestContract33AThousandTargetsNeedNoMoreGoroutinesThanOne(t *testing.T) {
	goroutines := func(count int) int {
		n := 0
		bubble.Test(t, func(t *testing.T) {
			c := newCrowd(t, writer.SetOptions{}, append(manyNames(count-1), "shop/web")...)
			c.start()
			c.set.Publish("blue", verdict(3))
			during(10 * time.Second)
			stacks := make([]byte, 4<<20)
			for stack := range strings.SplitSeq(string(stacks[:runtime.Stack(stacks, true)]), "\n\n") {
				if strings.Contains(stack, "internal/endpoints/writer.(*") {
					n++
				}
			}
			for _, s := range c.all {
				if got := s.published(); got != "1=ready 2=ready 3=ready" || s.loads != 1 || len(s.taken()) != 1 {
					t.Fatalf("%s: got %q, want it written once after one load", s.name, got)
				}
			}
			c.stop()
		})
		return n
	}
	one, many := goroutines(1), goroutines(1000)
	if many != one || one != 1+8+4 {
		t.Errorf("got %d goroutines for 1,000 targets and %d for one, want as many: the loop, 8 writers, 4 readers", many, one)
	}
}

func TestContract30ASetStopsWithTheWritesUnderWayAndBeginsNone(t *testing.T) {
	for name, takes := range map[string]time.Duration{"they land": 4 * time.Second, "they hang": time.Hour} {
		t.Run(name, func(t *testing.T) {
			inCrowd(t, writer.SetOptions{}, manyNames(100), func(t *testing.T, c *crowd) {
				order := c.log(takes)
				c.set.Publish("blue", verdict(2, 1))
				during(time.Second)
				under := len(*order)
				stopped := time.Now()
				c.stop()
				if took := time.Since(stopped); took > writer.WriteTimeout {
					t.Errorf("stopped after %s, want %s at most", took, writer.WriteTimeout)
				}
				ended := taken(c)
				if under != 8 || len(*order) != 8 || ended != 8 {
					t.Errorf("got %d writes under way, %d begun and %d ended, want 8 each", under, len(*order), ended)
				}
			})
		})
	}
}

// TestContract30NothingBeginsOnceASetIsToldToStop although there is something to
// write by then.
func TestContract30NothingBeginsOnceASetIsToldToStop(t *testing.T) {
	for range 20 { // of two things that happened any may be seen first
		inCrowd(t, writer.SetOptions{}, nil, func(t *testing.T, c *crowd) {
			s := c.all["shop/web"]
			s.set(func() {
				s.observe = func(writer.Outcome) { // the loop is busy when both happen
					c.cancel()
					c.set.Publish("blue", verdict(2, 2))
				}
			})
			s.added.Changed()
			during(time.Minute)
			if got := s.published(); got != "1=ready 2=ready" {
				t.Fatalf("got %q, want nothing written after the stop", got)
			}
		})
	}
}

// zoned is that the endpoints up to n are ready, in another zone than before.
func zoned(n int) *guard.Verdict {
	v := verdict(n)
	for i := range v.Members {
		v.Members[i].Zone = "z2"
	}
	return v
}

// taken counts the writes of all Services since the last call.
func taken(c *crowd) int {
	n := 0
	for _, s := range c.all {
		n += len(s.taken())
	}
	return n
}
