package controllertest_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controllertest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// delay kills a backend. It returns how long the store still says ready after the
// decision that the backend is down.
func (w *world) delay(s *controllertest.Engine, octet int) time.Duration {
	w.t.Helper()
	w.set(func() { w.dead[ip(octet)] = true })
	var decided time.Time
	for range 10_000 {
		during(10 * time.Millisecond)
		if decided.IsZero() && slices.ContainsFunc(s.Status().Verdict.Members, func(m inventory.Member) bool {
			return m.Address.String() == ip(octet) && m.State == inventory.StateDown
		}) {
			decided = time.Now()
		}
		if slices.Contains(w.members(), ip(octet)+" down") {
			return time.Since(decided)
		}
	}
	w.t.Fatalf("%s is not down after 100 s", ip(octet))
	return 0
}

// rezone changes something in every slice.
func (w *world) rezone(zone string) {
	w.set(func() {
		w.nodes = slices.Clone(w.nodes)
		for i := range w.nodes {
			w.nodes[i].Zone = zone
		}
	})
	w.signal <- struct{}{}
}

// upTo returns the numbers from 1.
func upTo(n int) []int {
	all := make([]int, n)
	for i := range all {
		all[i] = i + 1
	}
	return all
}

func TestContract26ASliceThatCannotBeWrittenDelaysNoOther(t *testing.T) {
	for name, fail := range map[string]func() error{
		"a quota forbids it":         func() error { return errors.New("exceeded quota: count/endpointslices.discovery.k8s.io") },
		"a webhook lets it hang":     func() error { time.Sleep(5 * time.Second); return errors.New("context deadline exceeded") },
		"somebody writes it always":  func() error { return publish.ErrConflict },
		"the answer comes, but late": func() error { time.Sleep(4 * time.Second); return nil },
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				w := newWorld(t, 11, 12, 13, 14)
				w.opts.Target.MaxEndpoints = 1
				s := w.start()
				during(10 * time.Second)
				w.store.set(func() {
					w.store.fail = func(p publish.Write) error {
						if p.Operation == publish.Create {
							return fail()
						}
						return nil
					}
				})
				w.setNodes(11, 12, 13, 14, 15)
				w.signal <- struct{}{}
				for round := range 20 {
					if got := w.delay(s, 13); got > 50*time.Millisecond {
						t.Fatalf("round %d: down in the store %s after the decision, want at once", round, got)
					}
					w.set(func() { delete(w.dead, ip(13)) })
					during(17 * time.Second)
				}
				w.stop()
			})
		})
	}
}

func TestContract26AStoreThatAnswersInASecondDelaysALossByThree(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, upTo(100)...)
		w.opts.Target.MaxEndpoints = 1
		s := w.start()
		during(20 * time.Second)
		w.store.set(func() { w.store.takes = time.Second })
		w.rezone("z2")
		during(2 * time.Second)
		w.store.taken()
		w.set(func() { // write them late
			for octet := 90; octet <= 99; octet++ {
				w.dead[ip(octet)] = true
			}
		})
		if got := w.delay(s, 3); got > 3*time.Second {
			t.Errorf("down in the store %s after the decision, want 3 s at most", got)
		}
		during(time.Minute)
		decided := map[string]time.Time{}
		for _, wr := range w.store.taken() {
			m := wr.write.Slice.Endpoints[0]
			if m.State == inventory.StateDown {
				decided[m.Address.String()] = wr.at
			}
			if at, ok := decided[m.Address.String()]; ok && m.State != inventory.StateDown && wr.at.After(at) {
				t.Errorf("%s was written as %s after it was down", m.Address, m.State)
			}
		}
		if len(decided) < 11 {
			t.Errorf("got %d written as down, want all 11", len(decided))
		}
		w.stop()
	})
}

func TestContract26FrequentInventoriesHoldBackNoLoss(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		during(10 * time.Second)
		start := time.Now()
		w.set(func() { w.dead[ip(12)] = true })
		octets := []int{11, 12, 13}
		for i := 0; time.Since(start) < 2*time.Minute && !slices.Contains(w.members(), ip(12)+" down"); i++ {
			if next := 20 + i/8; i%8 == 0 && next < 250 { // every 0.8 s a new node that does not answer yet
				w.set(func() { w.mute[ip(next)] = true })
				octets = append(octets, next)
				w.setNodes(octets...)
			}
			select {
			case w.signal <- struct{}{}:
			default:
			}
			during(100 * time.Millisecond)
		}
		if took := time.Since(start); took > 3*time.Second {
			t.Errorf("a dead backend was down after %s, want 3 s at most", took)
		}
	})
}

