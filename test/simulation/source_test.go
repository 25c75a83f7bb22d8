//go:build simulation

package simulation_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
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
	readsWrong   = "reads have wrong addresses"
	readsThird   = "reads have a third of the nodes"
	readsFlood   = "reads flood, with newcomers that never answer"
)

// source is the inventory as one process reads it.
type source struct{ *process }

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
	var failed error
	takes := time.Duration(1+r.IntN(50)) * time.Millisecond
	switch kind {
	case readsHang:
		takes = time.Hour
	case readsFlood:
		takes += 80 * time.Millisecond
	case readsSlow:
		takes = time.Duration(r.Int64N(int64(w.set.sourceTimeout)))
	}
	err := s.linger(ctx, takes)
	w.mu.Lock()
	defer w.mu.Unlock()
	defer func() { s.endRead(failed) }()
	switch {
	case err != nil:
		w.note("read %s", err)
		failed = err
		return nil, err
	case kind == readsFail:
		w.note("read failed")
		failed = errors.New("the inventory is away")
		return nil, failed
	case kind == readsWait:
		after := time.Duration(1+r.IntN(90)) * time.Second
		s.process.askedFor = time.Now().Add(after)
		w.note("read is to wait %s", after)
		failed = &transport.RetryAfterError{Err: errors.New("too many requests"), After: after}
		return nil, failed
	}
	nodes := w.damaged(w.listing(r), kind, r)
	if kind == readsFlood {
		leave(s.sourceChanged)
	}
	s.deliver(nodes, kind) //nolint:contextcheck // the world looks at itself
	return nodes, nil
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
		case readsWrong:
			n.Addresses = w.wrong(n.Addresses)
		case readsThird:
			if w.dice("third "+n.Name, 0).IntN(3) > 0 {
				continue
			}
		case readsUnready:
			n.Ready = false
		case readsLeaving:
			n.Leaving = true
		}
		out = append(out, n)
	}
	if kind == readsFlood {
		out = append(out, w.newcomers()...)
	}
	if kind == readsTwins && len(w.nodes) > 0 {
		twin := w.nodes[r.IntN(len(w.nodes))].Node
		twin.ID, twin.Name = "id-twin", "twin"
		out = append(out, twin)
	}
	return out
}

// wrong are addresses that may be published, but no backend answers there.
func (w *world) wrong(addrs []netip.Addr) []netip.Addr {
	var wrong []netip.Addr
	for _, a := range addrs {
		if !allowed(a) {
			continue
		}
		b := a.AsSlice()
		b[len(b)-1] += 200
		other, _ := netip.AddrFromSlice(b)
		if w.backends[other] == nil {
			w.behave(other, pick(w.dice("wrong "+other.String(), 0), refuses, silent))
		}
		wrong = append(wrong, other)
	}
	return wrong
}

// newcomers are nodes that each stand in three reads and never answer.
func (w *world) newcomers() []inventory.Node {
	w.flooded++
	var nodes []inventory.Node
	for i := range 3 {
		n := w.flooded + i
		a := netip.AddrFrom4([4]byte{10, 0, 0, byte(100 + n%100)})
		w.behave(a, silent)
		nodes = append(nodes, inventory.Node{Name: fmt.Sprint("newcomer-", n), Ready: true, Worker: true, Addresses: []netip.Addr{a}})
	}
	return nodes
}

// linger waits like sleep, for an odd time: events at the same instant may happen in
// any order, and a replay needs one order. For the same reason each process draws its
// own: one that stops may draw before or after the one that starts.
func (p *process) linger(ctx context.Context, d time.Duration) error {
	p.w.mu.Lock()
	d += odd(p.odd)
	p.w.mu.Unlock()
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
