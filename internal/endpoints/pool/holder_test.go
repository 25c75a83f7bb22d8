package pool_test

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// backends are the other ends of the connections that a pool holds.
type backends struct {
	mu   sync.Mutex
	ends map[netip.Addr]net.Conn
}

func (p *backends) dial(_ context.Context, target netip.AddrPort) (net.Conn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	here, there := net.Pipe()
	p.ends[target.Addr()] = there
	return here, nil
}

// close closes the connection to a node.
func (p *backends) close(octet int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	_ = p.ends[address(octet)].Close()
}

// holding runs a test in a pool that holds a connection to each of six healthy
// nodes.
func holding(t *testing.T, test func(w *world, p *backends)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		p := &backends{ends: map[netip.Addr]net.Conn{}}
		w := newWorld(t, 1, 2, 3, 4, 5, 6)
		w.opts.HoldPort, w.opts.connections = 80, health.ConnectionsOptions{MaxConnections: 10, Dial: p.dial}
		w.start()
		during(10 * time.Second)
		w.want("1=ready 2=ready 3=ready 4=ready 5=ready 6=ready")
		if got := w.held(); got.Held != 6 || got.Wanted != 6 {
			t.Fatalf("got %+v, want six held", got)
		}
		test(w, p)
		w.stop()
	})
}

// held is what the newest outcome says of held connections.
func (w *world) held() pool.HoldCounts {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.outcomes[len(w.outcomes)-1].Held
}

// crash kills nodes as a process dies: its connections close.
func (w *world) crash(p *backends, octets ...int) {
	for _, o := range octets {
		w.set(func() { w.dead[address(o)] = true })
		p.close(o)
	}
}

func TestACrashIsDownAfterFallChecksAFastIntervalApart(t *testing.T) {
	holding(t, func(w *world, p *backends) {
		time.Sleep(100 * time.Millisecond)
		w.crash(p, 2)
		if took := w.until("2=down"); took > 480*time.Millisecond {
			t.Errorf("down after %s, want 10 ms of gathering and three checks 200 ms apart", took)
		}
		during(2 * time.Second)
		if got := w.held(); got.Alarms[health.Closed] != 1 || got.Confirmed != 1 {
			t.Errorf("got %+v, want one alarm, confirmed", got)
		}
		last := w.outcomes[len(w.outcomes)-1].Health.Of(address(2)).Last
		if want := "the held connection was closed by the peer 10ms before the first failed check"; !strings.Contains(last.Message, want) {
			t.Errorf("got message %q, want %q in it", last.Message, want)
		}
		if got := w.held().Wanted; got != 5 {
			t.Errorf("got %d connections wanted, want 5: what is down is not held", got)
		}
	})
}

func TestHalfOfTheNodesThatCrashAtOnceMakeOneVerdict(t *testing.T) {
	holding(t, func(w *world, p *backends) {
		w.crash(p, 1, 3)
		time.Sleep(30 * time.Millisecond)
		w.crash(p, 5)
		w.until("5=down")
		w.want("1=down 2=ready 3=down 4=ready 5=down 6=ready")
		if got := w.states[len(w.states)-2:]; got[0] != "1=ready 2=ready 3=ready 4=ready 5=ready 6=ready" {
			t.Errorf("got %q one after the other, want all three down at once", got)
		}
	})
}

func TestADeathWithoutAnAlarmIsPublishedWithTheCheckThatProvesIt(t *testing.T) {
	holding(t, func(w *world, _ *backends) {
		w.set(func() { w.dead[address(2)] = true }) // its connection stays
		w.until("2=down")
		last := w.outcomes[len(w.outcomes)-1].Health.Of(address(2)).Last
		if took := time.Since(last.At); took >= 40*time.Millisecond {
			t.Errorf("published %s after the check began that proves it, want no wait for others: no connection was lost", took)
		}
	})
}

func TestAnAlarmIsNoEvidence(t *testing.T) {
	holding(t, func(w *world, p *backends) {
		before := w.checked[address(2)]
		p.close(2) // and it works
		during(500 * time.Millisecond)
		w.want("1=ready 2=ready 3=ready 4=ready 5=ready 6=ready")
		if got := w.checked[address(2)] - before; got < 1 || got > 2 {
			t.Errorf("got %d checks, want one at once and at most a regular one", got)
		}
		if got := w.held(); got.Confirmed != 0 {
			t.Errorf("got %+v, want nothing confirmed", got)
		}
		// Two failures and a pass are no death either.
		w.crash(p, 3)
		during(300 * time.Millisecond)
		w.set(func() { delete(w.dead, address(3)) })
		during(2 * time.Second)
		w.want("1=ready 2=ready 3=ready 4=ready 5=ready 6=ready")
	})
}

func TestAFlushOfAllConnectionsMakesNoCheck(t *testing.T) {
	holding(t, func(w *world, p *backends) {
		before := w.checks()
		for o := 1; o <= 6; o++ {
			p.close(o)
		}
		during(2 * time.Second)
		if got := w.checks() - before; got != 6 {
			t.Errorf("got %d checks in an interval, want the six regular ones", got)
		}
		if got := w.held(); got.Ignored != 6 {
			t.Errorf("got %+v, want six alarms ignored", got)
		}
	})
}

func (w *world) checks() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := 0
	for _, n := range w.checked {
		all += n
	}
	return all
}

func TestWithoutHealthChecksNothingIsHeld(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		w.opts.Policy.HealthOff, w.opts.Prober = true, nil
		w.opts.HoldPort = 80
		w.start()
		during(10 * time.Second)
		w.want("1=ready")
		if got := w.held(); got.Wanted != 0 {
			t.Errorf("got %+v, want nothing held", got)
		}
		w.stop()
	})
}

func TestADeathWaitsForOthersOfTheSameMomentAndNoLonger(t *testing.T) {
	before := decided(states{1: ready, 2: ready, 3: ready})
	known := func(netip.Addr) bool { return false }
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	p := pool.NewPublisher(200*time.Millisecond, before)
	p.Asking = true
	one := decided(states{1: down, 2: ready, 3: ready})
	if got := p.Offer(one, known, now); got != nil {
		t.Fatal("got the verdict at once, want it to wait for the others")
	}
	if got, want := p.Deadline(), now.Add(50*time.Millisecond); !got.Equal(want) {
		t.Errorf("got a deadline of %s, want %s", got, want)
	}
	two := decided(states{1: down, 2: down, 3: ready})
	if got := p.Offer(two, known, now.Add(30*time.Millisecond)); got != nil {
		t.Error("got the second verdict before the time, want it to wait")
	}
	if got := p.Offer(two, known, now.Add(50*time.Millisecond)); got != two {
		t.Error("got nothing after 50 ms, want the newest verdict")
	}
	p = pool.NewPublisher(200*time.Millisecond, before)
	p.Asking = true
	p.Offer(one, known, now)
	p.Asking = false
	if got := p.Offer(two, known, now.Add(time.Millisecond)); got != two {
		t.Error("got nothing when nothing more is asked, want the verdict at once")
	}
}