// TestAnErrorOfTheStoreThatIsOverIsNotShown: a page that is red for no reason is
// not looked at.
func TestAnErrorOfTheStoreThatIsOverIsNotShown(t *testing.T) {
	for name, happen := range map[string]func(w *world){
		"a write landed whose answer was lost": func(w *world) {
			w.store.set(func() { w.store.lost = true })
			w.set(func() { w.dead[ip(13)] = true })
			during(5 * time.Second)
			w.store.set(func() { w.store.lost = false })
		},
		"a write that failed is not needed any more": func(w *world) {
			w.store.set(func() { w.store.fail = func(publish.Write) error { return errors.New("500") } })
			w.set(func() { w.dead[ip(13)] = true })
			during(4 * time.Second)
			w.set(func() { delete(w.dead, ip(13)) })
			during(20 * time.Second)
			w.store.set(func() { w.store.fail = nil })
		},
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				w := newWorld(t, 11, 12, 13)
				s := w.start()
				during(10 * time.Second)
				happen(w)
				during(time.Minute)
				if got := s.Status().Store; got.WriteErr != nil || got.LoadErr != nil || got.Pending != 0 {
					t.Errorf("got errors %v and %v and %d pending, want none", got.WriteErr, got.LoadErr, got.Pending)
				}
				w.stop()
			})
		})
	}
}

func TestContract21AfterAConflictOtherErrorsBackOff(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		tries := 0
		w.store.set(func() {
			w.store.fail = func(publish.Write) error {
				if tries++; tries == 1 {
					return publish.ErrConflict
				}
				return errors.New("a webhook says no")
			}
		})
		w.set(func() { w.dead[ip(13)] = true })
		during(10 * time.Minute)
		if n := len(w.store.taken()); n < 40 || n > 200 {
			t.Errorf("got %d tries in 10 min, want one in 7.5 s or so", n)
		}
	})
}

func TestContract26ABlipThatHitsManySlicesStopsWritingForASecond(t *testing.T) {
	for name, blip := range map[string]error{
		"each slice for itself": errors.New("internal error"),
		"the server is away":    fmt.Errorf("connection refused: %w", errAway),
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				w := newWorld(t, upTo(20)...)
				w.opts.Target.MaxEndpoints = 1
				w.opts.Random = func() float64 { return 0.9 } // and no second try within the blip
				w.start()
				during(20 * time.Second)
				for round := range 20 {
					w.store.set(func() { w.store.fail = func(publish.Write) error { return blip } })
					w.rezone(fmt.Sprint("z", round))
					during(50 * time.Millisecond)
					w.store.set(func() { w.store.fail = nil })
					w.store.taken()
					during(1200 * time.Millisecond)
					if len(w.store.taken()) == 0 {
						t.Fatalf("round %d: nothing was written within 1.2 s after a blip of 50 ms", round)
					}
					during(time.Minute)
				}
				w.stop()
			})
		})
	}
}

// errAway is what a store answers that cannot be reached.
var errAway = publish.ErrUnavailable

func TestContract13RetriesDoNotCountAsScheduledReads(t *testing.T) {
	inWorld(t, func(t *testing.T, w *world) {
		during(40 * time.Second)
		w.setNodes()
		for start := time.Now(); time.Since(start) < 4*time.Minute; {
			w.set(func() { w.readErr = errors.New("the watch ended") })
			select {
			case w.signal <- struct{}{}:
			default:
			}
			during(time.Millisecond)
			w.set(func() { w.readErr = nil })
			during(2 * time.Second)
			if got := fmt.Sprint(w.members()); strings.Count(got, "ready") != 3 {
				t.Fatalf("after %s an empty inventory was accepted: %s", time.Since(start), got)
			}
		}
	})
}

func TestContract03ASourceThatCostsNothingIsReadAgainAtTheInterval(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, 11, 12, 13)
		w.opts.FreeReads = true
		w.opts.PollInterval = 2 * time.Second
		w.start()
		during(10 * time.Second)
		for range 5 {
			w.set(func() { w.readErr = errors.New("no such file") })
			during(10 * time.Minute)
			w.set(func() { w.readErr, w.reads = nil, nil })
			during(1100 * time.Millisecond)
			w.set(func() {
				if len(w.reads) == 0 {
					t.Error("the file was not read within a second after it was there again")
				}
			})
		}
		w.stop()
	})
}
