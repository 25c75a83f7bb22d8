package election

import (
	"errors"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// State returns what is known now.
func (e *Elector) State() State {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.state
}

// Remaining returns how long writes are safe from now on: until RenewDeadline
// after the start of the last successful renewal; 0 when not leading.
func (e *Elector) Remaining() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.state.Leading || !e.renewed.running() {
		return 0
	}
	return max(0, RenewDeadline-e.renewed.elapsed())
}

// Alive reports whether the election, where it runs, still comes round. An API
// server that is away does not stop it (contract 31).
func (e *Elector) Alive() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return !e.running || time.Since(e.beat) < Stalled
}

// setRunning notes that the election begins or ends.
func (e *Elector) setRunning(running bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.running, e.beat = running, time.Now()
}

// round notes that the election came round.
func (e *Elector) round() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.beat = time.Now()
}

// change makes a new state and reports it, unless nothing has changed. Errors of one
// kind count as the same: a server that is away has many texts.
func (e *Elector) change(change func(*State)) {
	e.mu.Lock()
	before := e.state
	change(&e.state)
	if !e.state.Leading {
		e.renewed = stopwatch{}
	}
	moved := before.Leading != e.state.Leading || before.Holder != e.state.Holder
	if moved {
		e.state.Since = time.Now()
	}
	after := e.state
	e.mu.Unlock()
	if moved || kind(before.LastErr) != kind(after.LastErr) {
		e.opts.Changed(before, after)
	}
}

// failed notes an error, nil for a success; the holder stays.
func (e *Elector) failed(err error) { e.change(func(s *State) { s.LastErr = err }) }

// kind sorts errors by what a person would do about them.
func kind(err error) string {
	switch {
	case err == nil:
		return ""
	case errors.Is(err, ErrLost):
		return "lost"
	case apierrors.ReasonForError(err) != "":
		return "answered " + string(apierrors.ReasonForError(err))
	}
	return "away"
}
