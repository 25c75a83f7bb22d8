package kube

import (
	"maps"

	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/manifest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
)

// The methods by which the reflector fills the view. Objects are the view's own
// from then on.

// Add takes over a slice that the watch tells of.
func (v *view) Add(object any) error { return v.tell(object, true) }

// Update takes over a slice that changed.
func (v *view) Update(object any) error { return v.tell(object, true) }

// Delete forgets a slice that is gone, or that the watch selects no longer.
func (v *view) Delete(object any) error { return v.tell(object, false) }

// Replace takes over a complete answer.
func (v *view) Replace(objects []any, revision string) error {
	told, others := make(map[string]*discoveryv1.EndpointSlice, len(objects)), make(map[string]plan.Beside)
	for _, object := range objects {
		slice, ok := object.(*discoveryv1.EndpointSlice)
		if !ok {
			return errForeignType
		}
		if v.ours(slice) {
			told[slice.Name] = slice
			continue
		}
		note(others, manifest.ToBeside(slice, v.target))
	}
	v.change(func() {
		if v.reached != "" && !follows(revision, v.reached) {
			v.distrust()
		}
		v.told, v.others, v.reached = told, others, revision
	})
	v.freshness.synced()
	return nil
}

// Resync has nothing to do: nobody asks for it.
func (v *view) Resync() error { return nil }

// Bookmark says that nothing else happened up to the revision.
func (v *view) Bookmark(revision string) error {
	v.change(func() { v.reached = revision })
	return nil
}

func (v *view) tell(object any, exists bool) error {
	slice, ok := object.(*discoveryv1.EndpointSlice)
	if !ok {
		return errForeignType
	}
	v.change(func() {
		v.reached = slice.ResourceVersion
		switch {
		case !v.ours(slice):
			delete(v.others, slice.Name)
			if exists {
				note(v.others, manifest.ToBeside(slice, v.target))
			}
		case exists:
			v.told[slice.Name] = slice
		default:
			delete(v.told, slice.Name)
		}
	})
	return nil
}

// note keeps what a slice of another name publishes, if that is anything; of the
// slice itself nothing is kept.
func note(others map[string]plan.Beside, b plan.Beside) {
	if b.Endpoints > 0 {
		others[b.Name] = b
	}
}

// ours drops what nobody reads of a slice and reports whether it has one of our
// names; the Service may have slices of others.
func (v *view) ours(slice *discoveryv1.EndpointSlice) bool {
	slice.ManagedFields = nil
	_, _, ours := v.target.ParseName(slice.Name)
	return ours
}

// change applies what the watch tells, and passes the news on if Load's answer
// is another one now: the echo of a write of ours is none, whether it comes after
// the write's answer or before. A slice that vanished
// is dirty: it is gone, or has lost its label, and the second must not look
// like the first.
func (v *view) change(apply func()) {
	v.mu.Lock()
	before, beside := v.versions(), maps.Clone(v.others)
	apply()
	v.settle()
	after := v.versions()
	for name := range before {
		if _, still := after[name]; !still {
			v.mark(name)
		}
	}
	for name := range v.underway {
		delete(before, name)
		delete(after, name)
	}
	news := !maps.Equal(before, after) || !maps.Equal(beside, v.others)
	v.mu.Unlock()
	if news {
		v.notify()
	}
}

func (v *view) versions() map[string]string {
	versions := make(map[string]string)
	for name, object := range v.merged() {
		versions[name] = object.ResourceVersion
	}
	return versions
}
