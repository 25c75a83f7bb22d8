package peers_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/peers"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/peers/peerstest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// answers returns what comes first within a time.
func answers(d *peers.Desk, within time.Duration) []inventory.Result {
	select {
	case <-d.Ready():
		return d.Take()
	case <-time.After(within):
		return nil
	}
}

func TestContract239AConnectionElsewhereAnswersTheFailure(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.standby("b", all)
		d := w.asker.Join(port, timeout)
		defer d.Close()
		ask := fails(1, address(1))
		d.Set([]guard.Ask{ask})
		got := answers(d, peers.AnswerWait)
		want := inventory.Result{Address: address(1), At: ask.At, Outcome: inventory.Elsewhere, Failures: 1, Message: "b"}
		if len(got) != 1 || got[0] != want {
			t.Errorf("got %+v, want %+v", got, want)
		}
	})
}

func TestContract239ADeadEndpointIsMissed(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.standby("b", none)
		w.standby("c", none)
		d := w.asker.Join(port, timeout)
		defer d.Close()
		for n := 1; n <= 10; n++ {
			ask := fails(n, address(1))
			d.Set([]guard.Ask{ask})
			got := answers(d, 3*time.Second)
			if len(got) != 1 || !got[0].Missed || got[0].At != ask.At || got[0].Failures != n {
				t.Fatalf("got %+v, want that it is missed", got)
			}
		}
	})
}

func TestContract239AnAnswerIsForTheFailuresBeforeTheQuestion(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var gone atomic.Bool
		w.standby("b", func(netip.Addr) time.Duration {
			if gone.Load() {
				return 0
			}
			return 200 * time.Millisecond
		})
		d := w.asker.Join(port, timeout)
		defer d.Close()
		first := fails(1, address(1))
		d.Set([]guard.Ask{first})
		time.Sleep(100 * time.Millisecond)
		second := fails(2, address(1))
		d.Set([]guard.Ask{second})
		time.Sleep(50 * time.Millisecond)
		gone.Store(true) // the try under way succeeds, the one for the second question does not
		got := answers(d, time.Minute)
		if len(got) != 1 || got[0].Failures != 1 || !got[0].At.Equal(first.At) {
			t.Errorf("got %+v, want an answer to the first failure", got)
		}
		if got := answers(d, time.Minute); len(got) != 1 || !got[0].Missed || got[0].Failures != 2 {
			t.Errorf("got %+v, want that the second one is missed", got)
		}
	})
}

// A standby that needs two seconds for a connection is as good as none, and one that loses the first
// packet is not.
func TestContract239AStandbyTriesForAQuarterAndThenForTheWholeTimeout(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t)
		var tries atomic.Int32
		w.standby("b", func(netip.Addr) time.Duration {
			if tries.Add(1) == 1 {
				return 0
			}
			return time.Millisecond
		})
		w.standby("slow", func(netip.Addr) time.Duration { return 2 * time.Second })
		d := w.asker.Join(port, timeout)
		defer d.Close()
		asked := time.Now()
		d.Set([]guard.Ask{fails(1, address(1))})
		got := answers(d, time.Minute)
		if took := time.Since(asked); len(got) != 1 || got[0].Message != "b" || took > timeout/2 {
			t.Errorf("got %+v after %s, want one of b within %s", got, took, timeout/2)
		}
		for _, got := range answers(d, time.Minute) {
			if !got.Missed {
				t.Errorf("got %+v, want none of the slow one", got)
			}
		}
	})
}

func TestContract242AtRestNothingIsWrittenWatchedOrRead(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.standby("b", all)
		d := w.asker.Join(port, timeout)
		defer d.Close()
		time.Sleep(time.Minute)
		for range 1000 {
			d.Set(nil)
		}
		synctest.Wait()
		w.Lock()
		defer w.Unlock()
		if len(w.Notes)+w.Watches+w.Reads != 0 || w.Writes != 1 {
			t.Errorf("got %d notes, %d watches, %d reads and %d lines, want only the one that says that it stands by", len(w.Notes), w.Watches, w.Reads, w.Writes)
		}
	})
}

