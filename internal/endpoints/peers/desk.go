package peers

import (
	"net/netip"
	"slices"
	"sync/atomic"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

// Desk is where one loop asks, about endpoints that it checks at one port. A nil Desk asks
// no replica. Its methods are for one goroutine.
type Desk struct {
	asker   *Asker
	port    uint16
	timeout time.Duration
	ready   chan struct{}
	// asks is what the loop asks now.
	asks []guard.Ask

	// The rest is the Asker's: what was asked about each address, what was answered and not
	// taken, and the addresses that the loop reaches.
	inquiries map[netip.Addr]*inquiry
	results   []inventory.Result
	passing   []netip.Addr
	// compares says that passing is wanted.
	compares atomic.Bool
}

// inquiry is what was asked about one address.
type inquiry struct {
	// failure is when the check was sent that was asked about last.
	failure time.Time
	// waiting are the questions that have no answer, oldest first, and missed is the number of
	// the last one that a replica tried in vain.
	waiting []openQuestion
	missed  int64
}

// openQuestion is a question without an answer.
type openQuestion struct {
	guard.Ask
	number int64
}

// mostWaiting bounds the questions about one address that wait for an answer.
const mostWaiting = 4

// add adds a question.
func (i *inquiry) add(ask guard.Ask, number int64) {
	i.failure = ask.At
	i.waiting = append(i.waiting, openQuestion{ask, number})
	i.waiting = i.waiting[max(0, len(i.waiting)-mostWaiting):]
}

// answer returns the newest question that the number answers. Those before it need no answer
// any more.
func (i *inquiry) answer(number int64) (last guard.Ask, ok bool) {
	for len(i.waiting) > 0 && i.waiting[0].number <= number {
		last, ok = i.waiting[0].Ask, true
		i.waiting = i.waiting[1:]
	}
	return last, ok
}

// Join returns a desk for a loop, which must Close it.
func (a *Asker) Join(port uint16, timeout time.Duration) *Desk {
	d := &Desk{asker: a, port: port, timeout: timeout, ready: make(chan struct{}, 1), inquiries: make(map[netip.Addr]*inquiry)}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.desks[d] = true
	return d
}

// Close ends the desk: nothing is asked for it any more.
func (d *Desk) Close() {
	if d == nil {
		return
	}
	d.Set(nil)
	d.asker.mu.Lock()
	defer d.asker.mu.Unlock()
	delete(d.asker.desks, d)
}

// Set says what is asked now, in place of what was asked before. It costs nothing where that
// is the same.
func (d *Desk) Set(asks []guard.Ask) {
	if d == nil || slices.Equal(asks, d.asks) {
		return
	}
	d.asks = asks
	d.asker.set(d)
}

// Ready returns a channel that yields a value when there are results to Take.
func (d *Desk) Ready() <-chan struct{} {
	if d == nil {
		return nil
	}
	return d.ready
}

// Take returns the answers that have come since the last call.
func (d *Desk) Take() []inventory.Result {
	d.asker.mu.Lock()
	defer d.asker.mu.Unlock()
	results := d.results
	d.results = nil
	return results
}

// Compares says whether the leader wants to know what the loop reaches: Reaches tells it.
func (d *Desk) Compares() bool { return d != nil && d.compares.Load() }

// Reaches says which addresses pass their checks.
func (d *Desk) Reaches(passing []netip.Addr) {
	d.asker.mu.Lock()
	defer d.asker.mu.Unlock()
	d.passing = passing
}

// reached hands out that a replica reaches an endpoint.
func (d *Desk) reached(is answer, replica string) {
	if i := d.inquiries[is.Endpoint.Addr()]; i != nil {
		if last, ok := i.answer(is.Number); ok {
			d.hand(last, replica, false)
		}
	}
}

// missed hands out that a replica does not, once for each question. Another one still may.
func (d *Desk) missed(is answer, replica string) {
	i := d.inquiries[is.Endpoint.Addr()]
	if i == nil || is.Number <= i.missed {
		return
	}
	i.missed = is.Number
	for n := len(i.waiting) - 1; n >= 0; n-- {
		if i.waiting[n].number <= is.Number {
			d.hand(i.waiting[n].Ask, replica, true)
			return
		}
	}
}

func (d *Desk) hand(of guard.Ask, replica string, missed bool) {
	d.results = append(d.results, inventory.Result{Address: of.Address, At: of.At, Outcome: inventory.Elsewhere, Failures: of.Failures, Missed: missed, Message: replica})
	transport.Signal(d.ready)
}
