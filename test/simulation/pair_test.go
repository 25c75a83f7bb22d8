//go:build simulation

package simulation_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/netip"
	"sync"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/peers"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/peers/peerstest"
)

// network is what one of two replicas reaches.
type network struct {
	// lost says which addresses it does not reach; nil where it reaches all.
	lost  func(netip.Addr) bool
	since time.Time // when that changed
}

func (n network) reaches(a netip.Addr) bool { return n.lost == nil || !n.lost(a) }

// pair are the leader and the replica that stands by for it, each with its network. The Lease
// between them is that of peerstest, anew for each process that leads.
type pair struct {
	leader, standby network
	// leave ends the standby, nil while none runs; since is when it began, and again when it may
	// begin anew.
	leave        context.CancelFunc
	since, again time.Time
	// running are the standbys that have not ended: one takes its line away first.
	running sync.WaitGroup
	// way is the fault of what the standby hears and writes.
	way        fault
	handedOver time.Time
}

// The kinds of fault of the standby's way to the Lease.
const (
	answersFail = "what the standby writes is refused"
	answersSlow = "the standby hears and writes late"
)

// drawPair makes some worlds a pair.
func (w *world) drawPair() {
	w.set.pair = w.set.scene == sceneBlind ||
		w.dice("pair", 0).IntN(3) > 0 && !w.set.election && !w.set.forced && !w.set.policy.HealthOff && w.set.scene == ""
	if w.set.pair {
		w.pair = &pair{}
	}
}

// meet gives a process that leads a Lease. The caller has the lock.
func (w *world) meet(p *process) {
	if w.pair == nil {
		return
	}
	p.lease = peerstest.New()
	p.lease.HandedOver = w.pair.handedOver
	p.asker = peers.New(p.lease.Options())
	if r := w.next("leader"); w.started > 1 && r.IntN(3) == 0 {
		w.swap("the other replica is first after a restart")
	}
}

// swap lets the other replica lead. The caller has the lock.
func (w *world) swap(why string) {
	w.note("%s", why)
	p := w.pair
	p.leader, p.standby = p.standby, p.leader
	p.leader.since, p.standby.since = time.Now(), time.Now()
	w.roughen("probes", time.Now())
}

// run runs the process, and what asks other replicas beside it.
func (p *process) run(ctx context.Context) error {
	if p.asker == nil {
		return p.syncer.Run(ctx)
	}
	var beside sync.WaitGroup
	defer beside.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	beside.Go(func() { p.asker.Run(ctx) })
	beside.Go(func() { p.lease.Run(ctx) })
	return p.syncer.Run(ctx)
}

// standBy lets a replica stand by for the process. The caller has the lock.
func (w *world) standBy(p *process) {
	if w.pair == nil || time.Now().Before(w.pair.again) {
		return
	}
	w.note("a replica stands by for process %d", p.number)
	answerer := p.lease.Standby("standby", w.connectsElsewhere)
	var ctx context.Context
	ctx, w.pair.leave = context.WithCancel(context.Background())
	w.pair.since = time.Now()
	w.pair.running.Go(func() { answerer.Run(ctx) })
}

// standNoMore ends the replica that stands by. The caller has the lock.
func (w *world) standNoMore() {
	if w.pair != nil && w.pair.leave != nil {
		w.pair.leave()
		w.pair.leave = nil
	}
}

// connectsElsewhere returns after how long the standby connects to an address, 0 for never.
func (w *world) connectsElsewhere(a netip.Addr) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !allowed(a) {
		w.breach(243, "the standby connects to %s", a)
	}
	w.counts["asked"]++
	b, ok := w.backends[a]
	if !ok || b.is == refuses || b.is == silent || !w.pair.standby.reaches(a) {
		return 0
	}
	return odd(w.next("standby " + a.String()))
}

// blind reports whether the leader does not reach the address, whatever listens there.
func (w *world) blind(a netip.Addr) bool { return w.pair != nil && !w.pair.leader.reaches(a) }

