package kubernetes

import (
	"errors"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/tools/cache"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
)

// The methods by which the reflector fills the cache.

var errForeignType = errors.New("the watch of nodes sent an object that is not a node")

// Add takes over a new node.
func (c *nodeCache) Add(object any) error { return c.Update(object) }

// Update takes over a node that changed. Most updates are heartbeats, which
// change nothing here.
func (c *nodeCache) Update(object any) error {
	node, ok := object.(*corev1.Node)
	if !ok {
		return errForeignType
	}
	is := Translate(node, c.selector)
	c.mu.Lock()
	c.delivered = true
	i, known := c.find(is.Name)
	news := !known || !equal(c.nodes[i], is)
	switch {
	case news && known:
		c.nodes[i] = is
	case news:
		c.nodes = slices.Insert(c.nodes, i, is)
	}
	c.mu.Unlock()
	if news {
		c.notify()
	}
	return nil
}

// Delete forgets a node that is gone.
func (c *nodeCache) Delete(object any) error {
	node, ok := object.(*corev1.Node)
	if !ok {
		return errForeignType
	}
	c.mu.Lock()
	c.delivered = true
	i, known := c.find(node.Name)
	if known {
		c.nodes = slices.Delete(c.nodes, i, i+1)
	}
	c.mu.Unlock()
	if known {
		c.notify()
	}
	return nil
}

// Replace takes over a complete list.
func (c *nodeCache) Replace(objects []any, _ string) error {
	nodes := make([]inventory.Node, 0, len(objects))
	for _, object := range objects {
		node, ok := object.(*corev1.Node)
		if !ok {
			return errForeignType
		}
		nodes = append(nodes, Translate(node, c.selector))
	}
	slices.SortFunc(nodes, func(a, b inventory.Node) int { return strings.Compare(a.Name, b.Name) })
	c.mu.Lock()
	news := !c.trusted() || !slices.EqualFunc(c.nodes, nodes, equal)
	c.nodes, c.synced, c.delivered, c.known = nodes, true, true, time.Now()
	c.lists++
	if c.open {
		c.follow()
	}
	c.signal()
	c.mu.Unlock()
	if news {
		c.notify()
	}
	return nil
}

// Transformer is applied to what is kept until a list is complete.
func (c *nodeCache) Transformer() cache.TransformFunc {
	return func(object any) (any, error) {
		if node, ok := object.(*corev1.Node); ok {
			return slim(node), nil
		}
		return object, nil
	}
}

// Resync does nothing; it is never asked for.
func (c *nodeCache) Resync() error { return nil }

// Bookmark says that nothing else happened up to the revision.
func (c *nodeCache) Bookmark(string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.delivered = true
	return nil
}

func (c *nodeCache) find(name string) (int, bool) {
	return slices.BinarySearchFunc(c.nodes, name, func(n inventory.Node, name string) int { return strings.Compare(n.Name, name) })
}

// equal reports whether both nodes are equal.
func equal(a, b inventory.Node) bool {
	return a.ID == b.ID && a.Name == b.Name && a.Zone == b.Zone && a.Ready == b.Ready && a.Worker == b.Worker &&
		a.Leaving == b.Leaving && a.Excluded == b.Excluded && a.Detail == b.Detail && slices.Equal(a.Addresses, b.Addresses)
}
