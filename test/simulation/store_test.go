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

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// The kinds of a store's fault.
const (
	writesFail     = "writes fail"
	writesHang     = "writes hang"
	writesLost     = "answers to writes are lost"
	writesSlow     = "writes are slow"
	writesSecond   = "writes take a second"
	writesAway     = "the API server cannot be reached"
	writesConflict = "writes conflict"
	createsRefused = "creates are refused"
	addsRefused    = "additions are refused"
	storesLess     = "a webhook leaves an endpoint out"
	loadsFail      = "loads fail"
	loadsSlow      = "loads are slow"
	loadsStale     = "loads are stale"

	// Those of single slices.
	sliceDenied = "its writes are denied"
	sliceHangs  = "its writes hang"
	sliceLoses  = "the answers to its writes are lost"
)

// slowWrite is how long a write takes where they take a second.
const slowWrite = time.Second

const touched = "example.com/touched"

var (
	errAway  = errors.New("the API server is away")
	errQuota = errors.New("exceeded quota")
)

// shelf is the store as one process sees it.
type shelf struct{ *process }

// fate is what becomes of one write: how long it takes until it lands, if it
// does, and until the answer comes, if it does.
type fate struct {
	before, after time.Duration
	lands, lost   bool
	touch         bool
	// adds says that the server refuses what is added, less that it stores less than it is sent.
	adds, less bool
	// denied says that the store refuses this slice, away that it cannot be reached,
	// and asks for a pause.
	denied, away bool
	retryAfter   time.Duration
}

// Write carries a write out as the fault in force has it.
func (s shelf) Write(ctx context.Context, write publish.Write) (version string, err error) {
	w := s.w
	w.mu.Lock()
	w.writes++
	// No two of several lanes' answers come at the same instant: seeds would not replay.
	apart := time.Duration(w.writes%997+1) * time.Microsecond
	s.process.writing++
	var f fate
	defer func() { s.wrote(write.Slice.Name, f, err) }()
	s.checkRequest(write) //nolint:contextcheck // the world looks at itself, and not for the process
	f = w.fateOf(w.next("write"), write)
	if f.touch {
		w.touch(write.Slice.Name)
	}
	w.mu.Unlock()
	err = s.linger(ctx, f.before)
	time.Sleep(apart)
	if err != nil && !f.lands {
		return "", s.undone(write, err)
	}
	w.mu.Lock()
	version, err = s.carryOut(write, f) //nolint:contextcheck // a write that is on its way lands, whatever the process still waits for
	w.mu.Unlock()
	if err != nil {
		return "", err
	}
	err = s.linger(ctx, f.after)
	time.Sleep(apart)
	if err != nil || f.lost {
		return "", s.undone(write, errors.New("the answer was lost"))
	}
	return version, nil
}

// wrote notes the end of a write.
func (s shelf) wrote(name string, f fate, err error) {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	s.process.writing--
	s.answered(name, f, err)
}

// fateOf draws what becomes of a write.
func (w *world) fateOf(r *rand.Rand, write publish.Write) fate {
	f := fate{before: time.Duration(1+r.IntN(20)) * time.Millisecond, after: time.Millisecond, lands: true}
	if s, ok := w.stuck[write.Slice.Name]; ok && s.in() {
		return f.ofStuck(s.kind, r)
	}
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
	case writesSecond:
		f.before = slowWrite - 20*time.Millisecond
	case writesAway:
		f.lands, f.away = false, true
		f.retryAfter = pick(r, 0, 0, time.Duration(r.Int64N(int64(20*time.Second))))
	case writesConflict:
		f.touch = r.IntN(4) > 0
	case createsRefused:
		f.adds = write.Operation == publish.Create
		f.lands = !f.adds
	case addsRefused:
		f.adds = write.Operation == publish.Create || len(write.Added) > 0
		f.lands = !f.adds
	case storesLess:
		f.less = len(write.Slice.Endpoints) > 1
	}
	return f
}

// ofStuck draws what becomes of a write to a slice that cannot be written.
func (f fate) ofStuck(kind string, r *rand.Rand) fate {
	switch kind {
	case sliceDenied:
		f.lands, f.denied = false, true
	case sliceHangs:
		f.lands = r.IntN(4) == 0
		f.after = time.Hour
		if !f.lands {
			f.before = time.Hour
		}
	case sliceLoses:
		f.lost = true
	}
	return f
}

// undone notes that the process does not know what became of a write. The next Load
// then looks at the slice itself.
func (s shelf) undone(write publish.Write, err error) error {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	s.w.fresh[write.Slice.Name] = true
	s.w.note("write %s answered %s", write.Slice.Name, err)
	return err
}

