package folder

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

const (
	// every is how long a change takes to be seen at most: a mounted ConfigMap takes the
	// kubelet a minute. The files are few and small, so they are read, not watched: a
	// watch sees nothing on many kinds of volumes.
	every = 2 * time.Second
	// settle is how long a change has to stay as it is before it counts: the first half
	// of a file that is being written may well be valid, with fewer documents or subnets.
	settle = 500 * time.Millisecond
	// slow is how long a volume may take to answer.
	slow = 10 * time.Second
)

// Watcher keeps the documents of a folder current.
type Watcher struct {
	dir     string
	read    func(ctx context.Context, dir string) documents.Folder
	changed chan struct{}
	last    *documents.Folder // what set was made of; of Run alone

	mu  sync.Mutex
	set documents.Set
}

// New returns a watcher of a folder, which need not be there yet. Read reads it once, because
// Run compares two looks: Look, or what is around it.
func New(dir string, read func(ctx context.Context, dir string) documents.Folder) *Watcher {
	return &Watcher{dir: dir, read: read, changed: make(chan struct{}, 1)}
}

// Set returns the documents in effect. Before the first look it is one that is not
// complete and has no entries.
func (w *Watcher) Set() documents.Set {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.set
}

// Changed receives a value after the set changed. Several changes may be one value.
func (w *Watcher) Changed() <-chan struct{} { return w.changed }

// Run looks at the folder until ctx ends. What two looks in a row found alike counts. A
// volume that does not answer is told as one that cannot be read, and asked again when it
// has answered.
func (w *Watcher) Run(ctx context.Context) error {
	answers := make(chan documents.Folder, 1)
	var previous *documents.Folder
	for {
		go func() { answers <- w.read(ctx, w.dir) }()
		found, ended := w.await(ctx, answers)
		if ended {
			return nil
		}
		pause := settle
		if previous != nil && reflect.DeepEqual(found, *previous) {
			w.advance(found)
			pause = every
		}
		previous = &found
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
	}
}

// await returns what the look found. After slow it tells that there is no answer, and
// goes on waiting.
func (w *Watcher) await(ctx context.Context, answers <-chan documents.Folder) (found documents.Folder, ended bool) {
	timer := time.NewTimer(slow)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return found, true
		case found = <-answers:
			return found, ctx.Err() != nil
		case <-timer.C:
			w.advance(documents.Folder{
				Problem: fmt.Sprintf("the folder DOCUMENTS_DIR did not answer in %v", slow), Remedy: "look at the volume",
			})
		}
	}
}

// advance folds a look into the set. One that found the same as the last is none.
func (w *Watcher) advance(found documents.Folder) {
	if w.last != nil && reflect.DeepEqual(found, *w.last) {
		return
	}
	before := w.Set()
	after := documents.Advance(before, found)
	w.last = &found
	w.mu.Lock()
	w.set = after
	w.mu.Unlock()
	if after.Generation != before.Generation {
		transport.Signal(w.changed)
	}
}
