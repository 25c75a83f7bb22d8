package kinds

import (
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kubeapi"
)

// object is one object of the API server.
type object struct {
	document documents.Document
	version  string
	// said is what the object says of itself, and sent what was written into this version
	// of it where the API server stored something else: a definition of another version may
	// drop fields. Then that is not written again and again.
	said said
	sent *sent
	// leftOut says that the newest list does not have it.
	leftOut bool
}

// read decodes an object.
func (k *kind) read(raw *kubeapi.Raw) (*object, error) {
	document, err := documents.DecodeObject(raw.JSON)
	document.Key.Kind = k.name
	return &object{document: document, version: raw.ResourceVersion, said: k.said(raw.JSON)}, err
}

// set takes over an object. Its document stays the one that it was where only the status
// changed since the version that the watch told before.
func (k *kind) set(o *object) {
	is := o.document.Object
	if before := k.objects[o.document.Key]; before != nil && before.document.Object.UID == is.UID && before.document.Object.Generation == is.Generation && is.Generation > 0 {
		o.document = before.document
		if before.version == o.version {
			o.sent = before.sent
		}
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
// stays until a second list leaves it out too: a server that comes back from a backup, or a
// cache of long ago, may not know all that there is.
func (k *kind) replace(all []*object, _ string) error {
	now := make(map[documents.Key]*object, len(all))
	for _, o := range all {
		now[o.document.Key] = o
	}
	leftOut := false
	for key, o := range k.objects {
		if now[key] == nil && !o.leftOut {
			kept := *o
			kept.leftOut, leftOut = true, true
			now[key] = &kept
		}
	}
	k.objects, k.listed, k.had, k.missing = now, true, true, false
	if leftOut {
		time.AfterFunc(confirm, k.watch.ListAgain)
	}
	k.watcher.signal()
	return nil
}
