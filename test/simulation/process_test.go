//go:build simulation

package simulation_test

import (
	"context"
	"maps"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controllertest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/peers"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/peers/peerstest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube/lease"
)

// process is one life of the daemon, and what the world saw of it. The world's
// lock guards it.
type process struct {
	w      *world
	number int
	syncer *controllertest.Engine
	stop   context.CancelFunc
	done   chan error
	begun  time.Time
	// dead processes were killed: none of their writes reaches the store.
	dead    bool
	replica *replica // nil without leader election
	// over says that the replica lost its Lease, or that it was told to stop.
	over func() error
	// lease and asker are what it asks another replica with, nil without one.
	lease *peerstest.Lease
	asker *peers.Asker

	// jitter is what the daemon draws, odd what its requests do, see linger.
	jitter, odd *rand.Rand
	// losses are when it lost a held connection, under the lock of held. alarmed is of
	// the addresses whose connection it lost when they began to refuse how many it held.
	losses  []time.Time
	alarmed map[netip.Addr]int

	sourceChanged, storeChanged chan struct{}
	reading, checking           int
	askedFor                    time.Time // no read before, by Retry-After
	reads                       []delivery
	firstRead                   time.Time
	// missedAt is when a read missed the address, takenAt when that had to be accepted.
	missedAt, takenAt, movedAt map[netip.Addr]time.Time
	// missing are the runs of inventories that miss an address; established are the
	// addresses that no rejected inventory brought.
	missing     map[netip.Addr]*absence
	established map[netip.Addr]bool
	// excusedAt is when nothing else passed, or so many were silent, that a ready
	// endpoint that fails might stay so.
	excusedAt map[netip.Addr]time.Time
	// informed is when the newest write of a slice was sent. It is zero if the write
	// was sent before the process could see all changes of other clients.
	informed map[string]time.Time
	// lookedAt is when it was last seen to be so.
	lookedAt map[netip.Addr]time.Time
	// passAt is when the newest pass came, drainsAt when it was published draining.
	passAt, drainsAt map[netip.Addr]time.Time
	// silentSince is since when all results are silence, troubleSince since when all
	// are local errors.
	silentSince, troubleSince map[netip.Addr]time.Time
	troubledAt                time.Time
	// toldGone is when an Event named an endpoint that rejected inventories take
	// away, toldMany when one had not room for all of them.
	toldGone map[netip.Addr]time.Time
	toldMany time.Time
	// dryAt is since when nothing of the family is ready, bareAt since when nothing
	// is ready or draining.
	dryAt, bareAt map[bool]time.Time
	holders       map[netip.Addr]string
	// listedSince is the read since which all list the address, at the same node or
	// as an endpoint; sentAtPass is when the newest check that passed was sent.
	listedSince, sentAtPass map[netip.Addr]time.Time
	// listedAt is the newest read that lists the address.
	listedAt map[netip.Addr]time.Time
	// staysSince is the read since which all list the address as staying.
	staysSince map[netip.Addr]time.Time
	// failedRead says that the newest read failed, endedRead when it ended.
	failedRead bool
	endedRead  time.Time
	told       []guard.Mode // by notices and by lines of the log
	openAt     time.Time    // when it last left FailOpen

	// fails counts in a row, fresh only failures that ADR 6 does not forgive;
	// countedAt is when the last that counted was sent.
	fails, fresh      map[netip.Addr]int
	fellAt, countedAt map[netip.Addr]time.Time
	passedAt          map[bool]time.Time // by being IPv4: the newest pass of any endpoint

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
	refused map[string]string
	// traffic is what it sent, by slice; awayAt is when the newest answer came that
	// the server cannot be reached, unavailable until when it asked to be left alone.
	traffic     map[string]*traffic
	awayAt      time.Time
	unavailable time.Time
	// decidedReady is since when something of the family was decided to be ready,
	// deadAt when the refusal came that takes an endpoint down.
	decidedReady map[bool]time.Time
	// lossAt is when a write went out after which nothing of the family was ready.
	lossAt map[bool]time.Time
	deadAt map[netip.Addr]time.Time
	// emptied says, by family, that the newest writes left nothing ready.
	emptied  map[bool]bool
	loadedAt time.Time
}

