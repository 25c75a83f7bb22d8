//go:build simulation

package simulation_test

import (
	"context"
	"maps"
	"net/netip"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/election"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/syncer"
)

// process is one life of the daemon, and what the world saw of it. The world's
// lock guards it.
type process struct {
	w      *world
	number int
	syncer *syncer.Syncer
	stop   context.CancelFunc
	done   chan error
	begun  time.Time
	// dead processes were killed: nothing of theirs reaches the store any more.
	dead    bool
	replica *replica // nil without leader election

	sourceChanged, storeChanged chan struct{}
	reading, checking           int
	askedFor                    time.Time // no read before, by Retry-After
	reads                       []delivery
	// missedAt is when a read missed the address, takenAt when it had to be believed.
	missedAt, takenAt, movedAt map[netip.Addr]time.Time
	holders                    map[netip.Addr]string
	// listedSince is the read since which all list the address, at the same node
	// or as a member; sentAtPass is when the newest check that passed was sent.
	listedSince, sentAtPass map[netip.Addr]time.Time
	told                    []guard.Mode // by notices and by lines of the log
	openAt                  time.Time    // when it last left FailOpen

	// fails counts in a row, fresh only those that ADR 6 does not forgive.
	fails, fresh map[netip.Addr]int
	fellAt       map[netip.Addr]time.Time
	passedAt     map[bool]time.Time // by being IPv4: the newest pass of anybody

	recovered bool
	// found is what stood there when it started, slices what it published since.
	found  map[netip.Addr]inventory.State
	slices map[string]map[netip.Addr]inventory.State
	// writing is how many of its writes are under way, landedAt when the last
	// arrived, and sawAt when it last saw the slices as they were.
	writing         int
	landedAt, sawAt time.Time
	// otherAt is when another process last wrote.
	otherAt time.Time
	// readyAt is when the last write that landed and had the address ready was
	// decided.
	readyAt map[netip.Addr]time.Time
	sentAt  map[string]time.Time
	refused map[string]string
	// emptied says, by family, that the newest writes left nothing ready.
	emptied  map[bool]bool
	loadedAt time.Time
}

// delivery is one complete read that was handed over.
type delivery struct {
	at     time.Time
	stays  map[netip.Addr]bool
	listed map[netip.Addr]bool
	// suspect says, by family, that it had to be suspected.
	suspect map[bool]bool
	leaving map[netip.Addr]bool
}

// prepare makes a process, with a replica's election before its store if there is
// one. The caller has the lock.
func (w *world) prepare(r *replica, elector *election.Elector) (*process, error) {
	w.started++
	p := &process{
		w: w, number: w.started, begun: time.Now(), done: make(chan error, 1),
		sourceChanged: make(chan struct{}, 1), storeChanged: make(chan struct{}, 1),
		missedAt: map[netip.Addr]time.Time{}, takenAt: map[netip.Addr]time.Time{}, movedAt: map[netip.Addr]time.Time{}, holders: map[netip.Addr]string{}, listedSince: map[netip.Addr]time.Time{}, sentAtPass: map[netip.Addr]time.Time{}, told: make([]guard.Mode, 2),
		fails: map[netip.Addr]int{}, fresh: map[netip.Addr]int{}, fellAt: map[netip.Addr]time.Time{}, passedAt: map[bool]time.Time{},
		slices: map[string]map[netip.Addr]inventory.State{}, readyAt: map[netip.Addr]time.Time{},
		sentAt: map[string]time.Time{}, refused: map[string]string{}, emptied: map[bool]bool{},
	}
	options := w.options(p)
	if elector != nil {
		p.replica, options.Store = r, elector.Fence(options.Store)
	}
	var err error
	p.syncer, err = syncer.New(options)
	return p, err
}

// launch starts a daemon from whatever the store holds. The caller has the lock.
func (w *world) launch() (*process, error) {
	p, err := w.prepare(nil, nil)
	if err != nil {
		return nil, err
	}
	var ctx context.Context
	ctx, p.stop = context.WithCancel(context.Background())
	w.note("process %d starts", p.number)
	w.roughen("daemon", time.Now())
	go func() { p.done <- p.syncer.Run(ctx) }()
	return p, nil
}

// halt tells the process to stop: at once, or after the write under way. The
// caller has the lock.
func (w *world) halt(which **process, kill bool) *process {
	p := *which
	if p == nil || p.replica != nil {
		return nil
	}
	w.note("process %d is told to stop, killed %t", p.number, kill)
	*which, p.dead = nil, kill
	p.stop()
	return p
}

// signal tells the daemon that the inventory changed.
func (w *world) signal() {
	for _, p := range []*process{w.daemon, w.second} {
		if p != nil {
			leave(p.sourceChanged)
		}
	}
}

// tell tells the daemon that the slices or the Service changed.
func (w *world) tell() {
	for _, p := range []*process{w.daemon, w.second} {
		if p != nil {
			leave(p.storeChanged)
		}
	}
}