// Once everything is reached again the question goes with the next renewal, and the watch ends.
func TestContract242AQuestionIsTakenBack(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.standby("b", all)
		d := w.asker.Join(port, timeout)
		defer d.Close()
		d.Set([]guard.Ask{fails(1, address(1))})
		answers(d, time.Second)
		d.Set(nil)
		time.Sleep(time.Minute)
		w.Lock()
		defer w.Unlock()
		if len(w.Notes) != 2 || w.Notes[1] != "" || w.Open != 0 || w.Watches != 1 {
			t.Errorf("got the notes %q, %d watches, %d of them open, want the last note empty and the watch over", w.Notes, w.Watches, w.Open)
		}
	})
}

func TestContract242AtMost256AreAskedAndTheOldestFirst(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t)
		tried := make(chan netip.Addr, 20_000)
		w.standby("b", func(a netip.Addr) time.Duration {
			tried <- a
			return time.Millisecond
		})
		d := w.asker.Join(port, timeout)
		defer d.Close()
		var asks []guard.Ask
		for n := range 10_000 {
			asks = append(asks, fails(1, address(n)))
		}
		d.Set(asks)
		time.Sleep(time.Minute)
		if len(tried) != peers.MaxTargets {
			t.Errorf("got %d tries, want %d", len(tried), peers.MaxTargets)
		}
		for range peers.MaxTargets {
			if a := <-tried; !a.Less(address(peers.MaxTargets)) {
				t.Errorf("%s was tried, want those first that were asked about first", a)
			}
		}
		w.With(func() {
			for _, note := range w.Notes {
				if len(note) > 64<<10 {
					t.Errorf("a note has %d bytes, want 64 KiB at most", len(note))
				}
			}
		})
	})
}

// Who may write the Lease may ask for anything.
func TestContract243AnAddressOutsideIsNotTried(t *testing.T) {
	for name, note := range map[string]string{
		"outside":          `{"version":"1","targets":[{"endpoint":"10.1.0.1:80","number":1,"timeoutMilliseconds":1000}]}`,
		"another version":  `{"version":"2","targets":[{"endpoint":"10.0.0.1:80","number":1,"timeoutMilliseconds":1000}]}`,
		"no port":          `{"version":"1","targets":[{"endpoint":"10.0.0.1:0","number":1,"timeoutMilliseconds":1000}]}`,
		"no address":       `{"version":"1","targets":[{"endpoint":"example.com:80","number":1,"timeoutMilliseconds":1000}]}`,
		"too many":         `{"version":"1","targets":[` + strings.Repeat(`{"endpoint":"10.0.0.1:80","number":1},`, 300) + `{"endpoint":"10.0.0.1:80"}]}`,
		"too long":         `{"version":"1","targets":[{"endpoint":"10.0.0.1:80","number":1}]}` + strings.Repeat(" ", 64<<10),
		"no question":      `hello`,
		"another document": `[1]`,
	} {
		t.Run(name, func(t *testing.T) {
			bubble.Test(t, func(t *testing.T) {
				w := newWorld(t)
				w.standby("b", func(a netip.Addr) time.Duration {
					t.Errorf("%s was tried", a)
					return 0
				}).Hear(peerstest.Leader, note)
				time.Sleep(time.Minute)
			})
		})
	}
}

