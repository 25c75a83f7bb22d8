package apiserver

import (
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

// object is one object of the API server.
type object struct {
	document documents.Document
	version  string
	// has is what the object says of itself, and sent what was written into this version
	// of it where the API server stored something else: a definition of another version may
	// drop fields. Then that is not written again and again.
	has  summary
	sent *attempt
	// leftOut says that the newest list does not have it, and undone that it was lost when
	// the server came back from a backup.
	leftOut, undone bool
}

// read decodes an object.
func (k *kind) read(raw *kube.Raw) (*object, error) {
	document, err := documents.DecodeObject(raw.JSON)
	document.Key.Kind = k.name
	return &object{document: document, version: raw.ResourceVersion, has: k.summary(raw.JSON)}, err
}

// set takes over an object, also its document where the generation is the one before: while
// the API server takes a definition of another version, the watch that ends may leave out
// fields that are stored.
func (k *kind) set(o *object) {
	if before := k.objects[o.document.Key]; before != nil && before.version == o.version {
		o.sent = before.sent
	}
	k.objects[o.document.Key] = o
	k.watcher.signal()
}

// remove forgets an object that is gone.
func (k *kind) remove(o *object) {
	delete(k.objects, o.document.Key)
	k.watcher.signal()
}

// replace takes over a complete list, with every document of it: after a backup an object
// may have the generation of one that said something else. What was known and is not in it
// stays until a second list leaves it out too: a cache of long ago may not know all that
// there is. A list of a lower revision than one before is that of a server that came back
// from a backup: what it leaves out was not deleted, and stays until there is one again.
func (k *kind) replace(all []*object, revision string) error {
	back := newer(k.newest, revision)
	k.newest = revision
	now := make(map[documents.Key]*object, len(all))
	for _, o := range all {
		now[o.document.Key] = o
	}
	leftOut := false
	for key, o := range k.objects {
		undone := o.undone || back
		if now[key] != nil || o.leftOut && !undone {
			continue
		}
		kept := *o
		kept.leftOut, kept.undone = true, undone
		now[key], leftOut = &kept, leftOut || !undone
	}
	k.objects, k.listed, k.had, k.missing = now, true, true, false
	if leftOut {
		time.AfterFunc(confirm, k.watch.ListAgain)
	}
	k.watcher.signal()
	return nil
}

// seen takes over up to which revision the watch has told everything.
func (k *kind) seen(revision string) {
	if newer(revision, k.newest) {
		k.newest = revision
	}
}

// newer reports whether a revision is surely later than another one.
func newer(revision, than string) bool {
	order, err := resourceversion.CompareResourceVersion(revision, than)
	return err == nil && order > 0
}
