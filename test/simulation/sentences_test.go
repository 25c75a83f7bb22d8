//go:build simulation

package simulation_test

import (
	"net/netip"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controllertest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// sentences is how long what the two sentences of controllertest.Oracle speak of may take here.
func (s settings) sentences() controllertest.Oracle {
	check := s.policy.Interval + s.healthTimeout
	return controllertest.Oracle{
		Joins:  30*time.Second + time.Duration(s.policy.Fall+s.policy.Rise+1)*check,
		Leaves: time.Duration(s.policy.Fall)*check + 5*time.Second,
	}
}

// checkSentences holds what kube-proxy uses against what there is.
func (w *world) checkSentences(p *process) {
	if w.set.policy.HealthOff {
		return // then every endpoint counts as passing (13)
	}
	if p != w.judged || !p.recovered || !w.smooth(slack, "daemon") {
		w.judged = p
		w.sentences.Begin()
	}
	away := controllertest.None
	switch {
	case !w.smooth(recovery, "service"):
		away = controllertest.NoService
	case !w.smooth(recovery, "slices"):
		away = controllertest.Foreign
	}
	ready := map[bool]bool{}
	known := w.truth()
	all := make(map[netip.Addr]bool, len(known))
	for a, state := range known {
		ready[a.Is4()] = ready[a.Is4()] || state == inventory.StateReady
		all[a] = true
	}
	for a := range p.staysSince {
		all[a] = true
	}
	var endpoints []controllertest.Endpoint
	for _, a := range sorted(all) {
		b, state := w.backends[a], known[a]
		if b == nil {
			continue
		}
		e := controllertest.Endpoint{
			At: netip.AddrPortFrom(a, w.target.Ports[0].Number), Answers: b.is == passes && !w.blind(a),
			Used: state == inventory.StateReady || state == inventory.StateDraining && !ready[a.Is4()],
		}
		e.Unable, e.Stays = w.excuses(p, a, b)
		endpoints = append(endpoints, e)
	}
	if problem := w.sentences.Look("web", endpoints, away); problem != "" {
		w.breach(10, "%s", problem)
	}
}

// excuses are why an endpoint cannot be published, and why it may stay when it is dead.
func (w *world) excuses(p *process, a netip.Addr, b *backend) (unable, stays controllertest.Promise) {
	if unknown := w.unknown(p, a, b); unknown != controllertest.None {
		return unknown, unknown
	}
	switch {
	case !w.allSmooth(recovery):
		unable = controllertest.CannotWrite
	case !p.listedFor(a, tick):
		unable = controllertest.WrongInventory
	}
	switch {
	case w.inStuck(a, recovery):
		stays = controllertest.CannotWrite
	case b.is == silent && !w.fewSilent(p, a, recovery):
		stays = controllertest.CutOff
	}
	return unable, stays
}

// unknown is why nothing can be said of an endpoint.
func (w *world) unknown(p *process, a netip.Addr, b *backend) controllertest.Promise {
	switch {
	case !w.smooth(recovery, "store", "pace"):
		return controllertest.CannotWrite
	case !w.smooth(recovery, "probes"), b.is == troubles, w.blind(a):
		return controllertest.Unasked
	case b.is == slow, b.is == flaps:
		return controllertest.Unsteady
	case p.moved(a), w.injected(a):
		return controllertest.Moved
	}
	return controllertest.None
}