// A question says for how long to try; a negative or endless time is not believed.
func TestContract243ATimeoutOfAQuestionIsBounded(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		for _, milliseconds := range []string{"-1", "0", "9223372036854775807"} {
			longest, ended := time.Duration(0), make(chan struct{}, 2)
			a := peers.NewAnswerer(peers.AnswererOptions{
				Replica: "b", Identity: "b_1", Failed: func(error) {}, Allowed: func(netip.Addr) bool { return true },
				Reply: func(context.Context, string, string, func(string, string) bool) error { return nil },
				Dial: func(ctx context.Context, _ netip.AddrPort) error {
					deadline, _ := ctx.Deadline()
					longest = max(longest, time.Until(deadline))
					<-ctx.Done()
					ended <- struct{}{}
					return ctx.Err()
				},
			})
			ctx, stop := context.WithCancel(t.Context())
			done := make(chan struct{})
			go func() {
				defer close(done)
				a.Run(ctx)
			}()
			a.Hear("leader_1", `{"version":"1","targets":[{"endpoint":"10.0.0.1:80","number":1,"timeoutMilliseconds":`+milliseconds+`}]}`)
			<-ended
			<-ended
			stop()
			<-done
			if longest > 30*time.Second {
				t.Errorf("%s ms: tried for %s, want 30 s at most", milliseconds, longest)
			}
		}
	})
}

// Lines of another version, of another time and of nobody are no opinion, nor are numbers that were
// never asked.
func TestContract239WhatIsNoAnswerIsNoOpinion(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t)
		d := w.asker.Join(port, timeout)
		defer d.Close()
		d.Set([]guard.Ask{fails(1, address(1))})
		time.Sleep(time.Second)
		for _, line := range []string{
			`{"version":"2","leader":"leader_1","replica":"x","identity":"x_1","reached":[{"endpoint":"10.0.0.1:8080","number":1}]}`,
			`{"version":"1","leader":"leader_0","replica":"x","identity":"x_1","reached":[{"endpoint":"10.0.0.1:8080","number":1}]}`,
			`{"version":"1","leader":"leader_1","replica":"a","identity":"leader_1","reached":[{"endpoint":"10.0.0.1:8080","number":1}]}`,
			`{"version":"1","leader":"leader_1","replica":"x","identity":"x_1","reached":[{"endpoint":"10.0.0.1:8080","number":99}]}`,
			`{"version":"1","leader":"leader_1","replica":"x","identity":"x_1","reached":[{"endpoint":"10.0.0.1:8081","number":1}]}`,
			`{"version":"1","leader":"leader_1","replica":"x","identity":"x_1","reached":[{"endpoint":"10.0.0.2:8080","number":1}]}`,
			`{"version":"1","leader":"leader_1","identity":"x_1","reached":[{"endpoint":"10.0.0.1:8080","number":1}]}`,
			`what?`,
		} {
			if err := w.Reply(t.Context(), "x", line, func(string, string) bool { return true }); err != nil {
				t.Fatal(err)
			}
			if got := answers(d, time.Second); got != nil {
				t.Errorf("%s: got %+v, want nothing", line, got)
			}
		}
	})
}

func TestContract242AnAPIServerThatIsAwayIsAskedSeldom(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.Down = errors.New("away")
		w.standby("b", all)
		d := w.asker.Join(port, timeout)
		defer d.Close()
		d.Set([]guard.Ask{fails(1, address(1))})
		time.Sleep(10 * time.Minute)
		w.Lock()
		defer w.Unlock()
		if w.Writes > 15 || w.Watches > 610 {
			t.Errorf("got %d lines and %d watches in ten minutes", w.Writes, w.Watches)
		}
	})
}

func TestContract239ARealSocketIsReached(t *testing.T) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	lines := make(chan string, 10)
	a := peers.NewAnswerer(peers.AnswererOptions{
		Replica: "b", Identity: "b_1", Failed: func(error) {}, Allowed: func(netip.Addr) bool { return true },
		Reply: func(_ context.Context, _, text string, _ func(string, string) bool) error {
			lines <- text
			return nil
		},
	})
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.Run(ctx)
	}()
	defer func() { <-done }()
	defer stop()
	at := listener.Addr().String()
	a.Hear("leader_1", `{"version":"1","targets":[{"endpoint":"`+at+`","number":7,"timeoutMilliseconds":60000},{"endpoint":"127.0.0.1:1","number":8,"timeoutMilliseconds":1000}]}`)
	for text := range lines {
		line, ok := peers.ParseLine(text)
		switch {
		case !ok || line.Leader != "leader_1" || len(line.Reached) > 1:
			t.Fatalf("got the line %s", text)
		case len(line.Reached) == 1:
			if got := line.Reached[0]; got.Endpoint.String() != at || got.Number != 7 {
				t.Errorf("got %+v reached, want %s for question 7", got, at)
			}
			return
		}
	}
}

