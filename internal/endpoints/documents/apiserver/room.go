package apiserver

import (
	"fmt"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
)

const (
	// mostOfNamespace bounds what is kept of the bindings of one namespace: whoever may write
	// there decides how many there are, and how much they say. Of a list that is not complete
	// yet twice that is enough to choose from.
	mostOfNamespace = 16 << 20
	// perBinding is what a binding takes without its ports and mistakes, and perPort a port.
	perBinding, perPort = 1 << 10, 128
	// mostNamed is how many bindings of one namespace are known by name that there is no room for.
	// All others of those of which nothing is in effect are known as one.
	mostNamed = 1000
)

// space is how many bytes the bindings of a namespace take, and how many of them were refused.
type space struct{ used, refused int }

// sizeOf is about how many bytes are kept of a binding. Pools are the platform's own.
func sizeOf(d documents.Document) (size int) {
	if d.Key.Namespace == "" {
		return 0
	}
	if size = perBinding; d.Binding != nil {
		size += perPort * len(d.Binding.Spec.Ports)
	}
	for _, m := range d.Mistakes {
		size += 2 * len(m.Error())
	}
	return size
}

// refuse leaves of a binding without room that it exists, and how its endpoints are checked. The
// version in effect stays, and goes on taking its bytes.
func (o object) refuse(inEffect, most int) *object {
	o.document.Binding, o.size, o.refused = nil, inEffect, true
	o.document.Mistakes = []documents.Mistake{{
		File: documents.APIServer, Document: o.document.Key.String(),
		Rule:   fmt.Sprintf("has no room: the bindings of one namespace may take %d MiB together", most>>20),
		Remedy: "delete bindings of the namespace, or remove ports from them",
	}}
	return &o
}

// rest stands for the bindings of a namespace that are not known by name. It lasts until the next list.
func (k *kind) rest(namespace string) *object {
	key := documents.Key{Kind: k.name, Namespace: namespace, Name: documents.Rest}
	return &object{leftOut: true, document: documents.Document{Key: key, Object: new(documents.Object), Mistakes: []documents.Mistake{{
		File: documents.APIServer, Document: key.String(),
		Rule:   fmt.Sprintf("has no room: more than %d bindings of the namespace have none, and the others are not known by name, so what is published there stays", mostNamed),
		Remedy: "delete bindings of the namespace, or remove ports from them",
	}}}}
}

// size returns how many bytes the known version of an object takes. The lock is held.
func (k *kind) size(key documents.Key) int {
	if o := k.objects[key]; o != nil {
		return o.size
	}
	return 0
}

// fit returns what is kept of an object in place of the known version: the rest, where its name is not
// kept. The lock is held.
func (k *kind) fit(o *object) *object {
	before := k.size(o.document.Key)
	k.count(k.objects[o.document.Key], -1)
	if len(o.document.Mistakes) > 0 { // the version before stays in effect
		o.size = max(o.size, before)
	}
	if o.size > before && k.spaces[o.document.Key.Namespace].used+o.size > k.most {
		o = o.refuse(before, k.most)
	}
	if o.refused && o.size == 0 && k.spaces[o.document.Key.Namespace].refused >= mostNamed {
		return k.rest(o.document.Key.Namespace)
	}
	k.count(o, 1)
	return o
}

// count adds what an object takes, or takes it away. The lock is held.
func (k *kind) count(o *object, sign int) {
	if o == nil {
		return
	}
	namespace := o.document.Key.Namespace
	s := k.spaces[namespace]
	if s.used += sign * o.size; o.refused {
		s.refused += sign
	}
	if k.spaces[namespace] = s; s == (space{}) {
		delete(k.spaces, namespace)
	}
}

// tell says that something changed in a namespace. Where half of its room or of the names is free,
// what was refused is listed again. The lock is held.
func (k *kind) tell(namespace string) {
	s, rest := k.spaces[namespace], k.objects[documents.Key{Kind: k.name, Namespace: namespace, Name: documents.Rest}]
	if s.refused > 0 && s.used <= k.most/2 || rest != nil && s.refused <= mostNamed/2 {
		k.watch.ListAgain()
	}
	k.watcher.signal()
}

// bounded returns what is applied to each object of one list as it comes.
func (k *kind) bounded() func(*object) *object {
	used := make(map[string]int)
	return func(o *object) *object {
		k.mu.Lock()
		defer k.mu.Unlock()
		namespace, before := o.document.Key.Namespace, k.size(o.document.Key)
		if o.size > before && used[namespace]+o.size > 2*k.most {
			o = o.refuse(before, k.most)
		}
		used[namespace] += o.size
		return o
	}
}
