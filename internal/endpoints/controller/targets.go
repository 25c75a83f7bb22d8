package controller

import (
	"context"
	"iter"
	"log/slog"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings/naming"
)

// targets are which Services are filled from which groups.
type targets struct {
	server  *Server
	running map[assign.Key]*filler
	// leaving are the targets that ended and may still have requests in flight.
	leaving []*filler
	// broken are the targets whose stores cannot be opened.
	broken   map[assign.Key]error
	settling *settlement
	lists    lists
}

// filler is one Service that is filled, or is about to be.
type filler struct {
	fills []fill
	// phases are how far hand-overs have come; only the loop of the server uses them.
	phases []writer.Phase
	dryRun bool
	target *writer.Filler
	stop   context.CancelFunc
	// seen is what the last event of each fill came to, nil before the first.
	seen []atomic.Pointer[FillState]

	// gone is closed when it has ended and nothing of it is in flight any more.
	gone    chan struct{}
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
	group assign.Group
	of    publish.Target
	store Store
}

// prepare opens the stores of new targets and reads them, and ends targets that are no
// more, or are others now.
func (t *targets) prepare(ctx context.Context, p assign.Plan) {
	t.leaving = slices.DeleteFunc(t.leaving, func(f *filler) bool {
		select {
		case <-f.gone:
			return true
		default:
			return false
		}
	})
	wanted := make(map[assign.Key]bool, len(p.Targets))
	for _, each := range p.Targets {
		wanted[each.Key] = true
		fills, phases := t.fills(each)
		dryRun := each.DryRun || t.server.opts.DryRun
		before := t.running[each.Key]
		if before != nil && before.dryRun == dryRun && slices.EqualFunc(before.fills, fills, sameFill) {
			before.move(phases)
			continue
		}
		if before != nil {
			t.end(ctx, each.Key, before)
		}
		f, err := t.open(ctx, fills, phases, dryRun)
		t.server.teller.target(each.Key, err)
		if t.broken[each.Key] = err; f != nil {
			t.running[each.Key] = f
			t.settling.expect(each.Key, fills, phases)
		}
	}
	for _, key := range sortedKeys(t.running) {
		if !wanted[key] {
			t.end(ctx, key, t.running[key])
		}
	}
	maps.DeleteFunc(t.broken, func(key assign.Key, _ error) bool { return !wanted[key] })
}

// fills are what a target is made of, and how far hand-overs have come.
func (t *targets) fills(each assign.Assignment) (fills []fill, phases []writer.Phase) {
	for _, u := range each.Uses {
		f := fill{group: u.Group, of: u.Target(each.Key)}
		f.of.ManagedBy, f.of.MaxEndpoints = t.server.opts.ManagedBy, t.server.opts.MaxEndpoints
		phase := writer.Serving
		switch u.State {
		case assign.Draining:
			phase = writer.Draining
		case assign.Emptied:
			phase = writer.Emptied
		case assign.Active, assign.Leaving, assign.Kept:
		}
		fills, phases = append(fills, f), append(phases, phase)
	}
	return fills, phases
}

// sortedKeys are the keys of targets in their order, so that one seed of a simulation is one
// course of events.
func sortedKeys(running map[assign.Key]*filler) []assign.Key {
	return slices.SortedFunc(maps.Keys(running), assign.Key.Compare)
}

func sameFill(a, b fill) bool {
	x, y := a.of, b.of
	return a.group == b.group && x.SliceName == y.SliceName && x.Pool == y.Pool && x.PortFromService == y.PortFromService &&
		slices.Equal(x.Ports, y.Ports)
}