// delivery is one complete read that was handed over.
type delivery struct {
	at      time.Time
	stays   map[netip.Addr]bool
	listed  map[netip.Addr]bool
	leaving map[netip.Addr]bool
	// given are the addresses that it gives to another node than before.
	given map[netip.Addr]bool
	// By family: a read that must be rejected sets suspectAll or suspect, one that
	// must be accepted sets certain, and one that may be a replacement sets replaced;
	// see judge.
	suspectAll, suspect, certain, replaced map[bool]bool
}

// prepare makes a process, with a replica's election before its store if there is
// one. The caller has the lock.
func (w *world) prepare(r *replica, elector *lease.Elector) (*process, error) {
	w.started++
	p := &process{
		w: w, number: w.started, begun: time.Now(), done: make(chan error, 1),
		jitter: w.dice("jitter", w.started), odd: w.dice("odd", w.started), alarmed: map[netip.Addr]int{},
		sourceChanged: make(chan struct{}, 1), storeChanged: make(chan struct{}, 1),
		missing: map[netip.Addr]*absence{}, established: map[netip.Addr]bool{}, passAt: map[netip.Addr]time.Time{}, drainsAt: map[netip.Addr]time.Time{},
		silentSince: map[netip.Addr]time.Time{}, dryAt: map[bool]time.Time{}, bareAt: map[bool]time.Time{},
		missedAt: map[netip.Addr]time.Time{}, takenAt: map[netip.Addr]time.Time{}, movedAt: map[netip.Addr]time.Time{}, holders: map[netip.Addr]string{}, listedSince: map[netip.Addr]time.Time{}, sentAtPass: map[netip.Addr]time.Time{}, told: make([]guard.Mode, 2),
		fails: map[netip.Addr]int{}, fresh: map[netip.Addr]int{}, fellAt: map[netip.Addr]time.Time{}, countedAt: map[netip.Addr]time.Time{}, passedAt: map[bool]time.Time{},
		slices: map[string]map[netip.Addr]inventory.State{}, readyAt: map[netip.Addr]time.Time{},
		traffic: map[string]*traffic{}, decidedReady: map[bool]time.Time{}, lossAt: map[bool]time.Time{}, deadAt: map[netip.Addr]time.Time{}, staysSince: map[netip.Addr]time.Time{},
		troubleSince: map[netip.Addr]time.Time{}, toldGone: map[netip.Addr]time.Time{}, informed: map[string]time.Time{}, excusedAt: map[netip.Addr]time.Time{}, lookedAt: map[netip.Addr]time.Time{}, listedAt: map[netip.Addr]time.Time{}, refused: map[string]string{}, emptied: map[bool]bool{},
	}
	w.meet(p)
	options := w.options(p)
	if elector != nil {
		p.replica, options.Store = r, fenced{options.Store, elector}
	}
	var err error
	p.syncer, err = controllertest.New(options)
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
	go func() { p.done <- p.run(ctx) }()
	w.standBy(p)
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
	w.standNoMore()
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

// ending reports whether the process was asked to stop, or lost its Lease.
func (p *process) ending() bool {
	return p.dead || p.replica != nil && (p.replica.stopped || p.over() != nil)
}

func (p *process) endRead(err error) {
	p.reading--
	p.failedRead, p.endedRead = err != nil, time.Now()
}

// checkRetry is contract 3: a source without a cost is read again without back-off.
func (p *process) checkRetry() {
	const soon = 1500 * time.Millisecond
	if p.w.set.free && !p.ending() && p.failedRead && p.reading == 0 && time.Since(p.endedRead) > soon && time.Since(p.askedFor) > soon {
		p.w.breach(3, "a read that costs nothing failed %s ago and was not tried again", time.Since(p.endedRead))
	}
}

// deliver notes a complete answer of the source.
func (p *process) deliver(nodes []inventory.Node, kind string) {
	d := delivery{
		at: time.Now(), stays: map[netip.Addr]bool{}, listed: map[netip.Addr]bool{},
		leaving: map[netip.Addr]bool{}, given: map[netip.Addr]bool{},
		suspectAll: map[bool]bool{}, suspect: map[bool]bool{}, certain: map[bool]bool{}, replaced: map[bool]bool{},
	}
	for _, n := range nodes {
		for _, a := range n.Addresses {
			have, ok := p.holders[a]
			if allowed(a) && ok && have != n.Name {
				p.movedAt[a], d.given[a] = d.at, true
			}
			if _, published := p.w.truth()[a]; published && !ok && !fit(n) {
				p.holders[a] = n.Name // the first to have an address that was recovered
			}
			if !fit(n) || !allowed(a) {
				continue
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
		p.judge(&d, is4, kind)
		p.noteReplaced(&d, is4)
		p.noteEstablished(d, is4)
	}
	for a := range p.w.truth() {
		if !d.stays[a] {
			p.missedAt[a] = d.at
		}
	}
	for a, at := range p.listedAt {
		if len(p.reads) > 0 && !at.Before(p.reads[0].at) && !d.stays[a] {
			p.missedAt[a] = d.at
		}
	}
	for a := range d.listed {
		p.listedAt[a] = d.at
	}
	for a := range d.stays {
		if _, ok := p.staysSince[a]; !ok && d.stays[a] {
			p.staysSince[a] = d.at
		}
	}
	maps.DeleteFunc(p.staysSince, func(a netip.Addr, _ time.Time) bool { return !d.stays[a] })
	if p.firstRead.IsZero() {
		p.firstRead = d.at
	}
	remembered := time.Duration(p.w.set.policy.Threshold+1)*p.w.set.poll*11/10 + time.Minute
	for p.reads = append(p.reads, d); time.Since(p.reads[0].at) > remembered; {
		p.reads = p.reads[1:]
	}
	p.noteMissing(d)
	p.forgetTroubles(d)
	p.noteTaken(d.at)
	p.w.note("read %d nodes, %d staying addresses%s", len(nodes), len(d.stays), map[bool]string{true: ", " + kind}[kind != ""])
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

// endCheck counts results in a row, as contract 10 does: in the order in which the
// checks were sent, so one that ends after a later one has counted says nothing.
func (p *process) endCheck(a netip.Addr, outcome inventory.Outcome, sent time.Time) {
	p.checking--
	p.noteTrouble(a, outcome, sent)
	if outcome != inventory.LocalError && sent.Before(p.countedAt[a]) {
		return
	}
	if outcome != inventory.LocalError && outcome != inventory.Silent {
		delete(p.silentSince, a)
	} else if _, ok := p.silentSince[a]; !ok && outcome == inventory.Silent {
		p.silentSince[a] = time.Now()
	}
	switch outcome {
	case inventory.LocalError, inventory.Elsewhere:
		return
	case inventory.Pass:
		p.countedAt[a] = sent
		p.fails[a], p.fresh[a] = 0, 0
		p.passAt[a] = time.Now()
		delete(p.deadAt, a)
		p.passedAt[a.Is4()], p.sentAtPass[a] = time.Now(), sent
		return
	case inventory.Refused, inventory.Silent:
		p.countedAt[a] = sent
		p.fails[a]++
		p.fresh[a]++
	}
	cutOff := outcome == inventory.Silent && p.told[byNotice] == guard.Hold // such silence is forgiven, contract 14
	if cutOff || p.told[byNotice] == guard.FailOpen || p.passedAt[a.Is4()].IsZero() {
		p.fresh[a] = 0
		delete(p.deadAt, a)
	}
	if _, ok := p.deadAt[a]; !ok && p.fresh[a] >= p.w.set.policy.Fall && outcome == inventory.Refused {
		p.deadAt[a] = time.Now()
	}
	if p.fails[a] >= p.w.set.policy.Fall {
		p.fellAt[a] = time.Now()
	}
}

// published is the state in which the process published an address, and in which it
// stood there until now: the process promises nothing about what another program
// wrote.
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

// fenced is a store that is written while the lease is held, as the program makes it.
type fenced struct {
	controllertest.Store
	elector *lease.Elector
}

func (f fenced) Write(ctx context.Context, write publish.Write) (version string, err error) {
	err = f.elector.Fence(ctx, func(ctx context.Context) error {
		version, err = f.Store.Write(ctx, write)
		return err
	})
	return version, err
}
