package peers

import (
	"cmp"
	"context"
	"maps"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

const (
	// linger is for how long the lines are watched after the last question.
	linger = 10 * time.Second
	// fresh is how old what is known of the replicas may be when somebody looks, and how long
	// after an attempt to read it the next may be. awaits is how long such an attempt takes at most.
	fresh, awaits = 10 * time.Second, time.Second / 2
)

// Options are what an Asker is made of; all are required.
type Options struct {
	// Identity is what the Lease calls this process.
	Identity string
	// Note leaves a text for the standbys, empty for none; NoteLater does with the next renewal.
	Note, NoteLater func(text string)
	// Replies calls a function with the lines of all replicas, and again at each change, until
	// its context ends; it tries again where it cannot. Read reads them once.
	Replies func(ctx context.Context, each func(lines map[string]string))
	Read    func(ctx context.Context) (map[string]string, error)
	// HandOver gives the Lease to the replica of that identity, and HandedOver says when it
	// was given away last.
	HandOver   func(identity string)
	HandedOver func() time.Time
}

// Asker asks for a leader what its standbys reach.
type Asker struct {
	opts Options
	wake chan struct{}
	// looks has the channels that are closed when the lines have been read.
	looks chan chan struct{}

	mu    sync.Mutex
	desks map[*Desk]bool
	// asked are the endpoints that some desk asks about; number is that of the last question,
	// and note what was left for the standbys.
	asked  map[netip.AddrPort]*subject
	number int64
	note   string
	// lines are what the replicas answer this process, by their names, as of looked, which is
	// also when they were last to be read.
	lines  map[string]Line
	looked time.Time
	rivals rivals
}

// subject is an endpoint that is asked about.
type subject struct {
	target
	// first is the number of the first question, reached of the last one that a replica
	// answered with a connection, and desks how many ask.
	first, reached int64
	desks          int
}

// open is 1 where no replica has answered the newest question with a connection, else less.
func (of *subject) open() int64 { return min(1, of.Number-of.reached) }

// New returns an Asker. Run makes it hear.
func New(opts Options) *Asker {
	return &Asker{
		opts: opts, wake: make(chan struct{}, 1), looks: make(chan chan struct{}), desks: make(map[*Desk]bool), asked: make(map[netip.AddrPort]*subject),
		rivals: rivals{since: make(map[string]time.Time)},
	}
}

// set takes in what a desk asks now.
func (a *Asker) set(d *Desk) {
	a.mu.Lock()
	defer a.mu.Unlock()
	now, wanted := false, make(map[netip.Addr]bool, len(d.asks))
	for _, ask := range d.asks {
		wanted[ask.Address] = true
		now = a.ask(d, ask) || now
	}
	for address := range d.inquiries {
		if !wanted[address] {
			a.withdraw(d, address)
		}
	}
	a.write(now)
	transport.Signal(a.wake)
}

// ask asks about an endpoint, unless that was done for this failure, and reports whether the
// question cannot wait: one about an endpoint of which no other waits for an answer cannot.
func (a *Asker) ask(d *Desk, ask guard.Ask) bool {
	i, endpoint := d.inquiries[ask.Address], netip.AddrPortFrom(ask.Address, d.port)
	known := i != nil
	waits := known && len(i.waiting) > 0
	if known && i.failure.Equal(ask.At) {
		return false
	}
	a.number++
	of := a.asked[endpoint]
	if of == nil {
		of = &subject{target: target{Endpoint: endpoint}, first: a.number}
		a.asked[endpoint] = of
	}
	if !known {
		i = &inquiry{}
		d.inquiries[ask.Address] = i
		of.desks++
	}
	of.Number, of.Timeout = a.number, max(of.Timeout, d.timeout.Milliseconds())
	i.add(ask, a.number)
	return ask.Urgent || !waits
}

// withdraw asks no more about an address for a desk.
func (a *Asker) withdraw(d *Desk, address netip.Addr) {
	delete(d.inquiries, address)
	endpoint := netip.AddrPortFrom(address, d.port)
	if of := a.asked[endpoint]; of.desks > 1 {
		of.desks--
		return
	}
	delete(a.asked, endpoint)
}

// write leaves the question for the standbys, and what is compared. Where there are too many
// endpoints, it names those without an answer, and those that are asked about for longest.
func (a *Asker) write(now bool) {
	all := slices.SortedFunc(maps.Values(a.asked), func(a, b *subject) int {
		return cmp.Or(cmp.Compare(b.open(), a.open()), cmp.Compare(a.first, b.first))
	})
	q := question{Version: protocol}
	for _, of := range all[:min(len(all), MaxTargets-len(a.rivals.compared))] {
		q.Targets = append(q.Targets, of.target)
	}
	q.Targets = append(q.Targets, a.rivals.compared...)
	note := ""
	if len(q.Targets) > 0 {
		note = encode(q)
	}
	if note == a.note {
		return
	}
	a.note = note
	if now {
		a.opts.Note(note)
	} else {
		a.opts.NoteLater(note)
	}
}

// hear takes in what the replicas answer. What answers another leader is of another time.
func (a *Asker) hear(lines map[string]string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.lines, a.looked = make(map[string]Line), time.Now()
	for _, text := range lines {
		line, ok := ParseLine(text)
		if !ok || line.Leader != a.opts.Identity || line.Identity == a.opts.Identity {
			continue
		}
		a.lines[line.Replica] = line
		for _, r := range line.Reached {
			if of := a.asked[r.Endpoint]; of != nil {
				of.reached = max(of.reached, r.Number)
			}
			a.answer(r, (*Desk).reached, line.Replica)
		}
		for _, m := range line.Missed {
			a.answer(m, (*Desk).missed, line.Replica)
		}
	}
	transport.Signal(a.wake)
}

// answer hands an answer to the desks that ask about the endpoint.
func (a *Asker) answer(is answer, hand func(d *Desk, is answer, replica string), replica string) {
	if of := a.asked[is.Endpoint]; of == nil || is.Number > of.Number {
		return
	}
	for d := range a.desks {
		if d.port == is.Endpoint.Port() {
			hand(d, is, replica)
		}
	}
}

// Run hears what the replicas answer while something is asked, and gives the Lease away where
// another replica is to lead, until ctx ends.
func (a *Asker) Run(ctx context.Context) {
	h := lineWatch{}
	defer h.over.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	h.over.Go(func() { a.show(ctx) })
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-a.wake:
		case <-timer.C:
		}
		next := linger
		switch {
		case a.contest(time.Now()):
			next = time.Second
			h.begin(ctx, func(ctx context.Context) { a.opts.Replies(ctx, a.hear) })
		case h.end != nil && time.Since(h.last) >= linger:
			h.end()
			h.end = nil
		}
		timer.Reset(next)
	}
}

// lineWatch is a watch of the lines that lasts while it is of use.
type lineWatch struct {
	over sync.WaitGroup
	// end ends it, nil where none runs; last is when it was of use.
	end  context.CancelFunc
	last time.Time
}

// begin begins it unless it runs.
func (h *lineWatch) begin(ctx context.Context, hear func(context.Context)) {
	if h.last = time.Now(); h.end == nil {
		ctx, end := context.WithCancel(ctx)
		h.end = end
		h.over.Go(func() { hear(ctx) })
	}
}

// show reads the lines for those who look, apart from Run: a read that hangs delays no answer.
func (a *Asker) show(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case done := <-a.looks:
			a.refresh(ctx)
			close(done)
		}
	}
}

// refresh reads the lines once, unless they are fresh or were to be read a moment ago.
func (a *Asker) refresh(ctx context.Context) {
	a.mu.Lock()
	old := time.Since(a.looked) >= fresh
	if old {
		a.looked = time.Now()
	}
	a.mu.Unlock()
	if !old {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, awaits)
	defer cancel()
	if lines, err := a.opts.Read(ctx); err == nil {
		a.hear(lines)
	}
}
