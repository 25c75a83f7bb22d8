package serve

import (
	"cmp"
	"context"
	"errors"
	"reflect"
	"slices"
	"sync"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/narration"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/outbox"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/resolve"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/retryafter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/target"
)

const (
	// Tries is how often a single run decides on the slices of a target when one changes
	// before it is written, or the answer to a write is lost.
	Tries = 3
	// writers is how many targets are written at the same time.
	writers = 8
	// recoverPause is how long a target waits for an API server that is not available, where
	// that names no time.
	recoverPause = time.Second
)

// filled returns the targets of a plan with what their slices are.
func (l *look) filled(ctx context.Context, p resolve.Plan) []*AssessedTarget {
	all := make([]*AssessedTarget, 0, len(p.Targets))
	for _, each := range p.Targets {
		t := &AssessedTarget{Target: each}
		fills := l.targets.fills(each)
		for _, f := range fills { // before one is read: it then knows the slices of the others
			l.open(f.of)
		}
		for i, f := range fills {
			filled := &AssessedFill{Use: each.Uses[i], Target: f.of}
			filled.State, filled.StoreErr = l.load(ctx, f.of)
			t.Fills = append(t.Fills, filled)
		}
		all = append(all, t)
	}
	return all
}

// load reads the slices of a target, once: what was decided without them is not written. It
// waits for no namespace that could not be read.
func (l *look) load(ctx context.Context, of plan.Target) (plan.State, error) {
	for _, sight := range l.sights {
		if sight.Namespace == of.Namespace && !sight.Complete {
			return plan.State{}, sight.Err
		}
	}
	o := l.stores[of.Namespace+"/"+of.SliceName]
	if o.err == nil && !o.read {
		o.state, o.err = target.Load(ctx, o.Store)
		o.read = true
	}
	return o.state, o.err
}

// opened is a store, the target that it was opened for, and what it held, once it was read.
type opened struct {
	Store

	of    plan.Target
	read  bool
	state plan.State
	err   error
}

// open opens the store of a target, whose settings may have changed.
func (l *look) open(of plan.Target) {
	key := of.Namespace + "/" + of.SliceName
	before := l.stores[key]
	switch {
	case before != nil && (before.err != nil || reflect.DeepEqual(before.of, of)):
		return
	case before != nil:
		before.Release()
	}
	now := &opened{of: of}
	now.Store, now.err = l.opts.Hub.Open(of)
	l.stores[key] = now
}

// plan computes what each target should publish.
func (l *look) plan() {
	for _, t := range l.Targets {
		offers := make([]target.Offer, len(t.Fills))
		for i, f := range t.Fills {
			offers[i] = target.Offer{Verdict: l.verdict(f), Slices: f.State.Slices}
		}
		for i, f := range t.Fills {
			members, decided := target.Choose(offers, i)
			switch {
			case f.StoreErr != nil:
			case !decided:
				f.Undecided = l.why(f.Use.Group)
			default:
				f.members = members
				f.plan()
			}
		}
	}
}

// verdict returns what was decided for a fill, nil where nothing was.
func (l *look) verdict(f *AssessedFill) *guard.Verdict {
	if f.Use.State == resolve.Emptied {
		return &guard.Verdict{}
	}
	if g := l.Groups[f.Use.Group]; g != nil && g.Decided {
		return g.Verdict
	}
	return nil
}

// why says why nothing was decided on a group.
func (l *look) why(g resolve.Group) error {
	if decided := l.Groups[g]; decided != nil && decided.Err != nil {
		return decided.Err
	}
	return errors.New("its endpoints were not checked")
}

// writeAll writes what differs, a few targets at a time.
func (l *look) writeAll(ctx context.Context) {
	queue := make(chan *AssessedTarget)
	all := l.inTurn()
	tick := time.NewTicker(time.Second / rate)
	defer tick.Stop()
	var running sync.WaitGroup
	defer running.Wait()
	defer close(queue)
	done := 0
	for range writers {
		running.Go(func() {
			for t := range queue {
				l.write(ctx, t, tick.C)
				l.mu.Lock()
				done++
				l.tell("writing the slices", done, len(all))
				l.mu.Unlock()
			}
		})
	}
	l.tell("writing the slices", 0, len(all))
	for _, t := range all {
		queue <- t
	}
}

