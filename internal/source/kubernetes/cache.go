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
	// Cause is the last error; it may be nil.
	Cause error
}

func (e *StaleError) Error() string {
	text := "the remote API server has sent nothing since " + e.Since.UTC().Format(time.RFC3339)
	if e.Cause != nil {
		text += ": " + e.Cause.Error()
	}
	return text
}

func (e *StaleError) Unwrap() error { return e.Cause }

// errEnded is what is known when the watch has ended and no attempt has failed.
var errEnded = errors.New("the watch has ended")

// nodeCache holds the nodes of the watch, and says whether they are up to date.
type nodeCache struct {
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
	// delivered says that the open stream has sent an event.
	delivered bool
	// known is when nodes were last known to be complete.
	known time.Time
	// last is the last error, nil while following; final says that somebody has to
	// act.
	last  error
	final bool
	// updated is closed when synced or final may have changed.
	updated chan struct{}
	// expiry fires when the grace is over.
	expiry *time.Timer
}

func newCache(selector labels.Selector, grace time.Duration, notify func()) *nodeCache {
	return &nodeCache{selector: selector, grace: grace, notify: notify, updated: make(chan struct{})}
}

// received returns how many complete lists there were.
func (c *nodeCache) received() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.lists
}

// await returns when there was a complete list, after an error that somebody has to
// correct, or when ctx ends.
func (c *nodeCache) await(ctx context.Context) error {
	for {
		c.mu.Lock()
		synced, final, last, updated := c.synced, c.final, c.last, c.updated
		c.mu.Unlock()
		switch {
		case ctx.Err() != nil && last != nil && !synced:
			return fmt.Errorf("no answer yet to the watch of nodes: %w; last error: %w", ctx.Err(), last)
		case ctx.Err() != nil:
			return ctx.Err()
		case synced:
			return nil
		case final:
			return last
		}
		select {
		case <-updated:
		case <-ctx.Done():
		}
	}
}

// list returns the nodes, which are the caller's own, or why they cannot be
// trusted.
func (c *nodeCache) list() ([]inventory.Node, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.trusted() {
		return nil, &StaleError{Since: c.known, Cause: c.last}
	}
	total := 0
	for _, n := range c.nodes {
		total += len(n.Addresses)
	}
	addresses := make([]netip.Addr, 0, total)
	owned := slices.Clone(c.nodes)
	for i := range owned {
		from := len(addresses)
		addresses = append(addresses, owned[i].Addresses...)
		owned[i].Addresses = addresses[from:len(addresses):len(addresses)]
	}
	return owned, nil
}

func (c *nodeCache) trusted() bool {
	return c.synced && (c.following || time.Since(c.known) < c.grace)
}

// resumable reports whether the nodes are young enough to resume a watch.
func (c *nodeCache) resumable() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.trusted()
}

// connected says that a stream is open. One that resumes goes on from what is
// known; any other begins with a complete list, which ends in Replace.
func (c *nodeCache) connected(resumes bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open, c.delivered = true, false
	if !resumes || !c.synced {
		return
	}
	if !c.trusted() { // the grace ended while the stream was being opened
		c.notify()
	}
	c.follow()
}

// follow is called when the nodes are complete and the stream goes on from them.
func (c *nodeCache) follow() {
	c.following, c.last, c.final = true, nil, false
	if c.expiry != nil {
		c.expiry.Stop()
	}
}

// disconnected says that the stream is closed. Nodes were known until then if it
// has sent an event.
func (c *nodeCache) disconnected() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.following && c.delivered {
		c.known = time.Now()
	}
	c.open, c.following = false, false
	if c.last == nil {
		c.last = errEnded
	}
	if c.synced {
		c.expire(c.grace - time.Since(c.known))
	}
}

// expire notifies the reader when the nodes are no longer to be trusted.
func (c *nodeCache) expire(after time.Duration) {
	if c.expiry != nil {
		c.expiry.Stop()
	}
	c.expiry = time.AfterFunc(after, func() {
		c.mu.Lock()
		lost := !c.trusted()
		c.mu.Unlock()
		if lost {
			c.notify()
		}
	})
}

// failed notes what went wrong.
func (c *nodeCache) failed(err error, final bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last, c.final = err, final
	c.signal()
}

func (c *nodeCache) signal() {
	close(c.updated)
	c.updated = make(chan struct{})
}

// close ends the timer.
func (c *nodeCache) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.expiry != nil {
		c.expiry.Stop()
	}
}
