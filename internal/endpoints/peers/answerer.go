package peers

import (
	"context"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

const (
	// gather is how long a connection waits for others before they are written.
	gather = 5 * time.Millisecond
	// again is after how long a line is written again that could not be, seldom after how long
	// at most.
	again, seldom = time.Second, 5 * time.Minute
)

// AnswererOptions are what an Answerer is made of. Node and Dial may be empty, the rest is
// required.
type AnswererOptions struct {
	// Replica is the name of this process for people, Identity what the Lease calls it, and
	// Node the machine that it runs on.
	Replica, Identity, Node string
	// Allowed says whether this process may connect to an address (contract 243).
	Allowed func(netip.Addr) bool
	// Reply writes the line of a replica, none for an empty text, and drops those that are not
	// to be kept. It knows which process holds the Lease.
	Reply func(ctx context.Context, replica, text string, keep func(text, holder string) bool) error
	// Failed gets the error of a line that could not be written, nil after one that was.
	Failed func(error)
	// Dial connects and hangs up; by TCP where it is nil.
	Dial func(ctx context.Context, to netip.AddrPort) error
}

// Answerer tries for a standby what the leader asks about.
type Answerer struct {
	opts AnswererOptions
	news chan struct{}

	mu     sync.Mutex
	leader string
	note   string
}

// NewAnswerer returns an Answerer.
func NewAnswerer(opts AnswererOptions) *Answerer {
	if opts.Dial == nil {
		opts.Dial = dial
	}
	return &Answerer{opts: opts, news: make(chan struct{}, 1)}
}

// Hear takes in what the leader of that identity asks. It does not block.
func (a *Answerer) Hear(leader, note string) {
	a.mu.Lock()
	a.leader, a.note = leader, note
	a.mu.Unlock()
	transport.Signal(a.news)
}

// Run answers until ctx ends, waits for the tries under way, and takes the line away.
func (a *Answerer) Run(ctx context.Context) {
	r := &replies{
		Answerer: a, done: make(chan *try), tries: make(map[netip.AddrPort]*try),
		tried: make(map[netip.AddrPort]*try),
	}
	defer r.leave(ctx)
	ctx, stop := context.WithCancel(ctx)
	defer r.trying.Wait()
	defer stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.news:
			r.take(ctx)
		case t := <-r.done:
			r.finish(ctx, t)
		case <-r.due:
			r.write(ctx)
		}
	}
}

// replies is what Run remembers.
type replies struct {
	*Answerer
	leader string
	// asked are the targets of the newest question, and tries those of them that are tried.
	asked map[netip.AddrPort]target
	tries map[netip.AddrPort]*try
	// tried are those of which the newest try has ended.
	tried  map[netip.AddrPort]*try
	trying sync.WaitGroup
	done   chan *try
	// written is the line that was written last, due says when the next one is to be, nil where
	// nothing has changed, and failures is how many could not be written since.
	written  string
	due      <-chan time.Time
	failures int
}

// try is one try to connect.
type try struct {
	target
	cancel  context.CancelFunc
	reached bool
}

// take takes the newest question in. What is not asked any more is not tried any more.
func (r *replies) take(ctx context.Context) {
	r.mu.Lock()
	leader, note := r.Answerer.leader, r.note
	r.mu.Unlock()
	asked := make(map[netip.AddrPort]target)
	for _, t := range parseQuestion(note) {
		if r.opts.Allowed(t.Endpoint.Addr()) {
			asked[t.Endpoint] = t
		}
	}
	gone := func(endpoint netip.AddrPort, t *try) bool {
		if _, still := asked[endpoint]; still && leader == r.leader {
			return false
		}
		t.cancel()
		return true
	}
	maps.DeleteFunc(r.tried, gone)
	maps.DeleteFunc(r.tries, gone)
	r.leader, r.asked, r.due = leader, asked, time.After(gather)
	for _, t := range asked {
		r.try(ctx, t)
	}
}

// try tries an endpoint unless that was done for this question, or is under way.
func (r *replies) try(ctx context.Context, t target) {
	if last := r.tried[t.Endpoint]; r.tries[t.Endpoint] != nil || last != nil && last.Number >= t.Number {
		return
	}
	ctx, cancel := context.WithCancel(ctx)
	now := &try{target: t, cancel: cancel}
	r.tries[t.Endpoint] = now
	r.trying.Go(func() {
		defer cancel()
		now.reached = r.connect(ctx, t)
		select {
		case r.done <- now:
		case <-ctx.Done():
		}
	})
}

// finish notes how a try ended, and tries again where a newer question came meanwhile.
func (r *replies) finish(ctx context.Context, t *try) {
	if r.tries[t.Endpoint] != t {
		return // it was not asked any more when it ended
	}
	delete(r.tries, t.Endpoint)
	r.tried[t.Endpoint], r.due = t, time.After(gather)
	if newest, still := r.asked[t.Endpoint]; still {
		r.try(ctx, newest)
	}
}

// connect tries for a quarter of the time-out, and then for the whole: what is lost of the first
// try does not count.
func (a *Answerer) connect(ctx context.Context, t target) bool {
	timeout := min(max(time.Duration(t.Timeout)*time.Millisecond, time.Millisecond), longestTimeout)
	for _, within := range []time.Duration{timeout / 4, timeout} {
		bounded, cancel := context.WithTimeout(ctx, within)
		err := a.opts.Dial(bounded, t.Endpoint)
		cancel()
		if err == nil {
			return true
		}
	}
	return false
}

func dial(ctx context.Context, endpoint netip.AddrPort) error {
	dialer := net.Dialer{KeepAlive: -1}
	connection, err := dialer.DialContext(ctx, "tcp", endpoint.String())
	if err != nil {
		return fmt.Errorf("connect to %s: %w", endpoint, err)
	}
	return connection.Close()
}

// line is what is to be written.
func (r *replies) line() string {
	l := Line{Version: protocol, Leader: r.leader, Replica: r.opts.Replica, Identity: r.opts.Identity, Node: r.opts.Node}
	for _, t := range slices.SortedFunc(maps.Values(r.tried), func(a, b *try) int { return a.Endpoint.Compare(b.Endpoint) }) {
		if t.reached {
			l.Reached = append(l.Reached, answer{t.Endpoint, t.Number})
		} else {
			l.Missed = append(l.Missed, answer{t.Endpoint, t.Number})
		}
	}
	return encode(l)
}

// write writes the line, if it is another one. One that cannot be written is written later.
func (r *replies) write(ctx context.Context) {
	line := r.line()
	if r.due = nil; r.leader == "" || line == r.written {
		return
	}
	err := r.opts.Reply(ctx, r.opts.Replica, line, r.keeps)
	if ctx.Err() != nil {
		return
	}
	r.opts.Failed(err)
	if err == nil {
		r.written, r.failures = line, 0
		return
	}
	r.due = time.After(min(again<<min(r.failures, 10), seldom))
	r.failures++
}

// leave takes the line away, if it can within a second: it would count as a replica that looks.
func (r *replies) leave(ctx context.Context) {
	if r.written == "" {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), again)
	defer cancel()
	_ = r.opts.Reply(ctx, r.opts.Replica, "", r.keeps)
}

// keeps says whether a line answers the leader that this replica knows, or the newest one.
func (r *replies) keeps(text, holder string) bool {
	line, ok := ParseLine(text)
	return ok && (line.Leader == r.leader || line.Leader == holder)
}