func leave(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// beginRead checks contract 3.
func (p *process) beginRead() {
	if p.reading++; p.reading > 1 {
		p.w.breach(3, "%d reads in flight", p.reading)
	}
	if time.Now().Before(p.askedFor) {
		p.w.breach(3, "a read %s before the time that Retry-After asked for", time.Until(p.askedFor))
	}
}

func (p *process) endRead() { p.reading-- }

// deliver notes a complete answer of the source.
func (p *process) deliver(nodes []inventory.Node, kind string) {
	d := delivery{
		at: time.Now(), stays: map[netip.Addr]bool{}, listed: map[netip.Addr]bool{},
		suspect: map[bool]bool{}, leaving: map[netip.Addr]bool{},
	}
	for _, n := range nodes {
		for _, a := range n.Addresses {
			if !fit(n) || !allowed(a) {
				continue
			}
			have, ok := p.holders[a]
			if ok && have != n.Name {
				p.movedAt[a] = d.at
			}
			if _, listed := p.listedSince[a]; !listed || have != n.Name && kind != readsTwins {
				p.listedSince[a] = d.at
			}
			p.holders[a], d.listed[a] = n.Name, true
			d.stays[a] = d.stays[a] || !n.Leaving
			d.leaving[a] = !d.stays[a]
		}
	}
	maps.DeleteFunc(p.listedSince, func(a netip.Addr, _ time.Time) bool { return !d.listed[a] })
	for _, is4 := range []bool{true, false} {
		d.suspect[is4] = p.suspicious(d, is4)
	}
	for a := range p.w.truth() {
		if !d.stays[a] {
			p.missedAt[a] = d.at
		}
	}
	for _, earlier := range p.reads {
		for a := range earlier.listed {
			if !d.stays[a] {
				p.missedAt[a] = d.at
			}
		}
	}
	const most = 40
	if p.reads = append(p.reads, d); len(p.reads) > most {
		p.reads = p.reads[1:]
	}
	p.noteTaken(d.at)
	p.w.note("read %d nodes, %d staying addresses%s", len(nodes), len(d.stays), map[bool]string{true: ", " + kind}[kind != ""])
}

// suspicious reports whether a read has to be suspected by the plainest reading
// of contract 13 and ADR 4, which counts with what still drains; where slices and
// decisions may be apart, only when nothing stays at all. A member that fails may
// fall between the read and the decision on it, and then counts no more: the read
// has to be suspect with those that fail and without them.
func (p *process) suspicious(d delivery, is4 bool) bool {
	served, taken, stays := 0, 0, 0
	failing, failingTaken := 0, 0
	published := p.w.truth()
	for a := range p.holders {
		if _, ok := published[a]; !ok && a.Is4() == is4 && p.listedBefore(a) {
			served++ // it may have become ready, and its write is on its way
		}
	}
	for a, state := range published {
		if a.Is4() == is4 && state != inventory.StateDown && !p.w.injected(a) {
			served++
			if !d.stays[a] {
				taken++
			}
			if b := p.w.backends[a]; !p.w.set.policy.HealthOff && (b == nil || b.is != passes) {
				failing++
				if !d.stays[a] {
					failingTaken++
				}
			}
		}
	}
	for a, ok := range d.stays {
		if ok && a.Is4() == is4 {
			stays++
		}
	}
	if served > 0 && stays == 0 {
		return true
	}
	settled := p.w.smooth(20*time.Second, "store", "slices", "service", "sight") && p.writing == 0 && time.Since(p.landedAt) > 5*time.Second
	tooMany := func(taken, served int) bool { return taken*100 > max(100, p.w.set.policy.MaxRemovalPercent*served) }
	return settled && tooMany(taken, served) && tooMany(taken-failingTaken, served-failing)
}

// listedBefore reports whether one of the newest reads lists the address.
func (p *process) listedBefore(a netip.Addr) bool {
	for _, d := range p.reads[max(0, len(p.reads)-5):] {
		if d.stays[a] {
			return true
		}
	}
	return false
}

// beginCheck checks what contract 6 and 33 say of probing.
func (p *process) beginCheck(a netip.Addr) {
	p.checking++
	if p.checking > p.w.set.concurrency {
		p.w.breach(33, "%d checks in flight", p.checking)
	}
	if !allowed(a) {
		p.w.breach(6, "%s is probed", a)
	}
}

// endCheck counts results in a row, as contract 10 does.
func (p *process) endCheck(a netip.Addr, outcome inventory.Outcome, sent time.Time) {
	p.checking--
	switch outcome {
	case inventory.LocalError:
		return
	case inventory.Pass:
		p.fails[a], p.fresh[a] = 0, 0
		p.passedAt[a.Is4()], p.sentAtPass[a] = time.Now(), sent
		return
	case inventory.Refused, inventory.Silent:
		p.fails[a]++
		p.fresh[a]++
	}
	if p.told[byNotice] == guard.FailOpen || p.passedAt[a.Is4()].IsZero() {
		p.fresh[a] = 0
	}
	if p.fails[a] >= p.w.set.policy.Fall {
		p.fellAt[a] = time.Now()
	}
}

// published is the state in which the process published an address, and in which
// it stood there until now: what another hand put there is nobody's promise.
func (p *process) published(a netip.Addr, stood inventory.State) inventory.State {
	state := inventory.Absent
	for _, endpoints := range p.slices {
		if have, ok := endpoints[a]; ok && (state == inventory.Absent || have < state) {
			state = have
		}
	}
	if state == inventory.Absent {
		return state
	}
	return max(state, stood)
}
