package pool_test

import (
	"errors"
	"maps"
	"net"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

func TestContract26InventoriesThatComeEvery100msHoldBackNoLoss(t *testing.T) {
	for name, newcomers := range map[string]bool{"with nodes that are new and silent": true, "of the same nodes": false} {
		t.Run(name, func(t *testing.T) {
			in(t, func(w *world) {
				listed := []int{1, 2, 3}
				stopped := make(chan struct{})
				done := make(chan struct{})
				go func() {
					defer close(done)
					for i := 0; ; i++ {
						select {
						case <-stopped:
							return
						case <-time.After(100 * time.Millisecond):
						}
						if newcomers && i%8 == 0 && i < 800 {
							w.set(func() { w.mute[address(10+i/8)] = true })
							listed = append(listed, 10+i/8)
							w.list(listed...)
						}
						w.signal()
					}
				}()
				during(5 * time.Second)
				w.set(func() { w.dead[address(2)] = true })
				if took := w.until("2=down"); took > 2500*time.Millisecond {
					t.Errorf("it was down after %s, want as fast as ever", took)
				}
				w.set(func() { delete(w.dead, address(2)) })
				if took := w.until("2=ready"); took > 3*time.Second {
					t.Errorf("it was back after %s, want as fast as ever", took)
				}
				close(stopped)
				<-done
			})
		})
	}
}

func TestContract28AfterARestartInventoriesThatComeEvery100msAreDecidedOn(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, 2, 3, 4)
		w.opts.concurrency = 1
		w.opts.HealthTimeout = 5 * time.Second
		w.set(func() {
			for o := 1; o <= 3; o++ {
				w.mute[address(o)] = true
			}
		})
		var published []inventory.Member
		for o := 1; o <= 3; o++ {
			published = append(published, inventory.Member{Address: address(o), State: inventory.StateReady})
		}
		w.start(published...)
		synctest.Wait()
		start := time.Now()
		for !strings.Contains(w.published(), "4=ready") && time.Since(start) < time.Minute {
			w.signal()
			during(100 * time.Millisecond)
		}
		if took := time.Since(start); took > 10*time.Second {
			t.Errorf("a new node was published after %s, want within 5 s and its check", took)
		}
		w.stop()
	})
}

// TestContract28AfterARestartAnInventoryWaitsForChecksThatHangForFiveSeconds: then
// it is decided on, although nothing else happens.
func TestContract28AfterARestartAnInventoryWaitsForChecksThatHangForFiveSeconds(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, 2)
		w.opts.HealthTimeout = 20 * time.Second
		w.set(func() { w.mute[address(1)] = true; w.silence = 20 * time.Second })
		w.start(inventory.Member{Address: address(1), State: ready})
		synctest.Wait()
		if took := w.until("2=ready"); took < 5*time.Second || took > 5500*time.Millisecond {
			t.Errorf("a new node was published after %s, want 5 s and its check", took)
		}
		w.stop()
	})
}

func TestContract13DrainingEndsInTimeAlthoughNothingHappens(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, 2, 3)
		w.opts.PollInterval = time.Hour
		w.start()
		during(10 * time.Second)
		w.list(2, 3)
		w.signal()
		during(30*time.Second - time.Millisecond)
		w.want("1=draining 2=ready 3=ready")
		during(100 * time.Millisecond)
		w.want("2=ready 3=ready")
		w.stop()
	})
}

func TestContract13RetriesAndSignalsDoNotCountAsScheduledReads(t *testing.T) {
	in(t, func(w *world) {
		w.list()
		start := time.Now()
		for time.Since(start) < 4*time.Minute {
			w.set(func() { w.err = errors.New("the watch ended") })
			w.signal()
			during(time.Millisecond)
			w.set(func() { w.err = nil })
			during(2 * time.Second)
			w.want("1=ready 2=ready 3=ready")
		}
	})
}

// TestContract13ScheduledReadsGoOnHoweverManySignalsCome: or a rejected inventory
// would never be accepted.
func TestContract13ScheduledReadsGoOnHoweverManySignalsCome(t *testing.T) {
	in(t, func(w *world) {
		w.set(func() { w.takes = 150 * time.Millisecond; w.outcomes = nil })
		for start := time.Now(); time.Since(start) < 10*time.Minute; {
			w.signal()
			during(100 * time.Millisecond)
		}
		scheduled := 0
		w.set(func() {
			for _, o := range w.outcomes {
				if o.Read != nil && o.Read.Scheduled {
					scheduled++
				}
			}
		})
		if scheduled < 18 || scheduled > 21 {
			t.Errorf("got %d scheduled reads in 10 min, want one in 30 s", scheduled)
		}
	})
}

