//go:build simulation

package pool_test

import (
	"context"
	"net/netip"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/peers"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/peers/peerstest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// blindProber is a prober that reaches all, and then nothing.
type blindProber struct{ blind atomic.Bool }

func (c *blindProber) Check(ctx context.Context, addr netip.Addr) inventory.Result {
	r := inventory.Result{Address: addr, At: time.Now(), Outcome: inventory.Pass, Reason: inventory.Ready}
	if c.blind.Load() {
		passes(ctx, time.Second)
		r.Outcome, r.Reason, r.NoConnection, r.Latency = inventory.Silent, inventory.ProbeTimeout, true, time.Since(r.At)
	}
	return r
}

// cost is what ten thousand endpoints need that go silent at once: the most that is alive at a
// time, in bytes above what was alive before, and all that is allocated.
type cost struct{ alive, allocated int64 }

// silentAtOnce measures it, with or without a standby that reaches all.
func silentAtOnce(t *testing.T, standby bool) (c cost) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t)
		for i := range 10_000 {
			w.nodes = append(w.nodes, inventory.Node{Name: "w", Addresses: []netip.Addr{address(i)}, Ready: true, Worker: true})
		}
		var prober blindProber
		var newest atomic.Pointer[guard.Verdict]
		r := &replicas{world: w, lease: peerstest.New(), leave: make(map[string]context.CancelFunc)}
		w.opts.Prober, w.opts.Publish, w.opts.GroupOptions.Observe = &prober, func(v *guard.Verdict) { newest.Store(v) }, nil
		if standby {
			w.opts.Asker, w.opts.Port, w.opts.Policy.AnswerWait = peers.New(r.lease.Options()), 8080, peers.AnswerWait
			r.beside(r.lease.Run)
			r.beside(w.opts.Asker.Run)
			r.standby("b")
		}
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		w.opts.run(ctx, t, &running)
		during(time.Minute)
		if n := len(newest.Load().Members); n != 10_000 {
			t.Fatalf("got %d members, want 10,000", n)
		}
		before := memory()
		prober.blind.Store(true)
		for range 8 {
			during(5 * time.Second)
			c.alive = max(c.alive, memory().alive-before.alive)
		}
		c.allocated = memory().allocated - before.allocated
		r.lease.With(func() {
			t.Logf("standby %t: %d notes, %d lines: %+v, %d elsewhere", standby, len(r.lease.Notes), r.lease.Writes, c, newest.Load().Elsewhere)
		})
		stop()
		running.Wait()
	})
	return c
}

func memory() cost {
	var m runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&m)
	return cost{alive: int64(m.HeapAlloc), allocated: int64(m.TotalAlloc)}
}

// Without the race detector, which takes memory of its own, and some ten seconds.
// Ten thousand endpoints that the leader loses at once, and a standby that reaches all of them.
func TestContract242ManySilentEndpointsCostLittleMore(t *testing.T) {
	alone, two := silentAtOnce(t, false), silentAtOnce(t, true)
	t.Logf("%+v %+v", alone, two)
	if more := two.alive - alone.alive; more > 5<<20 {
		t.Errorf("got %d KiB more alive with a standby, want 5 MiB at most", more>>10)
	}
}
