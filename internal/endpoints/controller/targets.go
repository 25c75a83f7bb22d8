package controller

import (
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings/naming"
)

// targets are which Services are filled from which groups.
type targets struct {
	server  *Server
	running map[assign.Key]*filler
	ended   sync.WaitGroup
	mu      sync.Mutex
	// leaving are the slices whose last target still has requests in flight.
	leaving map[string]bool
	// broken are the targets whose stores cannot be opened. No group waits for them.
	broken   map[assign.Key]error
	settling *settling
	lists    lists
}

// filler is one Service that is filler, or is about to be.
type filler struct {
	fills []fill
	// phases are how far hand-overs have come; only the loop of the server uses them.
	phases []writer.Phase
	dryRun bool
	target *writer.Filler
	stop   context.CancelFunc
	// seen is what the last event of each fill came to, nil before the first.
	seen []atomic.Pointer[FillState]

	loading sync.WaitGroup
	mu      sync.Mutex
	// loads is how many of its stores were not read yet, and unread why one of them could
	// not be.
	loads  int
	unread error
	// states are what the stores held at first.
	states []*publish.State
}

// fill is what one pool gives the Service. It is not changed once its target runs.
type fill struct {
	// verdict is the name of the group.
	verdict string
	of      publish.Target
	phase   writer.Phase
	store   Store
}

// prepare opens the stores of new targets and reads them, and ends targets that are no
// more, or are others now.
func (t *targets) prepare(ctx context.Context, p assign.Plan) {
	wanted := make(map[assign.Key]bool, len(p.Targets))
	for _, each := range p.Targets {
		wanted[each.Key] = true
		fills, dryRun := t.fills(each), each.DryRun || t.server.opts.DryRun
		before := t.running[each.Key]
		if before != nil && before.dryRun == dryRun && slices.EqualFunc(before.fills, fills, sameFill) {
			before.move(fills)
			continue
		}
		if before != nil {
			t.end(ctx, each.Key, before)
		}
		f, err := t.open(ctx, fills, dryRun)
		t.server.teller.target(each.Key, err)
		if t.broken[each.Key] = err; f != nil {
			f.know(before)
			t.running[each.Key] = f
			t.settling.expect(each.Key, fills)
		}
	}
	for _, key := range sortedKeys(t.running) {
		if !wanted[key] {
			t.end(ctx, key, t.running[key])
		}
	}
	maps.DeleteFunc(t.broken, func(key assign.Key, _ error) bool { return !wanted[key] })
}

// fills are what a target is made of.
func (t *targets) fills(each assign.Assignment) []fill {
	fills := make([]fill, 0, len(each.Uses))
	for _, u := range each.Uses {
		f := fill{verdict: name(u.Group), of: u.Target(each.Key)}
		f.of.ManagedBy, f.of.MaxEndpoints = t.server.opts.ManagedBy, t.server.opts.MaxEndpoints
		switch u.State {
		case assign.Draining:
			f.phase = writer.Draining
		case assign.Emptied:
			f.phase = writer.Emptied
		case assign.Active, assign.Leaving, assign.Kept:
		}
		fills = append(fills, f)
	}
	return fills
}

// sortedKeys are the keys of targets in their order, so that one seed of a simulation is one
// course of events.
func sortedKeys(running map[assign.Key]*filler) []assign.Key {
	return slices.SortedFunc(maps.Keys(running), assign.Key.Compare)
}

func sameFill(a, b fill) bool {
	x, y := a.of, b.of
	return a.verdict == b.verdict && x.SliceName == y.SliceName && x.Pool == y.Pool && x.PortFromService == y.PortFromService &&
		slices.Equal(x.Ports, y.Ports)
}

// open opens the stores of a target, and begins to read them. It returns nil where a
// target before it has not ended yet.
func (t *targets) open(ctx context.Context, fills []fill, dryRun bool) (*filler, error) {
	ctx, cancel := context.WithCancel(ctx)
	f := &filler{
		fills: fills, phases: phasesOf(fills), dryRun: dryRun, stop: cancel, seen: make([]atomic.Pointer[FillState], len(fills)),
		loads: len(fills), states: make([]*publish.State, len(fills)),
	}
	for i := range fills {
		if t.left(fills[i].of) {
			cancel()
			f.release()
			return nil, nil //nolint:nilnil // the next pass tries again
		}
		var err error
		if fills[i].store, err = t.server.opts.Hub.Open(fills[i].of); err != nil {
			cancel()
			f.release()
			return nil, err
		}
		if dryRun {
			t.server.once.record(&fills[i])
		}
	}
	for i := range fills {
		f.loading.Go(func() {
			for !t.load(ctx, f, i) && t.server.once == nil {
				select {
				case <-ctx.Done():
					return
				case <-time.After(reload):
				}
			}
		})
	}
	return f, nil
}

// names is how messages about slices name settings. They are about who asked for the slices,
// never about the check, which another document may say while this goes on.
func (f *filler) names(slice string) naming.Names { return f.fills[max(f.at(slice), 0)].of.Names }

// release closes the stores of a target that never ran.
func (f *filler) release() {
	for _, each := range f.fills {
		if each.store != nil {
			each.store.Release()
		}
	}
}

// run adds the targets whose stores were read.
func (t *targets) run() {
	loading := false
	for _, key := range sortedKeys(t.running) {
		f := t.running[key]
		known := f.known()
		if loading = loading || !known; !known {
			t.server.teller.target(key, f.unreadable())
		}
		if f.target != nil || !known || t.server.groups.lacks(key) {
			continue
		}
		tell := t.server.teller.ofTarget(key, f)
		options := writer.Options{DryRun: f.dryRun && t.server.once == nil, Observe: func(o writer.Outcome) {
			t.server.once.take(f, &o)
			tell(o)
			t.settling.take(key, f.dryRun, o)
		}}
		for i, each := range f.fills {
			options.Fills = append(options.Fills, writer.Fill{
				Pool: each.verdict, Store: t.server.opts.Fence(each.store), Target: each.of, State: f.states[i], Phase: f.phases[i],
			})
		}
		added, err := t.server.set.Add(options)
		t.server.teller.target(key, err)
		if err != nil {
			continue
		}
		f.target = added
		for _, each := range f.fills {
			each.store.Follow(added.Changed)
		}
	}
	if !loading {
		t.lists.forget()
	}
}

// end ends a target. Its slices stay as they are, and its stores are closed when no
// request is in flight any more.
func (t *targets) end(ctx context.Context, key assign.Key, f *filler) {
	f.stop()
	delete(t.running, key)
	t.settling.forget(key)
	t.mark(f, true)
	if f.target != nil {
		t.server.set.Remove(f.target)
	}
	t.ended.Go(func() {
		f.loading.Wait()
		if f.target != nil {
			select {
			case <-f.target.Gone():
			case <-ctx.Done():
				return
			}
		}
		f.release()
		t.mark(f, false)
		t.server.signal()
	})
}

// mark notes whether the slices of a target are being left.
func (t *targets) mark(f *filler, leaving bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, each := range f.fills {
		if key := each.of.Namespace + "/" + each.of.SliceName; leaving {
			t.leaving[key] = true
		} else {
			delete(t.leaving, key)
		}
	}
}

// left reports whether the target before it still has the slices.
func (t *targets) left(of publish.Target) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.leaving[of.Namespace+"/"+of.SliceName]
}

// wait waits for all that was started.
func (t *targets) wait() {
	for _, f := range t.running {
		f.loading.Wait()
	}
	t.ended.Wait()
}