func TestContract03ASourceThatCostsNothingIsReadAgainWithinASecond(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, 2, 3)
		w.opts.FreeReads = true
		w.start()
		during(10 * time.Second)
		for _, broken := range []time.Duration{3 * time.Second, time.Minute, time.Hour} {
			w.set(func() { w.err = errBroken })
			w.signal()
			during(broken)
			w.list(1, 2, 3, 4)
			w.set(func() { w.err = nil })
			if took := w.until("4=ready"); took > 1100*time.Millisecond {
				t.Errorf("after %s without the file it was read %s after it was there again", broken, took)
			}
			w.list(1, 2, 3)
			during(2 * time.Minute)
		}
		w.stop()
	})
}

func TestContract03SignalsDoNotCutRetryAfterShort(t *testing.T) {
	in(t, func(w *world) {
		w.set(func() { w.err = retryLater(20 * time.Second); w.reads = nil })
		for start := time.Now(); time.Since(start) < 10*time.Minute; {
			w.signal()
			during(100 * time.Millisecond)
		}
		w.set(func() {
			for i := 1; i < len(w.reads); i++ {
				if gap := w.reads[i].Sub(w.reads[i-1]); gap < 20*time.Second {
					t.Fatalf("read %d came %s after one that was answered Retry-After: 20 s", i, gap)
				}
			}
			if n := len(w.reads); n < 28 {
				t.Errorf("got %d reads, want a signal to count once the time is over", n)
			}
		})
	})
}

// TestANodeAndItsReplacementReachTheTargetsTogether: one write, no gap.
func TestANodeAndItsReplacementReachTheTargetsTogether(t *testing.T) {
	in(t, func(w *world) {
		w.set(func() { w.verdicts = 0 })
		w.list(2, 3, 4)
		w.signal()
		during(time.Second)
		w.want("1=draining 2=ready 3=ready 4=ready")
		if w.verdicts != 1 {
			t.Errorf("got %d verdicts, want 1", w.verdicts)
		}
	})
}

func TestANewcomerThatNeverAnswersIsWaitedForOnce(t *testing.T) {
	in(t, func(w *world) {
		w.set(func() { w.mute[address(4)] = true })
		w.list(2, 3, 4)
		w.signal()
		if took := w.until("1=draining"); took > 250*time.Millisecond {
			t.Errorf("what changed reached the targets after %s, want a fifth of a second", took)
		}
		w.list(1, 2, 3, 4)
		w.signal()
		if took := w.until("1=ready"); took > 50*time.Millisecond {
			t.Errorf("the next change reached them after %s, want at once", took)
		}
	})
}

// TestAHealthyWorldMakesAPassAtEachRead and no other.
func TestAHealthyWorldMakesAPassAtEachRead(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, 2, 3)
		w.start()
		during(time.Minute)
		w.set(func() { w.outcomes = nil })
		during(5 * time.Minute)
		passed := 0
		w.set(func() {
			for _, o := range w.outcomes {
				if o.Passed {
					passed++
				}
			}
		})
		if passed != 10 {
			t.Errorf("got %d passes in 5 min, want one for each read", passed)
		}
		w.stop()
	})
}

func TestContract06WhatTheFilterRefusesTodayIsNotChecked(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w, held := newWorld(t, 1, 2), &backends{ends: map[netip.Addr]net.Conn{}}
		w.opts.HoldPort, w.opts.connections = 80, health.ConnectionsOptions{MaxConnections: 10, Dial: held.dial}
		outside := inventory.Member{Address: address(0).Prev(), State: inventory.StateReady} // 9.255.255.255
		w.start(outside, inventory.Member{Address: address(1), State: inventory.StateReady})
		during(time.Minute)
		w.set(func() {
			if n := w.checked[outside.Address]; n > 0 {
				t.Errorf("it was checked %d times", n)
			}
			if n := w.checked[address(1)]; n == 0 {
				t.Error("the other one was not checked")
			}
		})
		w.stop()
		if held.ends[outside.Address] != nil || held.ends[address(1)] == nil {
			t.Errorf("connections were held to %v, want none to the one that is not checked", slices.Collect(maps.Keys(held.ends)))
		}
	})
}

func TestAPoolWithoutChecksPublishesWhatIsListed(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, 1, 2, 3)
		w.opts.Prober, w.opts.Policy.HealthOff = nil, true
		w.start()
		during(time.Second)
		w.want("1=ready 2=ready 3=ready")
		w.list(1, 2, 3, 4)
		w.signal()
		during(time.Millisecond)
		w.want("1=ready 2=ready 3=ready 4=ready")
		if w.verdict.Mode != guard.Publish {
			t.Errorf("got mode %s", w.verdict.Mode)
		}
		w.stop()
	})
}
