package kubeapi

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
)

const (
	// longestWatch is how long a watch lasts before it is opened anew: a right that was
	// taken away is noticed only then.
	longestWatch = time.Minute
	// longestSilence is how long after its last answer a watch counts as current. A Role
	// that is applied anew may be gone for a moment.
	longestSilence = longestWatch + 15*time.Second
	// pauseMin and pauseMax bound the wait before the next attempt, before jitter.
	// client-go's own back-off goes up to a minute.
	pauseMin = 200 * time.Millisecond
	pauseMax = 2 * time.Second
)

// The verbs of the requests of a Reflector.
const (
	VerbList  = "list"
	VerbWatch = "watch"
)

// Reflector keeps a store as the API server is: by a Reflection, and the next one after
// whatever ends it. It says whether what the store was told is current:
//
//	before the first request was accepted    nothing is known
//	accepted within longestSilence           current
//	refused or silent for longer             stale
type Reflector struct {
	Client   *Client
	Resource Resource
	// What is watched, in messages.
	What string
	// Selection has the labels and fields that select what is watched.
	Selection metav1.ListOptions
	// Object is of the kind that is watched, and Empty makes a list of it.
	Object runtime.Object
	Empty  func() runtime.Object
	// Store takes what is told.
	Store cache.ReflectorStore
	// Answered, if set, is called with what came of each request.
	Answered func(verb string, err error)
	// Longest, if set, returns how long the pause after an error may be, before jitter;
	// 0 for two seconds.
	Longest func(err error) time.Duration
	// News, if set, returns a channel. That it is closed, during the next attempt or
	// later, ends a pause that Longest made longer.
	News func() <-chan struct{}

	mu sync.Mutex
	// known is when the server last accepted a request, failed why it did not since.
	known  time.Time
	failed error
	// stop ends the Reflection that runs.
	stop context.CancelFunc
}

// Run goes on until ctx ends. An API server that was away is asked again within three
// seconds.
func (r *Reflector) Run(ctx context.Context) {
	for pause := pauseMin; ctx.Err() == nil; {
		began, news := time.Now(), (<-chan struct{})(nil)
		if r.News != nil {
			news = r.News()
		}
		r.once(ctx)
		most := pauseMax
		if r.Longest != nil {
			most = cmp.Or(r.Longest(r.Failed()), pauseMax)
		}
		if most == pauseMax {
			news = nil
		}
		if time.Since(began) > longestWatch/2 {
			pause = pauseMin
		}
		pause = min(pause, most)
		timer := time.NewTimer(pause/2 + rand.N(pause))
		select {
		case <-ctx.Done():
		case <-news:
			pause = pauseMin
		case <-timer.C:
			pause = min(2*pause, most)
		}
		timer.Stop()
	}
}

// once lists and watches until something ends it.
func (r *Reflector) once(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	r.mu.Lock()
	r.stop = cancel
	r.mu.Unlock()
	_ = Reflection{ // its error was noted where it arose
		Object: r.Object, List: r.list, Watch: r.watch, Store: r.Store,
		Backoff: wait.Backoff{Duration: pauseMin, Factor: 2, Jitter: 0.5, Steps: 10, Cap: pauseMax},
	}.Run(ctx)
}

// ListAgain asks for a new complete list, because the last one was wrong.
func (r *Reflector) ListAgain() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stop != nil {
		r.stop()
	}
}

// ListOnce gives the store one complete list, in place of Run.
func (r *Reflector) ListOnce(ctx context.Context) {
	list, err := r.list(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	var all []any
	err = meta.EachListItem(list, func(object runtime.Object) error {
		all = append(all, object)
		return nil
	})
	if about, ok := list.(metav1.ListInterface); err == nil && ok {
		err = r.Store.Replace(all, about.GetResourceVersion())
	}
	if err != nil {
		r.answered(VerbList, err)
	}
}

func (r *Reflector) list(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
	list := r.Empty()
	err := r.Client.List(ctx, r.Resource, r.selected(options), list)
	r.answered(VerbList, err)
	return list, err
}

func (r *Reflector) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	seconds := int64((longestWatch - rand.N(longestWatch/4)).Seconds())
	options.TimeoutSeconds = &seconds
	events, err := r.Client.Watch(ctx, r.Resource, r.selected(options))
	r.answered(VerbWatch, err)
	return events, err
}

// selected limits a request to what is watched.
func (r *Reflector) selected(options metav1.ListOptions) metav1.ListOptions {
	options.LabelSelector, options.FieldSelector = r.Selection.LabelSelector, r.Selection.FieldSelector
	return options
}

// answered notes what came of a request.
func (r *Reflector) answered(verb string, err error) {
	r.mu.Lock()
	r.failed = err
	if err == nil {
		r.known = time.Now()
	}
	r.mu.Unlock()
	if r.Answered != nil {
		r.Answered(verb, err)
	}
}

// Known returns when the server last accepted a request; zero where it never did.
func (r *Reflector) Known() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known
}

// Failed returns why the last request failed, nil if it did not.
func (r *Reflector) Failed() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.failed
}

// Stale returns since when the watch tells nothing, and why; a nil error while it is
// current, and before the first request was accepted.
func (r *Reflector) Stale(now time.Time) (since time.Time, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.known.IsZero() || now.Sub(r.known) < longestSilence {
		return time.Time{}, nil
	}
	err = fmt.Errorf("the watch of %s has sent nothing since %s", r.What, r.known.UTC().Format(time.RFC3339))
	if r.failed != nil {
		err = fmt.Errorf("%w: %w", err, r.failed)
	}
	return r.known, err
}
