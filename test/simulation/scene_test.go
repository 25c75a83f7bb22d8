//go:build simulation

package simulation_test

import (
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// act is one thing that happens in a scene.
type act struct {
	at time.Duration
	do func()
}

// The scenes.
const (
	sceneEmpty     = "an empty inventory"
	sceneCut       = "an empty inventory, and the network is cut"
	sceneReplaced  = "the pool is replaced at once"
	sceneShrunk    = "the pool shrinks to a third"
	sceneWrong     = "a wrong address in place of the only node"
	sceneLoss      = "lost checks and a truncated inventory"
	sceneTens      = "one more is silent every ten seconds"
	sceneHours     = "one more is silent every six minutes"
	sceneNewcomers = "newcomers that never answer while all else fails"
	sceneBlind     = "one more is silent every minute, and the leader does not reach most"
)

// drawScene makes some worlds scenes, with as many nodes as they need.
func (s *settings) drawScene(r *rand.Rand) {
	scene := pick(r, sceneEmpty, sceneCut, sceneReplaced, sceneShrunk, sceneWrong, sceneLoss, sceneTens, sceneHours, sceneNewcomers, sceneBlind)
	if r.IntN(3) > 0 || s.storm > time.Hour {
		return
	}
	s.scene, s.forced = scene, false
	s.storm = 12*time.Minute + time.Duration(s.policy.Threshold+4)*s.poll*11/10 + s.policy.DrainPeriod
	switch scene {
	case sceneWrong:
		s.nodes = 1
	case sceneShrunk:
		s.nodes = 9
	case sceneReplaced:
		s.nodes = min(s.nodes, 15) // there are thirty addresses, for old and new ones
	case sceneTens, sceneLoss:
		s.nodes = 10
	case sceneHours:
		s.nodes, s.storm = 6, 45*time.Minute
	case sceneNewcomers:
		s.signals = true
	case sceneBlind:
		s.nodes, s.election, s.policy.HealthOff, s.policy.FailOpen = 8, false, false, true
	}
}

// untilAct returns how long until the next act.
func (w *world) untilAct() time.Duration {
	if len(w.acts) == 0 {
		return 1000 * time.Hour
	}
	return time.Until(w.start.Add(w.acts[0].at))
}

// happen runs the next act, or any event if there is no scene. The caller has the
// lock.
func (w *world) happen(r *rand.Rand) {
	if w.set.connections > 0 {
		w.strikeConnections()
	}
	if w.set.scene == "" {
		w.strikePair()
		w.strike(r)
		return
	}
	w.acts[0].do()
	w.acts = w.acts[1:]
}

// script is the course of the scene, with one or the other backend that dies and
// one or the other restart in the middle.
func (w *world) script() []act {
	if w.set.scene == "" {
		return nil
	}
	r := w.dice("scene", 0)
	acts := w.course(r)
	w.note("scene: %s", w.set.scene)
	middle := func() time.Duration { return time.Minute + time.Duration(r.Int64N(int64(w.set.storm-3*time.Minute))) }
	for range r.IntN(3) {
		acts = append(acts, act{middle(), func() { w.strikeDaemon(r) }})
	}
	if r.IntN(2) == 0 && w.set.scene != sceneWrong {
		acts = append(acts, act{middle(), func() { w.behaveNode(w.nodes[r.IntN(len(w.nodes))], pick(r, refuses, silent)) }})
	}
	slices.SortStableFunc(acts, func(a, b act) int { return int(a.at - b.at) })
	return acts
}

// course is what makes the scene.
func (w *world) course(r *rand.Rand) []act {
	const begin, long = time.Minute, 10 * time.Minute
	read := func(kind string) act { return act{begin, func() { w.source = w.spell("source", kind, long) }} }
	see := func(at time.Duration, kind string, d time.Duration) act {
		return act{at, func() { w.probing = w.spell("probes", kind, d); w.noteCut() }}
	}
	polls := func(n int) time.Duration { return time.Duration(n) * w.set.poll * 11 / 10 }
	accepted := begin + polls(w.set.policy.Threshold+2)
	switch w.set.scene {
	case sceneWrong:
		return []act{read(readsWrong), {long, w.checkAllReady}}
	case sceneEmpty:
		return []act{read(pick(r, readsEmpty, readsUnready)), {long, w.checkAllReady}}
	case sceneCut:
		return []act{read(readsEmpty), see(4*time.Minute, cutOff, 2*time.Minute), {long, w.checkAllReady}}
	case sceneReplaced:
		var old []netip.Addr
		return []act{
			{begin, func() { old = w.replaceAll(r) }},
			{accepted + polls(2) + w.set.policy.DrainPeriod + 30*time.Second, func() { w.checkGone(old, "all were replaced") }},
		}
	case sceneShrunk:
		var last []netip.Addr
		return []act{
			{begin, func() { w.leave(w.nodes[3:]) }},
			{accepted + polls(1), func() { last = w.leave(w.nodes[:1]) }},
			{accepted + polls(4) + w.set.policy.DrainPeriod + 30*time.Second, func() { w.checkGone(last, "it left alone") }},
		}
	case sceneLoss:
		return []act{read(readsThird), see(begin, lossy, long)}
	case sceneTens:
		return w.oneByOne(begin, 10*time.Second, w.checkHalf)
	case sceneHours:
		return w.oneByOne(begin, 6*time.Minute, nil)
	case sceneBlind:
		return append([]act{{begin, w.blindLeader}}, w.oneByOne(2*time.Minute, time.Minute, nil)...)
	}
	return []act{{begin, func() {
		for _, n := range w.nodes {
			w.behaveNode(n, pick(r, refuses, silent))
		}
		w.source = w.spell("source", readsFlood, 3*time.Minute)
		w.signal()
	}}}
}

// oneByOne lets one node after the other be silent, all but one, and checks after
// each.
func (w *world) oneByOne(begin, gap time.Duration, check func()) []act {
	var acts []act
	for i := range w.set.nodes - 1 {
		at := begin + time.Duration(i)*gap
		acts = append(acts, act{at, func() { w.behaveNode(w.nodes[i], silent) }})
		if check != nil {
			acts = append(acts, act{at + gap - time.Second, check})
		}
	}
	return acts
}

// spell begins a fault of that kind.
func (w *world) spell(part, kind string, d time.Duration) fault {
	f := fault{kind: kind, until: time.Now().Add(d)}
	w.roughen(part, f.until)
	w.note("%s for %s", kind, d)
	w.counts[kind]++
	return f
}

// behaveNode makes all backends of a node behave so.
func (w *world) behaveNode(n *node, is behaviour) {
	for _, a := range n.Addresses {
		w.behave(a, is)
	}
}

// leave takes nodes out of the remote cluster and returns their addresses. Their
// backends still answer.
func (w *world) leave(nodes []*node) []netip.Addr {
	var addrs []netip.Addr
	for _, n := range slices.Clone(nodes) {
		w.note("%s is gone, and answers", n.Name)
		addrs = append(addrs, n.Addresses...)
		w.nodes = slices.DeleteFunc(slices.Clone(w.nodes), func(have *node) bool { return have == n })
	}
	w.signal()
	return addrs
}

// replaceAll replaces all nodes by others, and returns the old addresses.
func (w *world) replaceAll(r *rand.Rand) []netip.Addr {
	old := slices.Clone(w.nodes)
	taken := map[netip.Addr]bool{}
	for _, n := range old {
		for _, a := range n.Addresses {
			taken[a] = true
		}
	}
	for range old {
		addrs := w.free(r)
		for taken[addrs[0]] {
			addrs = w.free(r)
		}
		w.join(addrs...)
	}
	return w.leave(old)
}

// checkAllReady is the first scene's point: an endpoint that passes serves, with any
// inventory.
func (w *world) checkAllReady() {
	if w.set.policy.HealthOff {
		return
	}
	for _, n := range w.nodes {
		for _, a := range n.Addresses {
			if state := w.truth()[a]; w.passedFor(a, 5*time.Minute) && state != inventory.StateReady && w.smooth(time.Minute, "daemon", "probes") {
				w.breach(13, "%s passes and is %s in: %s", a, state, w.set.scene)
			}
		}
	}
}

// checkGone checks that addresses are no longer published. A restart resets the
// counts; then it checks nothing.
func (w *world) checkGone(addrs []netip.Addr, why string) {
	for _, a := range addrs {
		if state, ok := w.truth()[a]; ok && w.unrest == 0 && w.passedFor(a, time.Minute) && w.allPass() {
			w.breach(13, "%s is still %s, though %s", a, state, why)
		}
	}
}

// allPass reports whether the backends of all nodes pass.
func (w *world) allPass() bool {
	for _, n := range w.nodes {
		for _, a := range n.Addresses {
			if !w.passedFor(a, time.Minute) {
				return false
			}
		}
	}
	return true
}

// checkHalf is contract 14: not more than the share of them go down at once.
func (w *world) checkHalf() {
	if w.set.policy.HealthOff || !w.smooth(time.Minute, "daemon") {
		return
	}
	for _, is4 := range []bool{true, false} {
		down, all := 0, 0
		for a, state := range w.truth() {
			if a.Is4() == is4 {
				all++
				if b := w.backends[a]; state == inventory.StateDown && b.is == silent && !b.refused {
					down++
				}
			}
		}
		if down*100 > w.set.policy.MaxSilentPercent*all {
			w.breach(14, "%d of %d were taken down by silence within seconds", down, all)
		}
	}
}
