package kube

import (
	"errors"
	"maps"
	"slices"
	"sync"

	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
)

// view is what is known of the slices of our names. It is two layers:
//
//	told   what the watch says, complete up to the revision reached
//	ahead  what an answer to ourselves says that the watch has not told yet
//
// A snapshot ahead gives way as soon as the watch has reached its revision, so
// that a restored or odd server can at worst be shown for what its watch says.
// One exception: a stray, a slice that the watch does not select, stays ahead
// until a further look, a write, or the watch tells otherwise.
type view struct {
	target plan.Target
	notify func()

	freshness freshness

	mu      sync.Mutex
	told    map[string]*discoveryv1.EndpointSlice // never changed in place
	others  map[string]plan.Beside                // what slices of other names publish
	reached string
	ahead   map[string]snapshot
	// dirty are the slices whose last write failed or that the watch lost, so
	// that they may be anything by now; each mark has a number of its own.
	dirty  map[string]int
	marked int
	// underway are the slices that a write of ours is about to change. The watch
	// often tells of it before its answer is there.
	underway map[string]bool
}

// snapshot is what one slice was at a revision; a nil object means absent.
type snapshot struct {
	object *discoveryv1.EndpointSlice
	at     string
}

func newView(target plan.Target, notify func()) *view {
	return &view{
		target:    target,
		notify:    notify,
		freshness: newFreshness("slices"),
		told:      make(map[string]*discoveryv1.EndpointSlice),
		others:    make(map[string]plan.Beside),
		ahead:     make(map[string]snapshot),
		dirty:     make(map[string]int),

		underway: make(map[string]bool),
	}
}

// object returns the slice of that name, nil when there is none.
func (v *view) object(name string) *discoveryv1.EndpointSlice {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.merged()[name]
}

// objects returns all slices of our names, in no order.
func (v *view) objects() []*discoveryv1.EndpointSlice {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Collect(maps.Values(v.merged()))
}

// beside returns what slices of other names publish, in no order.
func (v *view) beside() []plan.Beside {
	v.mu.Lock()
	defer v.mu.Unlock()
	return slices.Collect(maps.Values(v.others))
}

// merged lays what is ahead over what was told.
func (v *view) merged() map[string]*discoveryv1.EndpointSlice {
	merged := maps.Clone(v.told)
	for name, seen := range v.ahead {
		if seen.object == nil {
			delete(merged, name)
			continue
		}
		merged[name] = seen.object
	}
	return merged
}

// learn takes over an answer of the server about one slice.
func (v *view) learn(name string, seen snapshot) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if have, ok := v.ahead[name]; ok && !follows(seen.at, have.at) {
		return
	}
	v.ahead[name] = seen
	v.settle()
}

// expect says that a write of the slice is under way: what the watch tells of it
// is no news until it is known what came of the write.
func (v *view) expect(name string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.underway[name] = true
}

// expected says that the write has ended, after which the slice should be at a
// version. If another is known by now, that is news.
func (v *view) expected(name, at string) {
	v.mu.Lock()
	delete(v.underway, name)
	news := versionOf(v.merged()[name]) != at
	v.mu.Unlock()
	if news {
		v.notify()
	}
}

// markDirty makes the next Load look at the slice itself.
func (v *view) markDirty(name string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.mark(name)
}

func (v *view) mark(name string) {
	v.marked++
	v.dirty[name] = v.marked
}

func (v *view) dirtyMarks() map[string]int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return maps.Clone(v.dirty)
}

// clean takes the mark away, unless it is another one by now.
func (v *view) clean(name string, mark int) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.dirty[name] == mark {
		delete(v.dirty, name)
	}
}

// distrust forgets what is ahead, and asks about each of it again: the server was
// restored from a backup, so that its revisions began anew at an earlier one.
func (v *view) distrust() {
	for name := range v.ahead {
		v.mark(name)
	}
	clear(v.ahead)
}

// strays returns the names of the slices that the watch does not select.
func (v *view) strays() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	var names []string
	for name, seen := range v.ahead {
		if v.stray(seen) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (v *view) stray(seen snapshot) bool {
	return seen.object != nil && seen.object.Labels[discoveryv1.LabelServiceName] != v.target.Service
}

// settle drops what is ahead no longer.
func (v *view) settle() {
	for name, seen := range v.ahead {
		if !follows(v.reached, seen.at) {
			continue
		}
		if v.stray(seen) && v.told[name] == nil {
			continue
		}
		delete(v.ahead, name)
	}
}

// follows reports whether revision a is b or later. Revisions that cannot be
// compared follow each other, so that nothing stays ahead for ever.
func follows(a, b string) bool {
	if a == "" {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err != nil || order >= 0
}

// versionOf is the object's, empty when there is none.
func versionOf(object *discoveryv1.EndpointSlice) string {
	if object == nil {
		return ""
	}
	return object.ResourceVersion
}

var errForeignType = errors.New("the watch of slices told of something else")
