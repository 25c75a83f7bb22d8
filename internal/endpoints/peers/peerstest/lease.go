// Package peerstest is the Lease, the second one and the API server around which replicas ask each
// other, in memory, for tests in bubbles.
package peerstest

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"sync"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/peers"
)

const (
	// Leader is the identity of the process that leads.
	Leader = "leader_1"
	// request is how long the API server takes for a write, or to tell of one, and renewal how
	// often the leader renews the Lease.
	request, renewal = 5 * time.Millisecond, 2 * time.Second
)

// Lease is what leader and standbys share. Lock it to read the fields while anything runs.
type Lease struct {
	sync.Mutex

	// Notes are those of the leader, Writes counts the lines of standbys, Watches and Reads what
	// the leader asked for, and Open how many watches there are.
	Notes                        []string
	Writes, Watches, Reads, Open int
	// Successor is who gets the Lease, HandedOver when one got it before.
	Successor  string
	HandedOver time.Time
	// Down is why the API server refuses what standbys write; nil while it does not. Slow is how
	// much longer it takes for standbys.
	Down error
	Slow time.Duration

	lines    map[string]string
	each     []func(map[string]string)
	standbys map[string]*peers.Answerer
	later    *string
}

// New returns a Lease.
func New() *Lease {
	return &Lease{lines: make(map[string]string), standbys: make(map[string]*peers.Answerer)}
}

// Run renews the Lease until ctx ends.
func (l *Lease) Run(ctx context.Context) {
	ticker := time.NewTicker(renewal)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		l.Lock()
		later := l.later
		l.Unlock()
		if later != nil {
			l.note(*later)
		}
	}
}

// Options are those of the leader's Asker.
func (l *Lease) Options() peers.Options {
	return peers.Options{
		Identity: Leader, Note: l.note, NoteLater: func(text string) { l.With(func() { l.later = &text }) },
		Replies: l.replies, Read: l.read, HandOver: func(identity string) { l.With(func() { l.Successor = identity }) },
		HandedOver: func() (at time.Time) {
			l.With(func() { at = l.HandedOver })
			return at
		},
	}
}

// With does something under the lock.
func (l *Lease) With(do func()) {
	l.Lock()
	defer l.Unlock()
	do()
}

func (l *Lease) note(text string) {
	l.With(func() {
		l.later, l.Notes = nil, append(l.Notes, text)
		for _, s := range l.standbys {
			time.AfterFunc(request+l.Slow, func() { l.tell(s) })
		}
	})
}

// tell tells a standby the note of now: one that is over is not told after a newer one.
func (l *Lease) tell(s *peers.Answerer) {
	l.With(func() { s.Hear(Leader, l.Notes[len(l.Notes)-1]) })
}

func (l *Lease) replies(ctx context.Context, each func(map[string]string)) {
	var lines map[string]string
	l.With(func() {
		l.Watches, l.Open = l.Watches+1, l.Open+1
		if l.Down == nil {
			l.each, lines = append(l.each, each), maps.Clone(l.lines)
		}
	})
	each(lines)
	<-ctx.Done()
	l.With(func() { l.each, l.Open = nil, l.Open-1 })
}

func (l *Lease) read(context.Context) (map[string]string, error) {
	l.Lock()
	defer l.Unlock()
	l.Reads++
	return maps.Clone(l.lines), l.Down
}

// Reply is what standbys write.
func (l *Lease) Reply(ctx context.Context, replica, text string, keep func(text, holder string) bool) error {
	l.Lock()
	takes := request + l.Slow
	l.Unlock()
	<-time.After(takes)
	l.Lock()
	l.Writes++
	if l.Down != nil || ctx.Err() != nil {
		defer l.Unlock()
		return errors.Join(l.Down, ctx.Err())
	}
	maps.DeleteFunc(l.lines, func(_, text string) bool { return !keep(text, Leader) })
	if l.lines[replica] = text; text == "" {
		delete(l.lines, replica)
	}
	lines, each := maps.Clone(l.lines), l.each
	l.Unlock()
	for _, tell := range each {
		tell(lines)
	}
	return nil
}

// Standby returns a replica that stands by until Gone, for the caller to run. reaches says after how
// long it connects to an address, 0 for never. It may connect to 10.0.0.0/16 and
// fd00:1::/64.
func (l *Lease) Standby(name string, reaches func(netip.Addr) time.Duration) *peers.Answerer {
	a := peers.NewAnswerer(peers.AnswererOptions{
		Replica: name, Identity: name + "_1", Node: "node-of-" + name, Reply: l.Reply, Failed: func(error) {},
		Allowed: func(address netip.Addr) bool {
			return netip.MustParsePrefix("10.0.0.0/16").Contains(address) || netip.MustParsePrefix("fd00:1::/64").Contains(address)
		},
		Dial: func(ctx context.Context, to netip.AddrPort) error {
			after := reaches(to.Addr())
			if after == 0 {
				after = time.Hour
			}
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-time.After(after):
				return nil
			}
		},
	})
	l.Lock()
	defer l.Unlock()
	l.standbys[name] = a
	newest := ""
	if n := len(l.Notes); n > 0 {
		newest = l.Notes[n-1]
	}
	a.Hear(Leader, newest)
	return a
}

// Gone ends that a replica hears anything.
func (l *Lease) Gone(name string) { l.With(func() { delete(l.standbys, name) }) }
