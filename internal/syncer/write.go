package syncer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
)

// job is what the store's goroutine is asked to do: carry out the writes, which
// may be none, and load the state.
type job struct{ writes []plan.Write }

// report is what came of a job.
type report struct {
	written []WriteResult
	state   plan.State
	// err is why the state could not be loaded.
	err error
}

// WriteResult is what came of one write.
type WriteResult struct {
	Write plan.Write
	// Sent is when the request was made.
	Sent time.Time
	Err  error
}

// storeLoop does one job after the other. It is apart from the loop so that an
// API server that hangs delays nothing but writes.
func (s *Syncer) storeLoop(ctx context.Context, jobs <-chan job, reports chan<- report) {
	for {
		select {
		case <-ctx.Done():
			return
		case j := <-jobs:
			r := report{written: s.opts.writeAll(ctx, j.writes)}
			r.state, r.err = s.opts.load(ctx)
			reports <- r
		}
	}
}

// load reads the state within WriteTimeout.
func (o Options) load(ctx context.Context) (plan.State, error) {
	ctx, cancel := context.WithTimeout(ctx, WriteTimeout)
	defer cancel()
	return o.Store.Load(ctx)
}

// writeAll carries the writes out in order. A write whose predecessor failed is
// left out, and so are all after a conflict: they were decided from a state that
// is no more. When ctx ends, the write under way is still finished.
func (o Options) writeAll(ctx context.Context, writes []plan.Write) []WriteResult {
	var results []WriteResult
	var failed []string
	for _, w := range writes {
		if ctx.Err() != nil {
			break
		}
		if slices.ContainsFunc(w.After, func(name string) bool { return slices.Contains(failed, name) }) {
			failed = append(failed, w.Slice.Name)
			continue
		}
		sent := time.Now()
		err := o.write(ctx, w)
		results = append(results, WriteResult{Write: w, Sent: sent, Err: err})
		if errors.Is(err, plan.ErrConflict) {
			break
		}
		if err != nil {
			failed = append(failed, w.Slice.Name)
		}
	}
	return results
}

// write carries one write out within WriteTimeout, even if ctx ends meanwhile.
func (o Options) write(ctx context.Context, w plan.Write) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), WriteTimeout)
	defer cancel()
	if err := o.Store.Write(ctx, w); err != nil {
		return fmt.Errorf("%s slice %s: %w", w.Operation, w.Slice.Name, err)
	}
	return nil
}

// landed returns what came of the writes in the light of the state that was read
// after them: one whose answer was lost on the way is done.
func (r report) landed() []WriteResult {
	if r.err != nil {
		return r.written
	}
	results := slices.Clone(r.written)
	for i, result := range results {
		meant := result.Write.Slice
		there := func(s plan.Slice) bool {
			return s.Name == meant.Name && s.Owner == meant.Owner && s.Drift == meant.Drift &&
				slices.Equal(s.Ports, meant.Ports) && slices.Equal(s.Endpoints, meant.Endpoints)
		}
		if result.Err != nil && !errors.Is(result.Err, plan.ErrConflict) && slices.ContainsFunc(r.state.Slices, there) {
			results[i].Err = nil
		}
	}
	return results
}

// pacer says which writes may go out now: at most one a second for each slice,
// and a slice that somebody else keeps editing is repaired ever more rarely.
type pacer struct {
	slices map[string]*pace
	// failures delays all writes after a request that failed.
	failures backoff
	notUntil time.Time
	// conflicts counts them in a row: the first is decided again at once, but a
	// store that conflicts forever must not keep us busy.
	conflicts int
}

// pace is the history of one slice.
type pace struct {
	// last is when the last request was sent that may have changed the slice.
	last time.Time
	// sent is what was written last; a write of the same is a repair.
	sent    plan.Slice
	repairs int
}

// quiet is how long a slice has to be left alone before its edit war is
// forgotten.
const quiet = 10 * time.Minute

// due returns the writes that may go out at now, and when the next may, zero if
// none waits.
func (p *pacer) due(writes []plan.Write, now time.Time) (ready []plan.Write, next time.Time) {
	var waiting []string
	for _, w := range writes {
		at := p.earliest(w, now)
		blocked := slices.ContainsFunc(w.After, func(name string) bool { return slices.Contains(waiting, name) })
		if !at.After(now) && !blocked {
			w.Trigger = now
			ready = append(ready, w)
			continue
		}
		waiting = append(waiting, w.Slice.Name)
		if at.After(now) && (next.IsZero() || at.Before(next)) {
			next = at
		}
	}
	return ready, next
}

// earliest returns when the write may go out.
func (p *pacer) earliest(w plan.Write, now time.Time) time.Time {
	at := p.notUntil
	history, ok := p.slices[w.Slice.Name]
	if !ok {
		return at
	}
	pause := WriteInterval
	if history.isRepair(w) && now.Sub(history.last) < quiet {
		pause = min(WriteInterval<<min(history.repairs, 20), backoffMax)
	}
	if free := history.last.Add(pause); free.After(at) {
		at = free
	}
	return at
}

// isRepair reports whether the write only restores what was written before.
func (p *pace) isRepair(w plan.Write) bool {
	return slices.Equal(p.sent.Endpoints, w.Slice.Endpoints) &&
		slices.Equal(p.sent.Ports, w.Slice.Ports) && p.sent.Owner == w.Slice.Owner
}

// note remembers what came of writes.
func (p *pacer) note(results []WriteResult, now time.Time) {
	if p.slices == nil {
		p.slices = make(map[string]*pace)
	}
	for _, r := range results {
		if errors.Is(r.Err, plan.ErrConflict) {
			p.conflicts++
		}
		if r.Err != nil && p.conflicts != 1 {
			p.notUntil = now.Add(p.failures.next(storeBackoffMax))
		}
		if errors.Is(r.Err, plan.ErrConflict) {
			continue
		}
		history, ok := p.slices[r.Write.Slice.Name]
		if !ok {
			history = &pace{}
			p.slices[r.Write.Slice.Name] = history
		}
		repair := ok && history.isRepair(r.Write) && now.Sub(history.last) < quiet
		// Where only the answer was lost, the slice was written all the same.
		history.last = r.Sent
		if r.Err != nil {
			continue
		}
		p.failures.reset()
		p.conflicts = 0
		history.repairs++
		if !repair {
			history.repairs = 0
		}
		history.sent = r.Write.Slice
	}
}

// applied returns the state as it is once the writes that succeeded are in it.
func applied(state plan.State, results []WriteResult) plan.State {
	state.Slices = slices.Clone(state.Slices)
	for _, r := range results {
		if r.Err != nil {
			continue
		}
		i := slices.IndexFunc(state.Slices, func(s plan.Slice) bool { return s.Name == r.Write.Slice.Name })
		if i < 0 {
			state.Slices = append(state.Slices, r.Write.Slice)
			continue
		}
		state.Slices[i] = r.Write.Slice
	}
	return state
}
