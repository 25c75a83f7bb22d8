//go:build simulation

package simulation_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
)

// The kinds of a source's fault. Errors are honest; the others are what a
// mistake upstream looks like.
const (
	readsFail    = "reads fail"
	readsHang    = "reads hang"
	readsWait    = "reads ask for time"
	readsSlow    = "reads are slow"
	readsEmpty   = "reads are empty"
	readsPartial = "reads are partial"
	readsForeign = "reads have other addresses"
	readsUnready = "reads have no ready node"
	readsTwins   = "reads have twins"
	readsLeaving = "reads announce all"
)

// source is the inventory as one process reads it.
type source struct{ *process }

// busy is an error with a Retry-After.
type busy struct{ after time.Duration }

func (b busy) Error() string             { return "too many requests" }
func (b busy) RetryAfter() time.Duration { return b.after }

// Read answers by the fault that is in force when it begins.
func (s source) Read(ctx context.Context) ([]inventory.Node, error) {
	w := s.w
	w.mu.Lock()
	s.beginRead()
	f, r := w.source, w.next("read")
	kind := f.kind
	if !f.in() {
		kind = ""
	}
	w.mu.Unlock()
	takes := time.Duration(1+r.IntN(50)) * time.Millisecond
	switch kind {
	case readsHang:
		takes = time.Hour
	case readsSlow:
		takes = time.Duration(r.Int64N(int64(w.set.sourceTimeout)))
	}
	err := w.linger(ctx, takes)
	w.mu.Lock()
	defer w.mu.Unlock()
	defer s.endRead()
	switch {
	case err != nil:
		w.note("read %s", err)
		return nil, err
	case kind == readsFail:
		w.note("read failed")
		return nil, errors.New("the inventory is away")
	case kind == readsWait:
		after := time.Duration(1+r.IntN(90)) * time.Second
		s.process.askedFor = time.Now().Add(after)
		w.note("read is to wait %s", after)
		return nil, busy{after}
	}
	nodes := w.damaged(w.listing(r), kind, r)
	s.deliver(nodes, kind) //nolint:contextcheck // the world looks at itself
	return nodes, nil
}

// Changed signals, where the source is one that does.
func (s source) Changed() <-chan struct{} {
	if !s.w.set.signals {
		return nil
	}
	return s.sourceChanged
}

// listing is what an honest inventory says, in any order, with machines that
// may not be published.
func (w *world) listing(r *rand.Rand) []inventory.Node {
	var nodes []inventory.Node
	for _, n := range w.nodes {
		nodes = append(nodes, n.Node)
	}
	for i, a := range []string{"10.0.1.9", "127.0.0.1", "169.254.169.254", "192.0.2.7", "::ffff:10.0.0.99", "fe80::1%eth0", "203.0.113.5"} {
		if r.IntN(2) == 0 {
			nodes = append(nodes, inventory.Node{Name: "odd-" + string(rune('a'+i)), Ready: true, Worker: true, Addresses: []netip.Addr{netip.MustParseAddr(a)}})
		}
	}
	r.Shuffle(len(nodes), func(i, j int) { nodes[i], nodes[j] = nodes[j], nodes[i] })
	return nodes
}

// damaged is what a mistake upstream makes of an answer.
func (w *world) damaged(nodes []inventory.Node, kind string, r *rand.Rand) []inventory.Node {
	var out []inventory.Node
	for _, n := range nodes {
		switch kind {
		case readsEmpty:
			continue
		case readsPartial:
			if r.IntN(2) == 0 {
				continue
			}
		case readsForeign:
			n.Addresses = []netip.Addr{netip.MustParseAddr("10.9.9.9")}
		case readsUnready:
			n.Ready = false
		case readsLeaving:
			n.Leaving = true
		}
		out = append(out, n)
	}
	if kind == readsTwins && len(w.nodes) > 0 {
		twin := w.nodes[r.IntN(len(w.nodes))].Node
		twin.ID, twin.Name = "id-twin", "twin"
		out = append(out, twin)
	}
	return out
}

// linger waits like sleep, for an odd time: what happens at the same instant may
// happen in any order, and a replay needs one.
func (w *world) linger(ctx context.Context, d time.Duration) error {
	w.mu.Lock()
	d += odd(w.odd)
	w.mu.Unlock()
	return sleep(ctx, d)
}

// odd draws less than a millisecond.
func odd(r *rand.Rand) time.Duration { return time.Duration(1 + r.IntN(int(time.Millisecond))) }

// sleep waits, or returns why it could not.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(max(d, time.Nanosecond))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}
