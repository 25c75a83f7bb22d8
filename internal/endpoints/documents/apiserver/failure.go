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

// history says what came of the last write of an object.
type history int

const (
	accepted history = iota // or there was none
	refused
)

// bound is for how long one write is waited for.
func (h history) bound() time.Duration {
	if h == refused {
		return laterBound
	}
	return firstBound
}

// refusal is what is known of an object whose last write was refused.
type refusal struct {
	since, next time.Time
	times       int
	version     string
	err         error
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

// waits reports whether an object is not to be tried yet. Another version of it may be
// accepted. It expects the lock.
func (s *statuses) waits(key documents.Key, now time.Time) bool {
	r := s.refusals[key]
	return r != nil && now.Before(r.next) && r.version == s.watcher.version(key)
}

// historyOf expects the lock.
func (s *statuses) historyOf(key documents.Key) history {
	if s.refusals[key] == nil {
		return accepted
	}
	return refused
}

// any reports whether there may be objects of a history.
func (s *statuses) any(of history) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return of == accepted || len(s.refusals) > 0
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
	before := make(map[documents.Key]bool, len(s.unwritten))
	for _, u := range s.unwritten {
		before[u.Key] = true
	}
	var now []Failure
	news := false
	for key, r := range s.refusals {
		if r.reportable() {
			now = append(now, Failure{Key: key, Since: r.since, Err: r.err})
			news = news || !before[key]
		}
	}
	slices.SortFunc(now, func(a, b Failure) int {
		return cmp.Or(b.Since.Compare(a.Since), cmp.Compare(a.Key.String(), b.Key.String()))
	})
	over := len(now) == 0 && len(s.unwritten) > 0
	s.unwritten = now
	s.watcher.unwrite(now)
	if news || over {
		s.Trouble(now)
	}
}

// unwrite notes the objects whose status is not written.
func (w *Watcher) unwrite(now []Failure) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.unwritten = now
}

// Unwritten returns the objects whose status is not written, those that were refused last
// first.
func (w *Watcher) Unwritten() []Failure {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.unwritten
}
