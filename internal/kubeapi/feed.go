package kubeapi

import (
	"fmt"
	"sync"
)

// Feed is a store of a Reflector that translates each object O to a T, and hands it on.
type Feed[O, T any] struct {
	// Lock is held while Set, Remove and SetAll run.
	Lock sync.Locker
	// Read translates an object.
	Read        func(O) (T, error)
	Set, Remove func(T)
	// SetAll takes over a complete list of that revision.
	SetAll func(all []T, revision string) error
	// Seen, if set, is told up to which revision the watch has told everything. The Lock is
	// held.
	Seen func(revision string)
}

// Add takes over an object that the watch tells of.
func (f *Feed[O, T]) Add(object any) error { return f.take(object, f.Set) }

// Update takes over an object that changed.
func (f *Feed[O, T]) Update(object any) error { return f.take(object, f.Set) }

// Delete takes over that an object is gone, or that the watch selects it no longer.
func (f *Feed[O, T]) Delete(object any) error { return f.take(object, f.Remove) }

func (f *Feed[O, T]) take(object any, how func(T)) error {
	read, err := f.Translate(object)
	if err != nil {
		return err
	}
	f.Lock.Lock()
	defer f.Lock.Unlock()
	how(read)
	return nil
}

// Replace takes over a complete list.
func (f *Feed[O, T]) Replace(objects []any, revision string) error {
	all := make([]T, 0, len(objects))
	for _, object := range objects {
		read, err := f.Translate(object)
		if err != nil {
			return err
		}
		all = append(all, read)
	}
	f.Lock.Lock()
	defer f.Lock.Unlock()
	return f.SetAll(all, revision)
}

// UpdateResourceVersion takes over up to which revision the watch has told everything.
func (f *Feed[O, T]) UpdateResourceVersion(revision string) {
	if f.Seen == nil {
		return
	}
	f.Lock.Lock()
	defer f.Lock.Unlock()
	f.Seen(revision)
}

// Translate reads an object, unless that was done before.
func (f *Feed[O, T]) Translate(object any) (T, error) {
	if read, ok := object.(T); ok {
		return read, nil
	}
	if o, ok := object.(O); ok {
		return f.Read(o)
	}
	return *new(T), fmt.Errorf("the watch brought a %T", object)
}

// Resync has nothing to do: it is never called.
func (f *Feed[O, T]) Resync() error { return nil }
