package lease

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// State returns what is known now.
func (e *Elector) State() State {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.state
}

// take takes over what the Lease says.
func (s *State) take(r record) {
	s.Holder, s.Address, s.Protocol, s.Note = r.holder, r.address, r.protocol, r.note
	s.HandedOver = r.handedOver
	if now := time.Now(); now.Before(r.handedOver) { // the clock of another machine may be wrong
		s.HandedOver = now
	}
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

// Fence runs do while the Lease is surely held, and ends its context when the Lease
// may not be ours any more. It looks at the clock each time, so a process that was
// stopped for a minute writes nothing when it goes on.
// An error that wraps ErrLost says that do was not run, or that the Lease ended it.
func (e *Elector) Fence(ctx context.Context, do func(context.Context) error) error {
	remaining := e.Remaining()
	if remaining == 0 {
		return fmt.Errorf("nothing is written: %w", ErrLost)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, remaining, ErrLost)
	defer cancel()
	return do(ctx)
}

// Alive reports whether the election, where it runs, still comes round. An API
// server that is away does not stop it (contract 31).
func (e *Elector) Alive() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.beat.IsZero() || time.Since(e.beat) < Stalled
}

// ListensOn says where this process answers the other replicas, for the Lease to
// tell them while it leads. It is called before Run.
func (e *Elector) ListensOn(address netip.AddrPort) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.listening = address
}

// address is what the Lease says of that. A process that listens on every address is
// reached at the one from which it reaches the API server.
func (e *Elector) address() netip.AddrPort {
	e.mu.Lock()
	listening := e.listening
	e.mu.Unlock()
	if !listening.IsValid() || !listening.Addr().IsUnspecified() {
		return listening
	}
	return netip.AddrPortFrom(e.client.LocalAddr(), listening.Port())
}

// round notes when the election came round.
func (e *Elector) round(at time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.beat = at
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
