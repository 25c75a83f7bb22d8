package peers_test

import (
	"context"
	"errors"
	"maps"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/peers"
)

const (
	port    = 8080
	timeout = time.Second
	// request is how long the API server takes for a write or to tell of one.
	request = 5 * time.Millisecond
	// renewal is how often the leader renews the Lease.
	renewal = 2 * time.Second
)

// world is a leader and its standbys around one Lease, without an API server. It is for one bubble.
type world struct {
	t     *testing.T
	asker *peers.Asker
	ctx   context.Context

	mu         sync.Mutex
	lines      map[string]string
	each       []func(map[string]string)
	standbys   map[string]*peers.Answerer
	later      *string
	notes      []string
	writes     int
	watches    int
	reads      int
	successor  string
	handedOver time.Time
	// down is why the API server refuses; nil while it does not.
	down error
}

func newWorld(t *testing.T) *world {
	w := &world{t: t, ctx: t.Context(), lines: make(map[string]string), standbys: make(map[string]*peers.Answerer)}
	w.asker = peers.New(peers.Options{
		Identity: "leader_1", Note: w.note, NoteLater: func(text string) { w.locked(func() { w.later = &text }) },
		Replies: w.replies, Read: w.read,
		HandOver:   func(identity string) { w.locked(func() { w.successor = identity }) },
		HandedOver: func() time.Time { w.mu.Lock(); defer w.mu.Unlock(); return w.handedOver },
	})
	w.start(func(ctx context.Context) { w.asker.Run(ctx) })
	w.start(func(ctx context.Context) {
		for ticker := time.NewTicker(renewal); ; {
			select {
			case <-ctx.Done():
				ticker.Stop()
				return
			case <-ticker.C:
				w.mu.Lock()
				later := w.later
				w.later = nil
				w.mu.Unlock()
				if later != nil {
					w.note(*later)
				}
			}
		}
	})
	return w
}

func (w *world) locked(do func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	do()
}

// start runs something until the test ends.
func (w *world) start(run func(context.Context)) {
	ctx, stop := context.WithCancel(context.WithoutCancel(w.ctx))
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		run(ctx)
	}()
	w.t.Cleanup(func() {
		stop()
		<-ended
	})
}

// note is the Lease with what the leader leaves there.
func (w *world) note(text string) {
	w.locked(func() {
		w.later = nil
		w.notes = append(w.notes, text)
		for _, s := range w.standbys {
			time.AfterFunc(request, func() { s.Hear("leader_1", text) })
		}
	})
}

func (w *world) replies(ctx context.Context, each func(map[string]string)) {
	var lines map[string]string
	w.locked(func() {
		w.watches++
		if w.down == nil {
			w.each, lines = append(w.each, each), maps.Clone(w.lines)
		}
	})
	each(lines)
	<-ctx.Done()
	w.locked(func() { w.each = nil })
}

func (w *world) read(context.Context) (map[string]string, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.reads++
	return maps.Clone(w.lines), w.down
}

// reply is the second Lease.
func (w *world) reply(ctx context.Context, replica, text string, keep func(string) bool) error {
	time.Sleep(request)
	w.mu.Lock()
	w.writes++
	if w.down != nil || ctx.Err() != nil {
		defer w.mu.Unlock()
		return errors.Join(w.down, ctx.Err())
	}
	maps.DeleteFunc(w.lines, func(_, text string) bool { return !keep(text) })
	w.lines[replica] = text
	lines, each := maps.Clone(w.lines), w.each
	w.mu.Unlock()
	for _, tell := range each {
		tell(lines)
	}
	return nil
}

// standby begins to stand by: reaches says after how long it connects to an address, 0 for never.
func (w *world) standby(name string, reaches func(netip.Addr) time.Duration) {
	a := peers.NewAnswerer(peers.AnswererOptions{
		Replica: name, Identity: name + "_1", Node: "node-of-" + name, Reply: w.reply, Failed: func(error) {},
		Allowed: func(address netip.Addr) bool { return netip.MustParsePrefix("10.0.0.0/16").Contains(address) },
	})
	a.Dial(func(ctx context.Context, to netip.AddrPort) error {
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
	})
	w.locked(func() { w.standbys[name] = a })
	w.start(a.Run)
	a.Hear("leader_1", "")
}

// all reaches everything at once.
func all(netip.Addr) time.Duration { return time.Millisecond }

// none reaches nothing.
func none(netip.Addr) time.Duration { return 0 }

func address(n int) netip.Addr { return netip.AddrFrom4([4]byte{10, 0, byte(n >> 8), byte(n)}) }

// fails is the n-th failure in a row of an address, just now.
func fails(n int, address netip.Addr) guard.Ask {
	return guard.Ask{Address: address, At: time.Now(), Failures: n, Urgent: true}
}
