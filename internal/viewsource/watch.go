package viewsource

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kubeapi"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/viewcache"
)

const (
	// longestWatch is how long a watch lasts before it is opened anew: a right that
	// was taken away is noticed only then.
	longestWatch = time.Minute
	// pauseMin and pauseMax bound the wait before the next attempt, before jitter.
	pauseMin = 200 * time.Millisecond
	pauseMax = 2 * time.Second
	// longestSilence is how long after its last answer a watch counts as current.
	longestSilence = longestWatch + 15*time.Second
)

// watched is one kind in one scope.
type watched struct {
	client   *kubeapi.Client
	resource kubeapi.Resource
	object   runtime.Object
	list     func() runtime.Object
	store    *store
	sight    sight
	requests *requests

	mu sync.Mutex
	// stop ends what runs at the moment, so that a new complete list is made.
	stop context.CancelFunc
}

// listAgain asks for a new complete list, because the last one was wrong.
func (w *watched) listAgain() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stop != nil {
		w.stop()
	}
}

// answered notes what came of a request.
func (w *watched) answered(verb string, err error) {
	w.requests.note(verb, err)
	w.sight.answered(err)
}

// once lists and watches until something ends it.
func (w *watched) once(ctx context.Context, reflection kubeapi.Reflection) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	w.mu.Lock()
	w.stop = cancel
	w.mu.Unlock()
	_ = reflection.Run(ctx) // its error was noted where it arose
}

// run keeps the cache up to date until ctx ends. An API server that was away is asked
// again within three seconds.
func (w *watched) run(ctx context.Context) {
	reflection := kubeapi.Reflection{
		Object: w.object, Store: w.store,
		Backoff: wait.Backoff{Duration: pauseMin, Factor: 2, Jitter: 0.5, Steps: 10, Cap: pauseMax},
		List: func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
			list := w.list()
			err := w.client.List(ctx, w.resource, options, list)
			w.answered(verbList, err)
			return list, err
		},
		Watch: func(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
			seconds := int64((longestWatch - rand.N(longestWatch/4)).Seconds())
			options.TimeoutSeconds = &seconds
			events, err := w.client.Watch(ctx, w.resource, options)
			w.answered(verbWatch, err)
			return events, err
		},
	}
	for pause := pauseMin; ctx.Err() == nil; pause = min(2*pause, pauseMax) {
		began := time.Now()
		w.once(ctx, reflection)
		if time.Since(began) > longestWatch/2 {
			pause = pauseMin
		}
		timer := time.NewTimer(pause/2 + rand.N(pause))
		select {
		case <-ctx.Done():
		case <-timer.C:
		}
		timer.Stop()
	}
}

// store hands on to the cache what the reflector tells.
type store struct {
	cache *viewcache.Cache
	scope int
	kind  viewcache.Kind
	input func(object any) (viewcache.Input, error)
	// replaced is called after each complete list, again where one was wrong.
	replaced, again func()
}

// Add takes over an object that the watch tells of.
func (s *store) Add(object any) error { return s.Update(object) }

// Update takes over an object that changed.
func (s *store) Update(object any) error {
	in, err := s.input(object)
	if err == nil && s.cache.Set(s.scope, s.kind, in) {
		s.again()
	}
	return err
}

// Delete forgets an object that is gone.
func (s *store) Delete(object any) error {
	in, err := s.input(object)
	if err == nil && s.cache.Delete(s.scope, s.kind, in) {
		s.again()
	}
	return err
}

// Replace takes over a complete list.
func (s *store) Replace(objects []any, text string) error {
	revision, err := viewcache.ParseRevision(text)
	if err != nil {
		return fmt.Errorf("the list of %s: %w", s.kind, err)
	}
	all := make([]viewcache.Input, 0, len(objects))
	for _, object := range objects {
		in, err := s.input(object)
		if err != nil {
			return err
		}
		all = append(all, in)
	}
	err = s.cache.Replace(s.scope, s.kind, all, revision)
	s.replaced()
	return err
}

// Resync has nothing to do.
func (s *store) Resync() error { return nil }

// Bookmark says that nothing else happened up to the revision.
func (s *store) Bookmark(text string) error {
	revision, err := viewcache.ParseRevision(text)
	if err == nil {
		s.cache.Bookmark(s.scope, s.kind, revision)
	}
	return err
}

// sight says whether what a watch has told is current.
type sight struct {
	what string

	mu sync.Mutex
	// known is when the server last accepted a request, failed why it did not since.
	known  time.Time
	failed error
}

// answered notes what came of a request.
func (s *sight) answered(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failed = err
	if err == nil {
		s.known = time.Now()
	}
}

// last is when the server last accepted a request; zero where it never did.
func (s *sight) last() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.known
}

// stale returns since when the watch tells nothing, and why; a nil error while it is
// current, and before its first answer.
func (s *sight) stale(now time.Time) (time.Time, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.known.IsZero() || now.Sub(s.known) < longestSilence {
		return time.Time{}, nil
	}
	text := fmt.Sprintf("the watch of %s has sent nothing since %s", s.what, s.known.UTC().Format(time.RFC3339))
	if s.failed == nil {
		return s.known, fmt.Errorf("%s", text)
	}
	return s.known, fmt.Errorf("%s: %w", text, s.failed)
}

// trouble is why there was no answer yet, nil if there was one.
func (s *sight) trouble() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.failed == nil {
		return nil
	}
	return fmt.Errorf("watch %s: %w", s.what, s.failed)
}
