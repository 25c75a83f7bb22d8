package kubernetes

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
)

// StaleError says that the nodes are not known as they are now.
type StaleError struct {
	// Since is when they were last known.
	Since time.Time
	// Cause is what went wrong last; it may be nil.
	Cause error
}

func (e *StaleError) Error() string {
	text := "the remote API server has told nothing since " + e.Since.UTC().Format(time.RFC3339)
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	return text
}

func (e *StaleError) Unwrap() error { return e.Cause }

// errEnded is what is known when the watch has ended and no attempt has failed.
var errEnded = errors.New("the watch has ended")

// view is what the watch has told, and whether that can be trusted.
type view struct {
	selector labels.Selector
	grace    time.Duration
	notify   func()

	mu    sync.Mutex
	nodes []inventory.Node // by name; their addresses are never changed in place
	// synced says that a complete list was received once, lists how many were.
	synced bool
	lists  int
	// open says that a stream is open, following that it goes on from nodes.
	open, following bool
	// heard says that the open stream has told something.
	heard bool
	// known is when nodes were last known to be complete.
	known time.Time
	// last is what went wrong last, nil while following; final says that it
	// will not mend by itself.
	last  error
	final bool
	// turned is closed when synced or final may have changed.
	turned chan struct{}
	// expiry fires when the grace is over.
	expiry *time.Timer
}

func newView(selector labels.Selector, grace time.Duration, notify func()) *view {
	return &view{selector: selector, grace: grace, notify: notify, turned: make(chan struct{})}
}

// received returns how many complete lists there were.
func (v *view) received() int {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.lists
}

// await returns when there was a complete list, when something is wrong that
// does not mend by itself, or when ctx ends.
func (v *view) await(ctx context.Context) error {
	for {
		v.mu.Lock()
		synced, final, last, turned := v.synced, v.final, v.last, v.turned
		v.mu.Unlock()
		switch {
		case ctx.Err() != nil && last != nil && !synced:
			return fmt.Errorf("no answer yet to the watch of nodes: %w; last: %w", ctx.Err(), last)
		case ctx.Err() != nil:
			return ctx.Err()
		case synced:
			return nil
		case final:
			return last
		}
		select {
		case <-turned:
		case <-ctx.Done():
		}
	}
}

// list returns the nodes, which are the caller's own, or why they cannot be
// trusted.
func (v *view) list() ([]inventory.Node, error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.trusted() {
		return nil, &StaleError{Since: v.known, Cause: v.last}
	}
	total := 0
	for _, n := range v.nodes {
		total += len(n.Addresses)
	}
	addresses := make([]netip.Addr, 0, total)
	owned := slices.Clone(v.nodes)
	for i := range owned {
		from := len(addresses)
		addresses = append(addresses, owned[i].Addresses...)
		owned[i].Addresses = addresses[from:len(addresses):len(addresses)]
	}
	return owned, nil
}

func (v *view) trusted() bool {
	return v.synced && (v.following || time.Since(v.known) < v.grace)
}

// resumable reports whether the nodes are young enough to go on from.
func (v *view) resumable() bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.trusted()
}

// connected says that a stream is open. One that resumes goes on from what is
// known; any other begins with a complete list, which ends in Replace.
func (v *view) connected(resumes bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.open, v.heard = true, false
	if !resumes || !v.synced {
		return
	}
	if !v.trusted() { // the grace ended while the stream was being opened
		v.notify()
	}
	v.follow()
}

// follow is called when the nodes are complete and the stream goes on from them.
func (v *view) follow() {
	v.following, v.last, v.final = true, nil, false
	if v.expiry != nil {
		v.expiry.Stop()
	}
}

// disconnected says that the stream is closed. One that never told anything
// proves nothing about the time it was open.
func (v *view) disconnected() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.following && v.heard {
		v.known = time.Now()
	}
	v.open, v.following = false, false
	if v.last == nil {
		v.last = errEnded
	}
	if v.synced {
		v.expire(v.grace - time.Since(v.known))
	}
}

// expire tells the reader when the nodes are no longer to be trusted.
func (v *view) expire(after time.Duration) {
	if v.expiry != nil {
		v.expiry.Stop()
	}
	v.expiry = time.AfterFunc(after, func() {
		v.mu.Lock()
		lost := !v.trusted()
		v.mu.Unlock()
		if lost {
			v.notify()
		}
	})
}

// failed notes what went wrong.
func (v *view) failed(err error, final bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.last, v.final = err, final
	v.turn()
}

func (v *view) turn() {
	close(v.turned)
	v.turned = make(chan struct{})
}

// close ends the timer.
func (v *view) close() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.expiry != nil {
		v.expiry.Stop()
	}
}
