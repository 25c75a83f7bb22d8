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

// The methods by which the reflector fills the view.

var errForeignType = errors.New("the watch of nodes told of something else")

// Add takes over a node that the watch tells of.
func (v *view) Add(object any) error { return v.Update(object) }

// Update takes over a node that changed. Most updates are heartbeats, which
// change nothing here.
func (v *view) Update(object any) error {
	node, ok := object.(*corev1.Node)
	if !ok {
		return errForeignType
	}
	is := Translate(node, v.selector)
	v.mu.Lock()
	v.heard = true
	i, known := v.find(is.Name)
	news := !known || !equal(v.nodes[i], is)
	switch {
	case news && known:
		v.nodes[i] = is
	case news:
		v.nodes = slices.Insert(v.nodes, i, is)
	}
	v.mu.Unlock()
	if news {
		v.notify()
	}
	return nil
}

// Delete forgets a node that is gone.
func (v *view) Delete(object any) error {
	node, ok := object.(*corev1.Node)
	if !ok {
		return errForeignType
	}
	v.mu.Lock()
	v.heard = true
	i, known := v.find(node.Name)
	if known {
		v.nodes = slices.Delete(v.nodes, i, i+1)
	}
	v.mu.Unlock()
	if known {
		v.notify()
	}
	return nil
}

// Replace takes over a complete list.
func (v *view) Replace(objects []any, _ string) error {
	nodes := make([]inventory.Node, 0, len(objects))
	for _, object := range objects {
		node, ok := object.(*corev1.Node)
		if !ok {
			return errForeignType
		}
		nodes = append(nodes, Translate(node, v.selector))
	}
	slices.SortFunc(nodes, func(a, b inventory.Node) int { return strings.Compare(a.Name, b.Name) })
	v.mu.Lock()
	news := !v.trusted() || !slices.EqualFunc(v.nodes, nodes, equal)
	v.nodes, v.synced, v.heard, v.known = nodes, true, true, time.Now()
	v.lists++
	if v.open {
		v.follow()
	}
	v.turn()
	v.mu.Unlock()
	if news {
		v.notify()
	}
	return nil
}

// Transformer is applied to what is kept until a list is complete.
func (v *view) Transformer() cache.TransformFunc {
	return func(object any) (any, error) {
		if node, ok := object.(*corev1.Node); ok {
			return slim(node), nil
		}
		return object, nil
	}
}

// Resync has nothing to do: nobody asks for it.
func (v *view) Resync() error { return nil }

// Bookmark says that nothing else happened up to the revision.
func (v *view) Bookmark(string) error {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.heard = true
	return nil
}

func (v *view) find(name string) (int, bool) {
	return slices.BinarySearchFunc(v.nodes, name, func(n inventory.Node, name string) int { return strings.Compare(n.Name, name) })
}

// equal reports whether both say the same.
func equal(a, b inventory.Node) bool {
	return a.ID == b.ID && a.Name == b.Name && a.Zone == b.Zone && a.Ready == b.Ready && a.Worker == b.Worker &&
		a.Leaving == b.Leaving && a.Excluded == b.Excluded && a.Detail == b.Detail && slices.Equal(a.Addresses, b.Addresses)
}
