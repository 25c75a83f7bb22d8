package endtoend_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/bench/program"
)

// TestMeasure takes all figures at one size after the other, on the same two
// API servers.
func TestMeasure(t *testing.T) {
	f := chosen(t)
	w := newWorld(t, f)
	for _, n := range f.sizes {
		w.grow(n)
		if n == f.sizes[0] {
			w.measureStarts()
		}
		for _, s := range []side{w.daemonSide("HEALTH_CHECK_MODE=off"), w.bareSide()} {
			w.measureSide(s)
		}
		if n <= 5_000 {
			w.measurePoller()
		}
		if slices.Contains(f.memory, n) {
			w.measureSteady()
		}
	}
}

// label names a benchmark of a side at this size.
func (w *world) label(what, side string) string {
	return fmt.Sprintf("%s/nodes=%d/side=%s", what, w.nodeCount, side)
}

// measureSide measures the first sync, single changes, rest and heartbeats.
func (w *world) measureSide(s side) {
	w.t.Helper()
	w.clear()
	p := s.start()
	w.awaitReady(p, w.nodeCount)
	program.Result(w.label("Sync", s.name), 1, w.watched.last().Sub(p.Started), "ns/op", p.CPU(), "cpu-ns/op")
	time.Sleep(1500 * time.Millisecond) // the pace of writes counts from the last one

	before := p.CPU()
	time.Sleep(w.form.idle)
	idle := float64(p.CPU()-before) / float64(w.form.idle)
	w.measureChanges(s, p, idle)
	w.measureHeartbeats(s, p, idle)
	now, peak := p.Memory()
	program.Result(w.label("Memory", s.name), 1, now, "resident-B", peak, "peak-B")
	p.Stop()
}

// group is how many nodes change before the first of them changes back. There are as
// many slices, so no slice is written twice within a second.
func (w *world) group(s side) (nodes int, pace time.Duration) {
	nodes = max(1, min(25, w.nodeCount/s.perSlice, w.form.changes/2))
	pace = 200 * time.Millisecond
	if s.paced {
		pace = max(1100*time.Millisecond/time.Duration(nodes), 100*time.Millisecond)
	}
	return nodes, pace
}

// measureChanges lets single nodes fail and come back.
func (w *world) measureChanges(s side, p *program.Program, idle float64) {
	w.t.Helper()
	nodes, pace := w.group(s)
	decided := w.decisions(s)
	begun, before := time.Now(), p.CPU()
	for i := range w.form.changes {
		node, ready := i%nodes*w.nodeCount/nodes, i/nodes%2 == 1
		seen := w.watched.count()
		sent, answered := w.setReady(node, ready)
		e, came := w.watched.next(seen)
		if !came {
			p.Fail("%s, %d nodes: no slice was written within %v of change %d", s.name, w.nodeCount, waitLimit, i)
		}
		program.Result(w.label("Change", s.name), 1, e.at.Sub(sent), "ns/op", e.at.Sub(answered), "answered-ns/op")
		time.Sleep(time.Until(e.at.Add(pace)))
	}
	ended := time.Now()
	cpu := float64(p.CPU()-before) - idle*float64(ended.Sub(begun))
	changes := float64(w.form.changes)
	at, from := requests(w.local, s.name, begun, ended), requests(w.remote, s.name, begun, ended)
	program.Result(w.label("ChangeCost", s.name), w.form.changes, max(cpu, 0)/changes, "cpu-ns/op",
		float64(at.writes)/changes, "writes/op", float64(at.events)/changes, "events/op", float64(at.reads)/changes, "local-reads/op", float64(from.all())/changes, "remote-requests/op",
		(w.decisions(s)-decided)/changes, "decisions/op")
	for i := range nodes { // all nodes are ready again
		w.setReady(i*w.nodeCount/nodes, true)
	}
	w.awaitReady(p, w.nodeCount)
	time.Sleep(1500 * time.Millisecond)
	if got := w.watched.count(); got == 0 {
		p.Fail("no event")
	}
}

// decisions is how often the side has compared everything so far, if it reports that.
func (w *world) decisions(s side) float64 {
	if s.name != "daemon" {
		return 0
	}
	return w.metric("ionos_endpointslice_assignments_total")
}

// measureHeartbeats sends status updates that change nothing that matters.
func (w *world) measureHeartbeats(s side, p *program.Program, idle float64) {
	w.t.Helper()
	decided := w.decisions(s)
	begun, before, seen := time.Now(), p.CPU(), w.watched.count()
	sent := w.beat(w.form.rate, w.form.heartbeats)
	time.Sleep(200 * time.Millisecond)
	ended := time.Now()
	cpu := float64(p.CPU() - before)
	decided = w.decisions(s) - decided
	at, from := requests(w.local, s.name, begun, ended), requests(w.remote, s.name, begun, ended)
	program.Result(w.label("Heartbeat", s.name), sent, max(cpu-idle*float64(ended.Sub(begun)), 0)/float64(sent), "cpu-ns/op", cpu/float64(sent), "gross-cpu-ns/op",
		w.watched.count()-seen, "writes", at.all()+from.all(), "requests",
		decided, "decisions", ended.Sub(begun).Seconds(), "s")
}

// beat sends so many heartbeats a second, as far as the API server keeps up, and
// returns how many were sent.
func (w *world) beat(rate int, length time.Duration) int {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), length)
	defer cancel()
	ticker := time.NewTicker(time.Second / time.Duration(rate))
	defer ticker.Stop()
	slots := make(chan struct{}, 8)
	var sending sync.WaitGroup
	defer sending.Wait()
	for sent := 0; ; sent++ {
		select {
		case <-ctx.Done():
			return sent
		case <-ticker.C:
		}
		slots <- struct{}{}
		sending.Go(func() {
			defer func() { <-slots }()
			w.heartbeat(w.t.Context(), sent*7_919%w.nodeCount)
		})
	}
}
