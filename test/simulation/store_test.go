//go:build simulation

package simulation_test

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
)

// The kinds of a store's fault.
const (
	writesFail     = "writes fail"
	writesHang     = "writes hang"
	writesLost     = "answers to writes are lost"
	writesSlow     = "writes are slow"
	writesConflict = "writes conflict"
	loadsFail      = "loads fail"
	loadsSlow      = "loads are slow"
	loadsStale     = "loads are stale"
)

const touched = "example.com/touched"

var errAway = errors.New("the API server is away")

// shelf is the store as one process sees it.
type shelf struct{ *process }

// fate is what becomes of one write: how long it takes until it lands, if it
// does, and until the answer comes, if it does.
type fate struct {
	before, after time.Duration
	lands, lost   bool
	touch         bool
}

// Changed signals what another hand changed.
func (s shelf) Changed() <-chan struct{} { return s.storeChanged }

// Write carries a write out as the fault in force has it.
func (s shelf) Write(ctx context.Context, write plan.Write) error {
	w := s.w
	w.mu.Lock()
	sent := time.Now()
	w.writes++
	s.process.writing++
	defer s.wrote()
	s.checkRequest(write) //nolint:contextcheck // the world looks at itself, and not for the process
	f := w.fateOf(w.next("write"))
	if f.touch {
		w.touch(write.Slice.Name)
	}
	w.mu.Unlock()
	if err := w.linger(ctx, f.before); err != nil && !f.lands {
		return s.undone(write, err)
	}
	w.mu.Lock()
	err := s.carryOut(write, f, sent) //nolint:contextcheck // a write that is on its way lands, whatever the process still waits for
	w.mu.Unlock()
	if err != nil {
		return err
	}
	if err := w.linger(ctx, f.after); err != nil || f.lost {
		return s.undone(write, errors.New("the answer was lost"))
	}
	return nil
}

// wrote notes the end of a write.
func (s shelf) wrote() {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	s.process.writing--
}

// fateOf draws what becomes of a write.
func (w *world) fateOf(r *rand.Rand) fate {
	f := fate{before: time.Duration(1+r.IntN(20)) * time.Millisecond, after: time.Millisecond, lands: true}
	if !w.storing.in() {
		return f
	}
	switch w.storing.kind {
	case writesFail:
		f.lands = false
	case writesHang:
		f.lands = r.IntN(2) == 0
		f.after = time.Hour
		if !f.lands {
			f.before = time.Hour
		}
	case writesLost:
		f.lost = r.IntN(4) > 0
	case writesSlow:
		f.before, f.after = time.Duration(r.Int64N(int64(2*time.Second))), time.Duration(r.Int64N(int64(3*time.Second)))
	case writesConflict:
		f.touch = r.IntN(4) > 0
	}
	return f
}

// undone notes that the process does not know what became of a write, so that
// the next Load looks at the slice itself.
func (s shelf) undone(write plan.Write, err error) error {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	s.w.fresh[write.Slice.Name] = true
	s.w.note("write %s answered %s", write.Slice.Name, err)
	return err
}

// carryOut lands a write, if it does, by the same fence as a real store.
func (s shelf) carryOut(write plan.Write, f fate, sent time.Time) error {
	w, name := s.w, write.Slice.Name
	w.fresh[name], w.shown = true, nil
	if s.dead || !f.lands {
		w.note("write %s does not land", name)
		return errAway
	}
	before, was := w.object(name), w.truth()
	if err := w.store.Write(w.background(), write); err != nil {
		w.note("write %s at %q: %s", name, write.Slice.Version, err)
		if errors.Is(err, plan.ErrConflict) {
			s.refused[name] = string(write.Operation) + " " + write.Slice.Version
		}
		return err
	}
	delete(w.edited, name)
	w.shown = nil
	s.landed(write, sent, before, was)
	return nil
}

