package syncer

import (
	"context"
	"net/netip"
	"sync"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/probe"
)

// Run keeps the slices right until ctx ends, and returns when everything it
// started has stopped. The members it starts from are those that the slices
// publish: a restart changes nothing (contract 28). It leaves the slices as they
// are.
func (s *Syncer) Run(ctx context.Context) error {
	s.beat.Store(int64(time.Since(s.start)))
	s.running.Store(true)
	defer s.running.Store(false)
	state, ok := s.recover(ctx)
	if !ok {
		return nil
	}
	prober, err := s.newProber()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()

	l := newLoop(ctx, s, state, prober)
	running.Go(func() { s.readLoop(ctx, l.reads) })
	running.Go(func() { s.storeLoop(ctx, l.jobs, l.reports) })
	running.Go(func() { prober.run(ctx) })
	l.watch()
	for {
		e, ok := l.wait(ctx)
		if !ok {
			return nil
		}
		s.beat.Store(int64(time.Since(s.start)))
		if l.absorb(e) {
			l.pass()
		}
	}
}

// recover loads the state the program starts from, for as long as it takes:
// without it nothing can be decided, because nothing may be forgotten.
func (s *Syncer) recover(ctx context.Context) (plan.State, bool) {
	failures := backoff{random: s.opts.Random}
	for {
		s.beat.Store(int64(time.Since(s.start)))
		state, err := s.opts.load(ctx)
		if err == nil {
			return state, true
		}
		if ctx.Err() != nil {
			return plan.State{}, false
		}
		s.opts.Logger.Error("cannot load the slices, trying again", "error", err)
		pause := time.NewTimer(failures.next(storeBackoffMax))
		select {
		case <-ctx.Done():
			pause.Stop()
			return plan.State{}, false
		case <-pause.C:
		}
	}
}

// loop is what Run remembers between two events. Only Run's goroutine touches
// it.
type loop struct {
	*Syncer
	prober  prober
	reads   chan reading
	jobs    chan job
	reports chan report

	state  plan.State
	memory guard.Memory
	health inventory.Health
	// verdict is the newest one, judged when it was made.
	verdict guard.Verdict
	judged  time.Time
	source  SourceStatus
	// barred are the recovered members that the filter refuses.
	barred map[netip.Addr]bool
	// parked is a read that waits for the first probes of recovered members;
	// fresh is the read that the next pass decides on.
	parked, fresh *guard.Read
	// patience is when a parked read, or a candidate that was never probed, no
	// longer keeps anything waiting.
	patience time.Time
	// boring are results that change no decision; they are folded in later.
	boring []inventory.Result
	pacer  pacer
	// busy says that the store has a job, stale that the state should be loaded
	// before the next write, and current that it just was: however often that
	// turns stale, a write from it may go out.
	busy, stale, current bool
	// wake is when time alone calls for a pass.
	wake time.Time
	// beatDue is when the next heartbeat is due, however busy the loop is: only
	// there what changes no decision is taken in.
	beatDue   time.Time
	narrator  narrator
	modeSince time.Time
	// written is how loading and writing goes, sent when the writes under way
	// were sent.
	written  StoreStatus
	sent     time.Time
	findings []Finding
	cycles   []Cycle
	counts   Counts
	// decided says that a first decision was made.
	decided bool
}

// newLoop starts from the members that the slices publish.
func newLoop(ctx context.Context, s *Syncer, state plan.State, p prober) *loop {
	l := &loop{
		Syncer: s, prober: p, state: state, health: inventory.Health{},
		reads: make(chan reading), jobs: make(chan job, 1), reports: make(chan report, 1),
		pacer:    pacer{failures: backoff{random: s.opts.Random}},
		beatDue:  time.Now().Add(heartbeat),
		narrator: newNarrator(ctx, s.opts, state.Service),
	}
	members := published(state)
	l.barred = barred(members, s.opts.Rules)
	l.judged = time.Now()
	l.memory = guard.Recover(members, l.judged)
	l.verdict = guard.Decide(guard.Input{Now: l.judged, Memory: l.memory}, s.opts.Policy)
	l.narrator.recovered(members, l.barred)
	return l
}

// barred returns the members that the filter refuses today.
func barred(members []inventory.Member, rules filter.Rules) map[netip.Addr]bool {
	refused := make(map[netip.Addr]bool)
	for _, m := range members {
		if reason, _ := rules.Check(m.Address); reason != "" {
			refused[m.Address] = true
		}
	}
	return refused
}

// published returns the members that the slices hold. An address that stands in
// two slices, as after a crash between the writes of a move, counts once, with
// the better state.
func published(state plan.State) []inventory.Member {
	members := make(map[netip.Addr]inventory.Member)
	for _, s := range state.Slices {
		for _, m := range s.Endpoints {
			if known, ok := members[m.Address]; !ok || m.State < known.State {
				members[m.Address] = m
			}
		}
	}
	all := make([]inventory.Member, 0, len(members))
	for _, m := range members {
		all = append(all, m)
	}
	return all
}

// event is one thing that happened; a heartbeat is the zero event.
type event struct {
	reading *reading
	results []inventory.Result
	report  *report
	// changed says that the store announced a change.
	changed bool
}

// wait returns the next event, or false when ctx has ended.
func (l *loop) wait(ctx context.Context) (event, bool) {
	pause := heartbeat
	for _, at := range []time.Time{l.beatDue, l.wake, l.patience} {
		if !at.IsZero() {
			pause = min(pause, max(time.Nanosecond, time.Until(at)))
		}
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		l.settle()
		return event{}, false
	case r := <-l.reads:
		return event{reading: &r}, true
	case <-l.prober.ready():
		return event{results: l.prober.loop.Take()}, true
	case r := <-l.reports:
		return event{report: &r}, true
	case <-changes(l.opts.Store):
		return event{changed: true}, true
	case <-timer.C:
		l.beatDue = time.Now().Add(heartbeat)
		return event{}, true
	}
}

// settle waits for the write under way, which is bounded by WriteTimeout, so
// that its outcome is logged.
func (l *loop) settle() {
	if !l.busy {
		return
	}
	timer := time.NewTimer(WriteTimeout)
	defer timer.Stop()
	select {
	case r := <-l.reports:
		l.narrator.written(r.written, applied(l.state, r.written))
	case <-timer.C:
	}
}

// prober is the part of probe.Loop that the syncer uses; with health checks off
// it does nothing.
type prober struct{ loop *probe.Loop }

// newProber makes the scheduler of the probes.
func (s *Syncer) newProber() (prober, error) {
	if s.opts.Policy.HealthOff {
		return prober{}, nil
	}
	loop, err := probe.NewLoop(probe.LoopOptions{
		Check:        s.opts.Prober.Check,
		Interval:     s.opts.Policy.Interval,
		FastInterval: s.opts.fastInterval(),
		Concurrency:  s.opts.Concurrency,
		Gather:       gather,
	})
	return prober{loop}, err
}

func (p prober) run(ctx context.Context) {
	if p.loop != nil {
		_ = p.loop.Run(ctx) // it only ends with ctx
	}
}

func (p prober) watch(targets []probe.Target) {
	if p.loop != nil {
		p.loop.Watch(targets)
	}
}

// ready says that there are results to take.
func (p prober) ready() <-chan struct{} {
	if p.loop == nil {
		return nil
	}
	return p.loop.Ready()
}

// overruns counts the rounds that could not finish within the interval.
func (p prober) overruns() uint64 {
	if p.loop == nil {
		return 0
	}
	return p.loop.Stats().Overruns
}
