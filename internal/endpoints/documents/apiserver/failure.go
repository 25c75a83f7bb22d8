package apiserver

import (
	"cmp"
	"errors"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

const (
	// mostRefused bounds the wait before a status that was refused is tried again.
	mostRefused = 5 * time.Minute
	// firstBound bounds a write of an object that was not refused before, so that one that
	// hangs holds up the others for a moment only, and laterBound every other one.
	firstBound = 3 * time.Second
	laterBound = 10 * time.Second
	// lasting is how many writes in a row find that an object changed meanwhile or is gone,
	// which its watch tells of, or get no answer, before that is trouble.
	lasting = 3
)

// Failure is an object whose status is not written.
type Failure struct {
	Key documents.Key
	// Since is when it was refused first, Err what was said last.
	Since time.Time
	Err   error
}

// refusal is what is known of an object whose last write was refused.
type refusal struct {
	since, next time.Time
	times       int
	version     string
	err         error
	// told says that Trouble was called last while it was reportable.
	told bool
}

// reportable reports whether people should know of it.
func (r *refusal) reportable() bool {
	status := apierrors.APIStatus(nil)
	answered := errors.As(r.err, &status) && !unavailable(r.err)
	return r.times >= lasting || answered && !apierrors.IsConflict(r.err) && !apierrors.IsNotFound(r.err)
}

// unavailable reports whether the error says nothing of the object.
func unavailable(err error) bool {
	e := new(kube.Error)
	return errors.As(err, &e) && e.Unavailable
}

// any reports whether there may be objects that were refused, or others.
func (s *statuses) any(refused bool) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !refused || len(s.refusals) > 0
}

// forget drops what is known of objects that are to say nothing any more; one that comes again at
// once is not written more often than another. It expects the lock.
func (s *statuses) forget(known map[documents.Key]bool, now time.Time) {
	maps.DeleteFunc(s.refusals, func(key documents.Key, _ *refusal) bool { return !known[key] })
	for _, times := range []map[documents.Key]time.Time{s.wrote, s.early} {
		maps.DeleteFunc(times, func(key documents.Key, at time.Time) bool { return !known[key] && now.Sub(at) >= least })
	}
}

// note notes what came of a write, and reports whether it was accepted. What refused one
// object may have refused the others too, so they are tried again when it is accepted.
func (s *statuses) note(u update, err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	now, r := time.Now(), s.refusals[u.key]
	if err == nil {
		if r != nil {
			delete(s.refusals, u.key)
			for _, other := range s.refusals {
				other.next = now
			}
		}
		return true
	}
	if r == nil {
		r = &refusal{since: now}
		s.refusals[u.key] = r
	}
	if r.next = now.Add(min(least<<min(r.times, 10), mostRefused)); unavailable(err) {
		r.next = now.Add(least)
	}
	r.times++
	r.version, r.err = u.version, err
	return false
}

// tell calls Trouble where other objects are unwritten than before.
func (s *statuses) tell() {
	s.mu.Lock()
	defer s.mu.Unlock()
	var now []Failure
	news := false
	for key, r := range s.refusals {
		told := r.told
		if r.told = r.reportable(); r.told {
			now = append(now, Failure{Key: key, Since: r.since, Err: r.err})
			news = news || !told
		}
	}
	slices.SortFunc(now, func(a, b Failure) int {
		return cmp.Or(b.Since.Compare(a.Since), cmp.Compare(a.Key.String(), b.Key.String()))
	})
	over := len(now) == 0 && len(s.watcher.Unwritten()) > 0
	s.watcher.unwritten.Store(&now)
	if news || over {
		s.Trouble(now)
	}
}

// Unwritten returns the objects whose status is not written, those that were refused last
// first.
func (w *Watcher) Unwritten() []Failure {
	if all := w.unwritten.Load(); all != nil {
		return *all
	}
	return nil
}