// inTurn returns the targets that are to be written: those that lose endpoints first,
// and of each kind one of each namespace in turn.
func (l *look) inTurn() []*AssessedTarget {
	type place struct {
		rank  int
		space string
	}
	type turn struct {
		place
		number int
		target *AssessedTarget
	}
	count := make(map[place]int)
	var turns []turn
	for _, t := range l.Targets {
		at := place{1, t.Namespace}
		differs := false
		for _, f := range t.Fills {
			differs = differs || len(f.Writes) > 0
			if slices.ContainsFunc(f.Writes, mayLose) {
				at.rank = 0
			}
		}
		if differs && !t.DryRun && !l.opts.DryRun {
			count[at]++
			turns = append(turns, turn{at, count[at], t})
		}
	}
	slices.SortStableFunc(turns, func(a, b turn) int { return cmp.Or(cmp.Compare(a.rank, b.rank), cmp.Compare(a.number, b.number)) })
	all := make([]*AssessedTarget, len(turns))
	for i, t := range turns {
		all[i] = t.target
	}
	return all
}

// mayLose reports whether a write may take an endpoint away from traffic.
func mayLose(w plan.Write) bool { return len(w.Removed)+len(w.Changed) > 0 }

// write writes one target: what is emptied last, and only if the rest was written.
func (l *look) write(ctx context.Context, t *AssessedTarget, tick <-chan time.Time) {
	emptied := func(f *AssessedFill) bool { return f.Use.State == resolve.Emptied }
	for _, last := range []bool{false, true} {
		for _, f := range t.Fills {
			if emptied(f) != last || len(f.Writes) == 0 || f.StoreErr != nil {
				continue
			}
			if last && slices.ContainsFunc(t.Fills, func(other *AssessedFill) bool { return !emptied(other) && other.StoreErr != nil }) {
				f.StoreErr = errors.New("the slices are emptied when those of the other pools are written")
				continue
			}
			l.writeFill(ctx, t.Key, f, tick)
		}
	}
}

// writeFill writes the slices of one pool in one Service. After a conflict, or a write
// without an answer, it reads and plans again.
func (l *look) writeFill(ctx context.Context, key resolve.Key, f *AssessedFill, tick <-chan time.Time) {
	store := paced{l.opts.Fence(l.stores[f.Target.Namespace+"/"+f.Target.SliceName]), tick}
	for try := 1; ; try++ {
		now := time.Now()
		for i := range f.Writes {
			f.Writes[i].Trigger = now
		}
		results, err := target.WriteAll(ctx, store, f.Writes)
		f.Results = append(f.Results, results...)
		l.wrote(key, f, results)
		f.StoreErr = err
		if err == nil || outbox.Answered(err) && !errors.Is(err, plan.ErrConflict) || try == Tries || !rest(ctx, err) {
			return
		}
		state, err := target.Load(ctx, store)
		if err != nil {
			f.StoreErr = err
			return
		}
		f.State = state
		f.plan()
	}
}

// wrote logs and announces writes.
func (l *look) wrote(key resolve.Key, f *AssessedFill, results []outbox.Result) {
	state := f.State
	for _, r := range results {
		if r.Err == nil {
			state.Slices = outbox.Landed(state.Slices, r)
		}
	}
	story := narration.Written(results, state)
	for i := range story.Notices {
		story.Notices[i].Service = state.Service.UID
	}
	say(l.teller.log.With(keyArgs(key)...), f.Target.Names, story)
	for _, notice := range story.Notices {
		notice.Note = f.Target.Names.Of(notice.Note)
		l.opts.Announce(key, notice)
	}
}

// rest waits as long as the API server asks for, and reports whether to go on.
func rest(ctx context.Context, err error) bool {
	if !errors.Is(err, plan.ErrUnavailable) {
		return ctx.Err() == nil
	}
	timer := time.NewTimer(max(recoverPause, retryafter.Of(err)))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// paced is a store whose writes wait for their turn, unless they take something away:
// a dead endpoint waits for nothing.
type paced struct {
	target.Store
	tick <-chan time.Time
}

// Write implements target.Store.
func (p paced) Write(ctx context.Context, w plan.Write) (version string, err error) {
	if !mayLose(w) {
		select {
		case <-ctx.Done():
		case <-p.tick:
		}
	}
	return p.Store.Write(ctx, w)
}
