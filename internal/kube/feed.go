package kube

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
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
	// Listing, if set, returns what is applied to each object of one list as it comes, to
	// bound what is kept of it until it is complete.
	Listing func() func(T) T
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
	read, err := f.translate(object)
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
		read, err := f.translate(object)
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

// translation is what an object was translated to, with the name that a list knows it by. A
// translation that failed makes the whole list fail, when it is complete: an object must
// not be missing in it.
type translation[T any] struct {
	metav1.TypeMeta
	metav1.ObjectMeta

	read T
	err  error
}

// DeepCopyObject implements runtime.Object.
func (r *translation[T]) DeepCopyObject() runtime.Object { return new(*r) }

// Transformer translates each object of a list as soon as it comes: what is not read is not
// kept until the list is complete. Each list needs one of its own.
func (f *Feed[O, T]) Transformer() cache.TransformFunc {
	bounded := func(read T) T { return read }
	if f.Listing != nil {
		bounded = f.Listing()
	}
	return func(object any) (any, error) {
		if done, ok := object.(*translation[T]); ok {
			return done, nil
		}
		about, err := meta.Accessor(object)
		if err != nil {
			return nil, err
		}
		out := &translation[T]{ObjectMeta: metav1.ObjectMeta{Namespace: about.GetNamespace(), Name: about.GetName()}}
		if out.read, out.err = f.translate(object); out.err == nil {
			out.read = bounded(out.read)
		}
		return out, nil
	}
}

// translate reads an object, unless that was done before.
func (f *Feed[O, T]) translate(object any) (T, error) {
	if done, ok := object.(*translation[T]); ok {
		return done.read, done.err
	}
	if o, ok := object.(O); ok {
		return f.Read(o)
	}
	return *new(T), fmt.Errorf("the watch brought a %T", object)
}

// Resync has nothing to do: it is never called.
func (f *Feed[O, T]) Resync() error { return nil }