// carryOut lands a write, if it does, by the same fence as a real store.
func (s shelf) carryOut(write publish.Write, f fate) (version string, err error) {
	w, name := s.w, write.Slice.Name
	w.fresh[name] = true
	w.changed()
	switch {
	case f.away:
		w.note("write %s does not reach the server, %s", name, f.retryAfter)
		return "", publish.Unavailable(errAway, f.retryAfter)
	case s.dead || !f.lands:
		w.note("write %s does not land", name)
		if f.adds {
			return "", publish.Refused(errQuota)
		}
		return "", errAway
	}
	before, was := w.object(name), w.truth()
	if version, err = w.store.Write(w.background(), write); err != nil {
		w.note("write %s at %q: %s", name, write.Slice.Version, err)
		if errors.Is(err, publish.ErrConflict) {
			s.refused[name] = string(write.Operation) + " " + write.Slice.Version
		}
		return "", err
	}
	delete(w.edited, name)
	w.changed()
	s.landed(write, before, was)
	for _, p := range []*process{w.daemon, w.second} {
		// What another process wrote is news always, and what oneself wrote may be.
		if p != nil && (w.set.echoes || p != s.process) {
			leave(p.storeChanged)
		}
	}
	if f.less {
		object := w.object(name)
		object.Endpoints = object.Endpoints[:len(object.Endpoints)-1]
		w.foreign(name)
		w.put(object)
		w.note("%s is stored without its last endpoint", name)
		return "", publish.ErrStoredOtherwise
	}
	return version, nil
}

// Load returns what is there or, where loads are stale, what was there.
func (s shelf) Load(ctx context.Context) (publish.State, error) {
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
	if err := s.linger(ctx, takes); err != nil {
		return publish.State{}, err
	}
	if kind == loadsFail {
		return publish.State{}, errAway
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
		s.process.sawAt = began // what it wrote meanwhile, it lays over this
	}
	s.learn(state) //nolint:contextcheck // as above
	s.process.loadedAt = began
	s.checkNotEmpty(true)
	s.checkNotEmpty(false)
	return state, nil
}

// cache remembers what a Load showed, for later loads that are stale.
func (w *world) cache(state publish.State) {
	clear(w.cached)
	clear(w.fresh)
	for _, slice := range state.Slices {
		w.cached[slice.Name] = slice
	}
}

// learn takes over what a new process recovers.
func (p *process) learn(state publish.State) {
	if p.recovered {
		return
	}
	p.recovered, p.found = true, p.w.truth()
	for _, slice := range state.Slices {
		p.slices[slice.Name] = statesOf(slice)
	}
	p.w.note("process %d recovers %v", p.number, p.found)
}

// truth is what our slices publish: each address once, in its best state. A change of
// the store makes a new one; it is never changed itself.
func (w *world) truth() map[netip.Addr]inventory.State {
	state := w.now()
	if w.published != nil {
		return w.published
	}
	w.published = map[netip.Addr]inventory.State{}
	for _, slice := range state.Slices {
		for _, m := range slice.Endpoints {
			if have, ok := w.published[m.Address]; !ok || m.State < have {
				w.published[m.Address] = m.State
			}
		}
	}
	return w.published
}

// sorted returns the addresses in order: a replay checks them in the same order.
func sorted[V any](all map[netip.Addr]V) []netip.Addr {
	return slices.SortedFunc(maps.Keys(all), netip.Addr.Compare)
}

func statesOf(slice publish.Slice) map[netip.Addr]inventory.State {
	states := map[netip.Addr]inventory.State{}
	for _, m := range slice.Endpoints {
		states[m.Address] = m.State
	}
	return states
}

// object returns the slice of that name as it is stored, or nil.
func (w *world) object(name string) *discoveryv1.EndpointSlice {
	if w.objects == nil {
		w.objects = w.store.Slices()
	}
	if i := slices.IndexFunc(w.objects, func(s *discoveryv1.EndpointSlice) bool { return s.Name == name }); i >= 0 {
		return w.objects[i].DeepCopy()
	}
	return nil
}

// changed forgets what was known of the store.
func (w *world) changed() { w.shown, w.published, w.objects = nil, nil, nil }

// now is what an honest Load would show.
func (w *world) now() publish.State {
	if w.shown == nil {
		state, err := w.store.Load(w.background())
		if err != nil {
			w.breach(0, "the memory store: %s", err)
		}
		w.shown = &state
	}
	return *w.shown
}

// put, drop and serve change the slices and the Service as another client would.
func (w *world) put(object *discoveryv1.EndpointSlice) {
	w.store.Put(object)
	w.handAt = time.Now()
	w.changed()
}

func (w *world) drop(name string) {
	w.store.Remove(name)
	w.handAt = time.Now()
	w.changed()
}

func (w *world) serve(service publish.Service) { w.store.SetService(service); w.changed() }

// slice returns the slice of that name as a Load shows it.
func (w *world) slice(name string) (publish.Slice, bool) {
	all := w.now().Slices
	i := slices.IndexFunc(all, func(s publish.Slice) bool { return s.Name == name })
	if i < 0 {
		return publish.Slice{}, false
	}
	return all[i], true
}

// touch writes a foreign label. A reader of the version before gets a conflict.
func (w *world) touch(name string) {
	object := w.object(name)
	if object == nil {
		return
	}
	object.Labels = maps.Clone(object.Labels)
	object.Labels[touched] = time.Now().Format("150405")
	w.store.Put(object)
	w.changed()
	w.note("a foreign label on %s", name)
	w.tell()
}
