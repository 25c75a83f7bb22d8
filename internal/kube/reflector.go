package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/cache"
)

const (
	// longestWatch is how long a watch lasts at most before it is opened anew: a right
	// that was taken away is noticed only then. The alert is to come within 90 s, of which
	// Prometheus takes up to 45.
	longestWatch = 30 * time.Second
	// longestSilence is how long a store counts as current after it was known to be so. A
	// Role that is applied anew may be gone for a moment.
	longestSilence = longestWatch + 10*time.Second
	// pauseMin and pauseMax bound the wait before the next attempt, before jitter.
	// client-go's own back-off goes up to a minute. pauseList bounds it where each
	// attempt costs a complete list, which may be 80 MB.
	pauseMin  = 200 * time.Millisecond
	pauseMax  = 2 * time.Second
	pauseList = 20 * time.Second
)

// The verbs of the requests of a Reflector.
const (
	VerbList  = "list"
	VerbWatch = "watch"
)

// Store is what a Reflector tells.
type Store interface {
	cache.TransformingStore
	cache.ResourceVersionUpdater
}

// Reflector keeps a store as the API server is: by rounds of a complete list and the
// watches that go on from it. It says whether what the store was told is current:
//
//	before the first complete list                  nothing is known
//	a list, or a watch that resumed, shows that it
//	was so within longestSilence                    current
//	refused or silent for longer                    stale
type Reflector struct {
	Client   *Client
	Resource Resource
	// What is watched, in messages.
	What string
	// Selection has the labels and fields that select what is watched.
	Selection metav1.ListOptions
	// Object is of the kind that is watched.
	Object runtime.Object
	// Store takes what is told: a Feed.
	Store Store
	// Answered, if set, is called with what came of each request.
	Answered func(verb string, err error)
	// Opened and Ended, if set, are called for each watch that was opened. One that
	// resumes goes on from what the store has; another one begins with a complete list.
	// One that was silent told nothing for so long that a complete list is due.
	Opened func(resumes bool)
	Ended  func(silent bool)
	// Longest, if set, returns how long the pause after an error may be, before jitter;
	// 0 for two seconds.
	Longest func(err error) time.Duration
	// News, if set, returns a channel. That it is closed, during the next attempt or
	// later, ends a pause that Longest made longer.
	News func() <-chan struct{}

	mu sync.Mutex
	// known is when the store was last known to be current, failed why the last request
	// failed.
	known  time.Time
	failed error
	// heard is when the store was last told something, marked when by a bookmark.
	heard, marked time.Time
	// notBefore is when the server wants to be asked again.
	notBefore time.Time
	// stop ends the round that runs.
	stop context.CancelFunc
	// apart says that the next list is a request of its own, silent that this is because the
	// watch was silent; only Run uses them.
	apart, silent bool
}

// Run goes on until ctx ends. An API server that was away is asked again within three
// seconds. One that gives complete lists, and no watch that lasts, is asked ever more
// rarely, up to every 30 s.
func (r *Reflector) Run(ctx context.Context) {
	for pause, costly := pauseMin, pauseMin; ctx.Err() == nil; {
		began, news := time.Now(), (<-chan struct{})(nil)
		if r.News != nil {
			news = r.News()
		}
		costs := r.once(ctx)
		most := pauseMax
		if r.Longest != nil {
			most = cmp.Or(r.Longest(r.Failed()), pauseMax)
		}
		if most == pauseMax {
			news = nil
		}
		if time.Since(began) > longestWatch/2 {
			pause, costly = pauseMin, pauseMin
		}
		pause = min(pause, most)
		wait := pause
		if costs {
			wait, costly = max(pause, costly), min(2*costly, pauseList)
		}
		select {
		case <-ctx.Done():
		case <-news:
			pause = pauseMin
		case <-time.After(wait/2 + rand.N(wait)):
			pause = min(2*pause, most)
		}
	}
}

// ListAgain asks for a new complete list, because the last one was wrong or not kept whole.
func (r *Reflector) ListAgain() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.stop != nil {
		r.stop()
	}
}

// ListOnce gives the store one complete list, in place of Run.
func (r *Reflector) ListOnce(ctx context.Context) {
	list, err := (&round{Reflector: r}).list(ctx, metav1.ListOptions{})
	if err != nil {
		return
	}
	all := make([]any, 0, len(list.Items))
	for _, object := range list.Items {
		all = append(all, object)
	}
	if err := (trackedStore{r.Store, r}).Replace(all, list.ResourceVersion); err != nil {
		r.answered(ctx, VerbList, err)
	}
}

// answered notes what came of a request, unless we ended it ourselves.
func (r *Reflector) answered(ctx context.Context, verb string, err error) {
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return
	}
	r.mu.Lock()
	r.failed = err
	if answer := new(Error); errors.As(err, &answer) && answer.RetryAfter > 0 {
		r.notBefore = time.Now().Add(answer.RetryAfter)
	}
	r.mu.Unlock()
	if r.Answered != nil {
		r.Answered(verb, err)
	}
}

// await waits until the server wants to be asked again.
func (r *Reflector) await(ctx context.Context) error {
	r.mu.Lock()
	wait := time.Until(r.notBefore)
	r.mu.Unlock()
	if !Wait(ctx, wait) {
		return ctx.Err()
	}
	return nil
}

// Known returns when the store was last known to be current; zero where it never was.
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
	err = fmt.Errorf("the watch of %s has sent no event since %s", r.What, r.known.UTC().Format(time.RFC3339))
	if r.failed != nil {
		err = fmt.Errorf("%w: %w", err, r.failed)
	}
	return r.known, err
}

// pace is for how long watches of one resource may tell nothing before a complete list is
// due. One list of many namespaces shows for all what a server is like.
type pace struct {
	mu      sync.Mutex
	silence time.Duration
	// listed is when a complete list was last taken over, doubled when silence last was.
	listed, doubled time.Time
}

// pace returns that of a resource.
func (c *Client) pace(resource string) *pace {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.paces == nil {
		c.paces = make(map[string]*pace)
	}
	if c.paces[resource] == nil {
		c.paces[resource] = &pace{silence: silenceMin}
	}
	return c.paces[resource]
}

func (p *pace) now() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.silence
}

// list notes a complete list, and that a silent watch was the reason.
func (p *pace) list(silent bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.listed = time.Now()
	if silent && time.Since(p.doubled) > p.silence {
		p.silence, p.doubled = min(2*p.silence, silenceMax), p.listed
	}
}

// bookmark notes one that follows another of the same watches, which came at that time. Two
// in a row show that the server sends them, unless lists were why: for a list it asks etcd
// how far it is.
func (p *pace) bookmark(before time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(before) < longestSilence && before.Sub(p.listed) > longestWatch {
		p.silence = silenceMin
	}
}
