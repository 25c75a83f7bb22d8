package kubernetes

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

// errEnded is what is known when the watch has ended and no attempt has failed.
var errEnded = errors.New("the watch has ended")

// nodeCache holds the nodes of the watch, and says whether they are up to date.
type nodeCache struct {
	kube.Feed[*corev1.Node, inventory.Node]

	grace  time.Duration
	notify func()
	renew  func() // asks for a complete list

	mu    sync.Mutex
	nodes map[string]inventory.Node // by name; their addresses are never changed in place
	// synced says that a complete list was received once.
	synced bool
	// open says that a stream is open, following that it goes on from nodes.
	open, following bool
	// known is when nodes were last known to be complete.
	known time.Time
	// last is the last error, nil while following; final says that somebody has to
	// act.
	last  error
	final bool
	// updated is closed when synced or final may have changed.
	updated chan struct{}
	// expiry fires when the grace is over; it is stopped while following.
	expiry *time.Timer
}

func newCache(selector labels.Selector, grace time.Duration, notify, renew func()) *nodeCache {
	c := &nodeCache{grace: grace, notify: notify, renew: renew, nodes: make(map[string]inventory.Node), updated: make(chan struct{})}
	c.Feed = kube.Feed[*corev1.Node, inventory.Node]{
		Lock: &c.mu, Set: c.set, Remove: c.remove, SetAll: c.setAll,
		Read: func(node *corev1.Node) (inventory.Node, error) { return Translate(node, selector), nil },
	}
	c.expiry = time.AfterFunc(grace, c.expired)
	c.expiry.Stop()
	return c
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
		why := cmp.Or(c.last, errors.New("the watch is not open"))
		return nil, fmt.Errorf("the remote API server has sent no event since %s: %w", c.known.UTC().Format(time.RFC3339), why)
	}
	owned := slices.AppendSeq([]inventory.Node{}, maps.Values(c.nodes))
	slices.SortFunc(owned, func(a, b inventory.Node) int { return strings.Compare(a.Name, b.Name) })
	for i := range owned {
		owned[i].Addresses = slices.Clone(owned[i].Addresses)
	}
	return owned, nil
}

func (c *nodeCache) trusted() bool {
	return c.synced && (c.following || time.Since(c.known) < c.grace)
}

// connected says that a stream is open. One that resumes goes on from what is
// known; any other begins with a complete list, which ends in Replace.
func (c *nodeCache) connected(resumes bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.open = true
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
	c.expiry.Stop()
}

// disconnected says that the stream is closed. Nodes were known until then.
func (c *nodeCache) disconnected() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.last = cmp.Or(c.last, errEnded)
	if c.following {
		c.known = time.Now()
		c.expiry.Reset(c.grace)
	}
	c.open, c.following = false, false
}

// expired notifies the reader if the nodes are no longer to be trusted. What
// happened meanwhile is unknown then, so the watch is not resumed.
func (c *nodeCache) expired() {
	c.mu.Lock()
	over := !c.trusted()
	c.mu.Unlock()
	if over {
		c.notify()
		c.renew()
	}
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

// set takes over a node. Most updates are heartbeats, which change nothing here.
func (c *nodeCache) set(is inventory.Node) {
	if was, known := c.nodes[is.Name]; !known || !reflect.DeepEqual(was, is) {
		c.nodes[is.Name] = is
		c.notify()
	}
}

// remove forgets a node that is gone.
func (c *nodeCache) remove(was inventory.Node) {
	if _, known := c.nodes[was.Name]; known {
		delete(c.nodes, was.Name)
		c.notify()
	}
}

// setAll takes over a complete list.
func (c *nodeCache) setAll(list []inventory.Node, _ string) error {
	nodes := make(map[string]inventory.Node, len(list))
	for _, node := range list {
		nodes[node.Name] = node
	}
	if !c.trusted() || !reflect.DeepEqual(c.nodes, nodes) {
		c.notify()
	}
	c.nodes, c.synced, c.known = nodes, true, time.Now()
	if c.open {
		c.follow()
	}
	c.signal()
	return nil
}