// open opens the stores of a target, and begins to read them. It returns nil where a
// target before it has not ended yet.
func (t *targets) open(ctx context.Context, fills []fill, phases []writer.Phase, dryRun bool) (*filler, error) {
	ctx, cancel := context.WithCancel(ctx)
	f := &filler{
		fills: fills, phases: phases, dryRun: dryRun, stop: cancel, seen: make([]atomic.Pointer[FillState], len(fills)),
		gone: make(chan struct{}), loads: len(fills), states: make([]*publish.State, len(fills)),
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
		f.loading.Add(1)
		t.server.parts.Go(func() {
			defer f.loading.Done()
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
		known, unread := f.known(), f.unreadable()
		if loading = loading || !known && unread == nil; !known { // one that cannot be read may never be
			t.server.teller.target(key, unread)
		}
		if f.target != nil || !known || t.server.groups.lacks(key, f) {
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
				Pool: name(each.group), Store: t.server.opts.Fence(each.store), Target: each.of, State: f.states[i], Phase: f.phases[i],
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
	t.leaving = append(t.leaving, f)
	if f.target != nil {
		t.server.set.Remove(f.target)
	}
	t.server.parts.Go(func() {
		f.loading.Wait()
		if f.target != nil {
			select {
			case <-f.target.Gone():
			case <-ctx.Done():
				return
			}
		}
		f.release()
		close(f.gone)
		t.server.signal()
	})
}

// left reports whether a target before it still has the slices.
func (t *targets) left(of publish.Target) bool {
	return slices.ContainsFunc(t.leaving, func(f *filler) bool {
		return slices.ContainsFunc(f.fills, func(each fill) bool { return each.of.Namespace == of.Namespace && each.of.SliceName == of.SliceName })
	})
}

// move takes over how far a hand-over is, which changes nothing of what runs.
func (f *filler) move(phases []writer.Phase) {
	if !slices.Equal(f.phases, phases) && f.target != nil {
		f.target.Move(phases)
	}
	f.phases = phases
}

// at returns which of the fills has slices of that first name, -1 if none has.
func (f *filler) at(slice string) int {
	return slices.IndexFunc(f.fills, func(each fill) bool { return each.of.SliceName == slice })
}

// stored returns what slices of that first name publish as ready in the API server, as far
// as clients of the Service can use it, and false where they were not read.
func (t *targets) stored(key assign.Key, slice string) (iter.Seq[netip.Addr], bool) {
	state, problem := t.state(key, slice)
	if state == nil || problem.Kind != "" {
		return nil, state != nil
	}
	return readyIn(state), true
}

// drains reports whether slices of that first name publish endpoints and have all of them as draining.
func (t *targets) drains(key assign.Key, slice string) bool {
	state, _ := t.state(key, slice)
	if state == nil {
		return false
	}
	all := publish.Published(*state)
	return len(all) > 0 && !slices.ContainsFunc(all, func(m inventory.Member) bool { return m.State != inventory.StateDraining })
}

// state returns what slices of that first name are known to be, nil where they were not read,
// and why the Service cannot be filled.
func (t *targets) state(key assign.Key, slice string) (*publish.State, publish.Problem) {
	f := t.running[key]
	if f == nil {
		return nil, publish.Problem{}
	}
	i := f.at(slice)
	if i < 0 {
		return nil, publish.Problem{}
	}
	if seen := f.seen[i].Load(); seen != nil {
		return &seen.State, seen.Problem
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.states[i], publish.Problem{}
}

// readyIn returns the ready endpoints in slices that the Service of today owns, and that have one of
// its ports.
func readyIn(state *publish.State) iter.Seq[netip.Addr] {
	return func(yield func(netip.Addr) bool) {
		for _, s := range state.Slices {
			if s.Owner != state.Service.UID || !s.HasPortOf(state.Service) {
				continue
			}
			for _, m := range s.Endpoints {
				if m.State == inventory.StateReady && !yield(m.Address) {
					return
				}
			}
		}
	}
}

// settlement tells when all Services are filled, which is when the endpoints of their
// pools were checked and their slices are as decided: after a start, and after Services
// came. While nothing works in a pool, it waits for that.
type settlement struct {
	log *slog.Logger

	mu sync.Mutex
	// open are the slices that were not as decided yet, by the name of the first.
	open     map[slot]bool
	services map[assign.Key]bool
	// since is when the first of the open ones came.
	since time.Time
}

// slot is what one pool gives a Service.
type slot struct {
	assign.Key
	slice string
}

func newSettlement(log *slog.Logger) *settlement {
	return &settlement{log: log, open: make(map[slot]bool), services: make(map[assign.Key]bool)}
}

// expect waits for a Service.
func (s *settlement) expect(key assign.Key, fills []fill, phases []writer.Phase) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.open) == 0 {
		s.since = time.Now()
	}
	s.services[key] = true
	for i, each := range fills {
		if phases[i] != writer.Emptied {
			s.open[slot{key, each.of.SliceName}] = true
		}
	}
}

// forget waits for a Service no longer.
func (s *settlement) forget(key assign.Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.services, key)
	if len(s.open) > 0 {
		maps.DeleteFunc(s.open, func(of slot, _ bool) bool { return of.Key == key })
		s.tell()
	}
}

// take takes in an outcome. In a dry run it is enough that the slices were planned.
func (s *settlement) take(key assign.Key, dryRun bool, o writer.Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if is := (slot{key, o.SliceName}); s.open[is] && o.Checked && (o.Pending == 0 || dryRun) {
		delete(s.open, is)
		s.tell()
	}
}

// tell tells if what was closed was the last that was open.
func (s *settlement) tell() {
	if len(s.open) == 0 && len(s.services) > 0 {
		s.log.Info("the slices of all Services are as decided", "services", len(s.services), "after", time.Since(s.since).Round(time.Millisecond).String())
	}
}