// mendPair ends what is over, and does what the leader wants. The caller has the lock.
func (w *world) mendPair() {
	if w.pair == nil || w.daemon == nil {
		return
	}
	p, successor := w.daemon, ""
	p.lease.With(func() {
		p.lease.Down, p.lease.Slow = nil, 0
		switch {
		case w.pair.way.in(answersFail):
			p.lease.Down = errors.New("refused")
		case w.pair.way.in(answersSlow):
			p.lease.Slow = 2 * time.Second
		}
		successor = p.lease.Successor
	})
	if successor != "" {
		w.handOver(p)
	} else if w.pair.leave == nil {
		w.standBy(p)
	}
}

// handOver is contract 241, and does what the leader wants.
func (w *world) handOver(p *process) {
	const moment = 5 * time.Second
	pair := w.pair
	w.counts["handed over"]++
	if !pair.handedOver.IsZero() && time.Since(pair.handedOver) < 10*time.Minute {
		w.breach(241, "the Lease moves %s after it moved", time.Since(pair.handedOver))
	}
	steady := w.smooth(moment, "probes") && time.Since(pair.standby.since) > moment
	blind := w.probing.in()
	for _, a := range sorted(w.backends) {
		b := w.backends[a]
		blind = blind || w.blind(a) || b.is == troubles
		if steady && w.passedFor(a, moment) && w.truth()[a] == inventory.StateReady && w.stays(a) && !p.moved(a) && !pair.standby.reaches(a) {
			w.breach(241, "the Lease moves to a replica that does not reach %s, which the leader reaches", a)
		}
	}
	if steady && !blind {
		w.breach(241, "the Lease moves, though the leader reaches all")
	}
	pair.handedOver = time.Now()
	w.halt(&w.daemon, false)
	pair.again = time.Now().Add(pick(w.next("successor"), time.Second, 20*time.Second))
	w.rough["daemon until"] = time.Now()
	w.swap("the Lease moves")
}

// checkLease is contract 241 the other way: the Lease moves within a minute, and a moment for the
// comparison, if the standby reaches all that there is.
func (w *world) checkLease(p *process) {
	const bound = 90 * time.Second
	if w.pair == nil || !w.answersFor(bound) || !w.smooth(bound, "probes", "daemon", "service", "store", "slices") || w.pair.standby.lost != nil || !w.pair.handedOver.IsZero() && time.Since(w.pair.handedOver) < 10*time.Minute+bound {
		return
	}
	for _, a := range sorted(w.truth()) {
		if w.blind(a) && w.worksFor(a, bound) && w.truth()[a] == inventory.StateReady && w.stays(a) && p.listedFor(a, bound) {
			w.breach(241, "the Lease stays for %s where %s is not reached, and the standby reaches all", time.Since(w.pair.leader.since), a)
		}
	}
}

// answersFor reports whether the standby could answer for that long, with the same network.
func (w *world) answersFor(d time.Duration) bool {
	p := w.pair
	return p.leave != nil && time.Since(p.since) >= d && time.Since(p.standby.since) >= d && w.smooth(d, "answers")
}

// worksFor reports whether what listens at an address has accepted connections for that long.
func (w *world) worksFor(a netip.Addr, d time.Duration) bool {
	b, ok := w.backends[a]
	return ok && (b.is == passes || b.is == slow) && time.Since(b.since) >= d
}

// checkHeld is contract 239: silence takes no endpoint down that a replica reaches.
func (p *process) checkHeld(a netip.Addr, slice string) {
	// What a write brings was decided at most slack before.
	const answering, working = 2*slack + time.Second, 15 * time.Second
	w := p.w
	if w.pair == nil || !w.blind(a) || !w.answersFor(answering) || !w.worksFor(a, working) || !w.pair.standby.reaches(a) || p.moved(a) || p.openOfLate() {
		return
	}
	// What refused before it was cut off is down by its refusals.
	refused := !p.passAt[a].After(w.backends[a].since) && p.begun.Before(w.backends[a].since)
	if refused || !w.smooth(working, "store", "slices", "service", "pace", "slice "+slice) {
		return
	}
	w.breach(239, "%s is down by silence, and the replica that stands by reaches it: %s", a, p.why(a))
}

