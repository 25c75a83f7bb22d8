package apiserver

import (
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

const (
	// absentMax bounds the pause where the kind or the right is missing, which may last
	// for ever.
	absentMax = 10 * time.Second
	// confirm is how soon a list is repeated that leaves out what was known.
	confirm = 2 * time.Second
)

// kind is what is known of one kind, and its watch.
type kind struct {
	watcher  *Watcher
	name     string
	resource kube.Resource
	watch    *kube.Reflector

	mu      sync.Mutex
	objects map[documents.Key]*object
	// spaces are by namespace, and most is how many bytes each may take.
	spaces map[string]space
	most   int
	// newest is the latest revision of which list or watch told, since the server came back
	// from a backup if it did.
	newest string
	// listed says that there was a complete list since the kind is there, and had that
	// there ever was one.
	listed, had bool
	// missing says that the API server does not have the kind.
	missing bool
}

func newKind(w *Watcher, name string, resource kube.Resource) *kind {
	k := &kind{watcher: w, name: name, resource: resource, objects: make(map[documents.Key]*object), spaces: make(map[string]space), most: mostOfNamespace}
	k.watch = &kube.Reflector{
		Client: w.client, What: name, Resource: resource, Object: &kube.Raw{},
		Store:    &kube.Feed[*kube.Raw, *object]{Lock: &k.mu, Read: k.read, Set: k.set, Remove: k.remove, SetAll: k.replace, Seen: k.seen, Listing: k.bounded},
		Answered: k.answered,
		Longest: func(err error) time.Duration {
			if apierrors.IsNotFound(err) || apierrors.IsForbidden(err) {
				return absentMax
			}
			return 0
		},
	}
	return k
}

// listing is what is known now.
func (k *kind) listing(now time.Time) documents.Listing {
	k.mu.Lock()
	defer k.mu.Unlock()
	l := documents.Listing{Kind: k.name, Known: k.listed, Missing: k.missing, Had: k.had}
	for _, o := range k.objects {
		l.Documents = append(l.Documents, o.document)
	}
	_, stale := k.watch.Stale(now)
	failed := k.watch.Failed()
	switch {
	case k.missing:
	case k.listed && stale != nil:
		l.Problem = "may be out of date: " + stale.Error()
		l.Remedy = "look at the API server, and at the rights of this program"
	case !k.listed && failed != nil:
		l.Problem = "cannot be listed: " + failed.Error()
		l.Remedy = "give this program the right to list and watch " + k.resource.Name + ", or set DOCUMENTS_API=false"
	}
	return l
}

// refused reports whether the right to list is missing.
func (k *kind) refused() bool { return apierrors.IsForbidden(k.watch.Failed()) }

// answered notes what came of a request.
func (k *kind) answered(_ string, err error) {
	if err == nil {
		return
	}
	if apierrors.IsNotFound(err) {
		// Also where a proxy answers for the server: then nothing that was there is gone.
		k.mu.Lock()
		k.missing, k.listed = true, false
		k.mu.Unlock()
	}
	k.watcher.signal()
}

// object is one object of the API server.
type object struct {
	document documents.Document
	version  string
	// has is what the object says of itself, and sent what was written into this version
	// of it where the API server stored something else: a definition of another version may
	// drop fields. Then that is not written again and again.
	has  summary
	sent *attempt
	// leftOut says that the newest list does not have it.
	leftOut bool
	// size is about how many bytes are kept of it, also of what it said before where that is in
	// effect. refused says that there was no room for what it says.
	size    int
	refused bool
}

// read decodes an object.
func (k *kind) read(raw *kube.Raw) (*object, error) {
	document, err := documents.DecodeObject(raw.JSON)
	document.Key.Kind = k.name
	return &object{document: document, version: raw.ResourceVersion, has: k.summary(raw.JSON), size: sizeOf(document)}, err
}

// set takes over an object, also its document where the generation is the one before: while
// the API server takes a definition of another version, the watch that ends may leave out
// fields that are stored.
func (k *kind) set(o *object) {
	if before := k.objects[o.document.Key]; before != nil && before.version == o.version {
		o.sent = before.sent
	}
	o = k.fit(o)
	k.objects[o.document.Key] = o
	k.tell(o.document.Key.Namespace)
}

// remove forgets an object that is gone.
func (k *kind) remove(o *object) {
	k.count(k.objects[o.document.Key], -1)
	delete(k.objects, o.document.Key)
	k.tell(o.document.Key.Namespace)
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
		undone := o.document.Undone || back
		if now[key] != nil {
			continue
		}
		if o.leftOut && !undone || key.Name == documents.Rest {
			k.count(o, -1)
			continue
		}
		kept := *o
		kept.leftOut, kept.document.Undone = true, undone
		now[key], leftOut = &kept, leftOut || !undone
	}
	slices.SortFunc(all, func(a, b *object) int { return a.size - b.size }) // most fit where the smallest come first
	for _, o := range all {
		delete(now, o.document.Key)
		o = k.fit(o)
		now[o.document.Key] = o
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
