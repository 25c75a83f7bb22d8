package events

import (
	"cmp"
	"context"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	eventsv1 "k8s.io/api/events/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

// Controller is the reportingController of every Event.
const Controller = "ionos-endpointslice-controller"

const (
	// defaultQueue is how many notices wait for their delivery.
	defaultQueue = 64
	// burst and every are the allowance of one reason: so many Events at once,
	// then one in that time. Endpoints that flap all day leave at most some four
	// hundred Events of a reason in the hour for which a server keeps them.
	burst = 25
	every = 10 * time.Second
	// togetherBurst and together are the allowance of all Services: so many Events at
	// once, then one in that time. When a node of 1,000 Services dies, their slices are
	// more urgent than as many Events.
	togetherBurst = 25
	together      = 100 * time.Millisecond
	// grace is how long Run goes on delivering what is queued when it is told to
	// stop.
	grace = time.Second
)

// Options are what New needs.
type Options struct {
	// Client sends the Events. Run closes it.
	Client *kube.Client
	// Queue is how many notices may wait for their delivery; 64 by default.
	Queue int
	// Instance tells the processes that report apart: the name of the Pod.
	Instance string
	// Trouble is called once when Events of a namespace cannot be delivered, with the remedy,
	// and with nil when those of all can again.
	Trouble func(err error)
}

// Stats counts what became of notices since the start.
type Stats struct {
	// Delivered: the server has the Event.
	Delivered uint64
	// Dropped: there was no room for it, or no time.
	Dropped uint64
	// Failed: the server did not accept it in all attempts.
	Failed uint64
}

// Announcer takes notices and delivers them as Events. Its methods may be called
// at the same time.
type Announcer struct {
	opts Options
	// queued says that there is something in the queue, and retries are the notices of namespaces
	// where the last one was not delivered.
	queued  chan struct{}
	retries chan item
	pace    *rate.Limiter

	delivered, dropped, failed atomic.Uint64

	mu    sync.Mutex
	queue line
	// troubled are those namespaces; told says that trouble was reported, and not its end.
	troubled map[string]trouble
	told     bool
	newest   time.Time
}

// Subject is a Service that Events are about. It has an allowance of its own, so that
// one that flaps takes none from others.
type Subject struct {
	announcer          *Announcer
	namespace, service string
	allowed            map[explain.NoticeReason]*rate.Limiter
	leftOut            map[explain.NoticeReason]int
}

// item is one notice that waits.
type item struct {
	explain.Notice
	subject *Subject
	at      time.Time
	// leftOut is how many of that reason before it were not delivered.
	leftOut int
	// event is what is sent. It was sent so many tries, and is not sent again before then; sent
	// says that the server may have it.
	event     *eventsv1.Event
	tries     int
	notBefore time.Time
	sent      bool
}

// New neither sends nor starts anything.
func New(opts Options) *Announcer {
	room := cmp.Or(opts.Queue, defaultQueue)
	return &Announcer{
		opts: opts, queue: newLine(room), queued: make(chan struct{}, 1), retries: make(chan item, room), troubled: make(map[string]trouble),
		pace: rate.NewLimiter(rate.Every(together), togetherBurst),
	}
}

// About returns the Subject of one Service.
func (a *Announcer) About(namespace, service string) *Subject {
	return &Subject{
		announcer: a, namespace: namespace, service: service,
		allowed: make(map[explain.NoticeReason]*rate.Limiter), leftOut: make(map[explain.NoticeReason]int),
	}
}

// Stats returns what became of the notices so far.
func (a *Announcer) Stats() Stats {
	return Stats{a.delivered.Load(), a.dropped.Load(), a.failed.Load()}
}

// Announce queues a notice and returns at once. Where there is no room, one of the namespace
// that has the most in the queue is left out.
func (s *Subject) Announce(notice explain.Notice) {
	a, i := s.announcer, item{Notice: notice, subject: s, at: time.Now()}
	a.mu.Lock()
	defer a.mu.Unlock()
	limiter, ok := s.allowed[i.Reason]
	if !ok {
		limiter = rate.NewLimiter(rate.Every(every), burst)
		s.allowed[i.Reason] = limiter
	}
	// Each has a time of its own, for its name comes from it.
	if !i.at.After(a.newest) {
		i.at = a.newest.Add(1)
	}
	a.newest, i.leftOut = i.at, s.leftOut[i.Reason]
	delete(s.leftOut, i.Reason)
	left := &i
	if limiter.AllowN(i.at, 1) {
		left = a.queue.add(i)
		kube.Signal(a.queued)
	}
	if left != nil {
		left.leaveOut(&a.dropped)
	}
}

// Run delivers until ctx ends, and then for a second at the most what is queued.
func (a *Announcer) Run(ctx context.Context) error {
	defer a.opts.Client.Close()
	// Requests outlive ctx, so that the last notices of the loop are sent.
	last, cancel := context.WithCancel(context.WithoutCancel(ctx))
	defer cancel()
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(grace, cancel) })
	defer stop()
	var retrying sync.WaitGroup
	retrying.Go(func() { a.retry(ctx, last) })
	defer retrying.Wait()
	defer close(a.retries)
	for {
		i, ok := a.next()
		switch {
		case ok:
			_ = a.pace.Wait(ctx) // at the end nothing waits
			a.deliver(ctx, last, i)
			continue
		case ctx.Err() != nil:
			return nil
		}
		select {
		case <-a.queued:
		case <-ctx.Done():
		}
	}
}

// next takes the next notice from the queue.
func (a *Announcer) next() (item, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	namespace, ok := a.queue.turn()
	if !ok {
		return item{}, false
	}
	return a.queue.take(namespace), true
}