// countsElsewhere reports whether the silence of an address counts because the standby reaches all
// others that are published, contract 239. What has been down for long is nobody's evidence.
func (w *world) countsElsewhere(a netip.Addr, d time.Duration) bool {
	if w.pair == nil || !w.blind(a) || !w.answersFor(d) {
		return false
	}
	others := 0
	for other, state := range w.truth() {
		switch b := w.backends[other]; {
		case other == a:
		case b == nil, time.Since(b.since) < d, !w.stays(other), w.daemon.moved(other):
			return false
		case state == inventory.StateDown && (b.is == refuses || b.is == silent):
		case state != inventory.StateReady, !w.worksFor(other, d), !w.pair.standby.reaches(other):
			return false
		case other.Is4() == a.Is4():
			others++
		}
	}
	if others > 0 {
		w.counts["judged elsewhere"]++
	}
	return others > 0
}

// strikePair changes what the two replicas reach, and disturbs the standby.
func (w *world) strikePair() {
	if w.pair == nil {
		return
	}
	r := w.next("strike of the pair")
	p := w.pair
	switch k := r.IntN(30); {
	case k < 4:
		w.rewire(&p.leader, "leader", w.cutting(r))
	case k < 5:
		w.rewire(&p.leader, "leader", nil)
	case k < 8:
		w.rewire(&p.standby, "standby", w.cutting(r))
	case k < 10:
		w.rewire(&p.standby, "standby", nil)
	case k < 11 && p.leave != nil:
		w.note("the standby is gone")
		w.daemon.lease.Gone("standby")
		w.standNoMore()
		p.again = time.Now().Add(pick(r, time.Millisecond, time.Second, 20*time.Second))
	case k < 12:
		p.way = w.begin(r, "answers", time.Minute, answersFail, answersSlow)
	}
}

// cutting draws which addresses a replica loses.
func (w *world) cutting(r *rand.Rand) func(netip.Addr) bool {
	last := func(a netip.Addr) byte { return a.As16()[15] }
	one := byte(1 + r.IntN(30))
	if len(w.nodes) > 0 {
		one = last(w.nodes[r.IntN(len(w.nodes))].Addresses[0])
	}
	return pick(r,
		func(a netip.Addr) bool { return last(a) == one },
		func(a netip.Addr) bool { return last(a)%2 == one%2 },
		func(a netip.Addr) bool { return last(a) < 16 },
		func(a netip.Addr) bool { return a.Is4() },
		func(a netip.Addr) bool { return a.Is6() },
		func(netip.Addr) bool { return true },
	)
}

// blindLeader takes most of what there is away from the leader, which does not give the Lease away.
func (w *world) blindLeader() {
	w.pair.handedOver = time.Now()
	w.daemon.lease.With(func() { w.daemon.lease.HandedOver = time.Now() })
	r := w.next("blind")
	w.rewire(&w.pair.leader, "leader", pick(r, func(a netip.Addr) bool { return a.As16()[15]%4 > 0 }, func(netip.Addr) bool { return true }))
}

// rewire changes what a replica reaches.
func (w *world) rewire(n *network, who string, lost func(netip.Addr) bool) {
	n.lost, n.since = lost, time.Now()
	var all []netip.Addr
	for _, a := range sorted(w.backends) {
		if !n.reaches(a) {
			all = append(all, a)
		}
	}
	w.note("the %s does not reach %v", who, all)
	w.counts["rewired "+who]++
	if n == &w.pair.leader {
		w.roughen("probes", time.Now())
		w.cut(nil, func(l *line) bool { return n.reaches(l.address) && w.backends[l.address].is == refuses })
	}
}

// calmPair ends all that is wrong with the two.
func (w *world) calmPair() {
	if w.pair == nil {
		return
	}
	w.pair.way, w.pair.again = fault{}, time.Time{}
	w.rewire(&w.pair.leader, "leader", nil)
	w.rewire(&w.pair.standby, "standby", nil)
}