// Load returns what is there or, where loads are stale, what was there.
func (s shelf) Load(ctx context.Context) (plan.State, error) {
	w := s.w
	w.mu.Lock()
	f, r, began := w.loading, w.next("load"), time.Now()
	kind := f.kind
	if !f.in() {
		kind = ""
	}
	w.mu.Unlock()
	takes := time.Millisecond
	if kind == loadsSlow {
		takes = time.Duration(r.Int64N(int64(6 * time.Second)))
	}
	if err := w.linger(ctx, takes); err != nil {
		return plan.State{}, err
	}
	if kind == loadsFail {
		return plan.State{}, errAway
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	state := w.now() //nolint:contextcheck // the world looks at itself
	state.Slices = slices.Clone(state.Slices)
	if kind == loadsStale && s.recovered {
		for i, have := range state.Slices {
			if old, ok := w.cached[have.Name]; ok && !w.fresh[have.Name] {
				state.Slices[i] = old
			}
		}
	} else {
		w.cache(state)
		s.process.sawAt = time.Now()
	}
	s.learn(state) //nolint:contextcheck // as above
	s.process.loadedAt = began
	s.checkNotEmpty(true)
	s.checkNotEmpty(false)
	return state, nil
}

// cache remembers what a Load showed, for those that are stale.
func (w *world) cache(state plan.State) {
	clear(w.cached)
	clear(w.fresh)
	for _, slice := range state.Slices {
		w.cached[slice.Name] = slice
	}
}

// learn takes over what a new process recovers.
func (p *process) learn(state plan.State) {
	if p.recovered {
		return
	}
	p.recovered, p.found = true, p.w.truth()
	for _, slice := range state.Slices {
		p.slices[slice.Name] = statesOf(slice)
	}
	p.w.note("process %d recovers %v", p.number, p.found)
}

// truth is what our slices publish: each address once, in its best state.
func (w *world) truth() map[netip.Addr]inventory.State {
	all := map[netip.Addr]inventory.State{}
	for _, slice := range w.now().Slices {
		for _, m := range slice.Endpoints {
			if have, ok := all[m.Address]; !ok || m.State < have {
				all[m.Address] = m.State
			}
		}
	}
	return all
}

// sorted returns the addresses in order, so that a replay checks them in the same.
func sorted[V any](all map[netip.Addr]V) []netip.Addr {
	return slices.SortedFunc(maps.Keys(all), netip.Addr.Compare)
}

func statesOf(slice plan.Slice) map[netip.Addr]inventory.State {
	states := map[netip.Addr]inventory.State{}
	for _, m := range slice.Endpoints {
		states[m.Address] = m.State
	}
	return states
}

// object returns the slice of that name as it is stored, or nil.
func (w *world) object(name string) *discoveryv1.EndpointSlice {
	all := w.store.Slices()
	if i := slices.IndexFunc(all, func(s *discoveryv1.EndpointSlice) bool { return s.Name == name }); i >= 0 {
		return all[i]
	}
	return nil
}

// now is what an honest Load would show.
func (w *world) now() plan.State {
	if w.shown == nil {
		state, err := w.store.Load(w.background())
		if err != nil {
			w.breach(0, "the memory store: %s", err)
		}
		w.shown = &state
	}
	return *w.shown
}

// put, drop and serve are how another hand changes the slices and the Service.
func (w *world) put(object *discoveryv1.EndpointSlice) {
	w.store.Put(object)
	w.shown, w.handAt = nil, time.Now()
}

func (w *world) drop(name string) {
	w.store.Remove(name)
	w.shown, w.handAt = nil, time.Now()
}

func (w *world) serve(service plan.Service) { w.store.SetService(service); w.shown = nil }

// slice returns the slice of that name as a Load shows it.
func (w *world) slice(name string) (plan.Slice, bool) {
	all := w.now().Slices
	i := slices.IndexFunc(all, func(s plan.Slice) bool { return s.Name == name })
	if i < 0 {
		return plan.Slice{}, false
	}
	return all[i], true
}

// touch writes a foreign label, so that whoever read the slice before is late.
func (w *world) touch(name string) {
	object := w.object(name)
	if object == nil {
		return
	}
	object.Labels = maps.Clone(object.Labels)
	object.Labels[touched] = time.Now().Format("150405")
	w.store.Put(object)
	w.shown = nil
	w.note("a foreign label on %s", name)
	w.tell()
}