// TestContract239TheNameOfAReplicaIsFitToBeTold: it is in the reasons of endpoints.
func TestContract239TheNameOfAReplicaIsFitToBeTold(t *testing.T) {
	line, ok := peers.ParseLine(`{"version":"1","leader":"a_1","replica":"b\u001b[2J\n` + strings.Repeat("b", 60_000) + `"}`)
	if !ok || len(line.Replica) > 300 || strings.ContainsAny(line.Replica, "\x1b\n") {
		t.Errorf("got %v and a name of %d bytes: %.50q", ok, len(line.Replica), line.Replica)
	}
}

// A standby that ends takes its line away, so it counts no longer.
func TestAReplicaThatEndsHasNoLine(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t)
		w.standby("b", all)
		c, ctx := w.Standby("c", all), t.Context()
		ctx, stop := context.WithCancel(ctx)
		ended := make(chan struct{})
		go func() {
			defer close(ended)
			c.Run(ctx)
		}()
		time.Sleep(time.Second)
		if got := w.asker.State().Replicas; len(got) != 2 {
			t.Errorf("got %+v, want both the first time that somebody looks", got)
		}
		stop()
		<-ended
		time.Sleep(time.Minute)
		if got := w.asker.State().Replicas; len(got) != 1 || got[0].Name != "b" {
			t.Errorf("got %+v, want b alone", got)
		}
	})
}

// A standby that has not heard of a new leader keeps what others say to it.
func TestAStandbyKeepsTheLinesToTheHolderOfTheLease(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		written := make(chan func(text, holder string) bool, 2)
		a := peers.NewAnswerer(peers.AnswererOptions{
			Replica: "b", Identity: "b_1", Failed: func(error) {}, Allowed: func(netip.Addr) bool { return true },
			Reply: func(_ context.Context, _, _ string, keep func(string, string) bool) error {
				written <- keep
				return nil
			},
		})
		ctx, stop := context.WithCancel(t.Context())
		defer stop()
		go a.Run(ctx)
		a.Hear("old_1", "")
		keeps := <-written
		line := func(leader string) string {
			return `{"version":"1","leader":"` + leader + `","replica":"c","identity":"c_1"}`
		}
		for text, want := range map[string]bool{line("old_1"): true, line("new_1"): true, line("older_1"): false, "what?": false} {
			if got := keeps(text, "new_1"); got != want {
				t.Errorf("%s: kept %t, want %t", text, got, want)
			}
		}
	})
}

// Who looks at the page while the API server hangs delays no answer, however many they are,
// and lets it be asked once.
func TestContract242ManyWhoLookDelayNoAnswer(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		lease := peerstest.New()
		var reads atomic.Int32
		options := lease.Options()
		options.Read = func(ctx context.Context) (map[string]string, error) {
			reads.Add(1)
			<-ctx.Done()
			return nil, ctx.Err()
		}
		w := newWorldOf(t, lease, options)
		w.standby("b", all)
		d := w.asker.Join(port, timeout)
		defer d.Close()
		time.Sleep(time.Minute)
		var looking sync.WaitGroup
		began := time.Now()
		for range 1000 {
			looking.Go(func() { w.asker.State() })
		}
		synctest.Wait()
		d.Set([]guard.Ask{fails(1, address(1))})
		if got := answers(d, peers.AnswerWait); len(got) != 1 || got[0].Outcome != inventory.Elsewhere {
			t.Errorf("got %+v, want that b reaches it", got)
		}
		looking.Wait()
		if took := time.Since(began); took > time.Second || reads.Load() != 1 {
			t.Errorf("got %d reads, and an answer after %s, want one, within a second", reads.Load(), took)
		}
	})
}
