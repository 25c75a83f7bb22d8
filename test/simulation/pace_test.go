//go:build simulation

package simulation_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

const (
	// burst is how many writes of one slice may go out at once (contract 26), and
	// most how many requests may be in flight (ADR 28).
	burst = 5
	most  = 8
	// fresh is how old a diff may be that a write is taken from, and a moment.
	fresh = 1200 * time.Millisecond
)

// traffic is what one process sent for one slice.
type traffic struct {
	// sent are its newest requests.
	sent   []time.Time
	flying bool
	// refusals are the newest requests in a row that the store refused for good.
	refusals []time.Time
}

// trafficOf returns what the process sent for the slice.
func (p *process) trafficOf(name string) *traffic {
	t, ok := p.traffic[name]
	if !ok {
		t = &traffic{}
		p.traffic[name] = t
	}
	return t
}

// checkPace is contract 26 at each request: a bucket of five for each slice,
// refilled at one a second; one request in flight for each slice, eight in all; and
// nothing to a server that asked for time, which one request tries first.
func (p *process) checkPace(name string) {
	t, now := p.trafficOf(name), time.Now()
	if t.flying {
		p.w.breach(26, "two requests for %s are in flight", name)
	}
	flying := 1
	for _, other := range p.traffic {
		if other.flying {
			flying++
		}
	}
	if flying > most {
		p.w.breach(26, "%d requests are in flight", flying)
	}
	if time.Since(p.awayAt) < 15*time.Second && flying > 1 {
		p.w.breach(26, "%d requests are in flight to a server that could not be reached", flying)
	}
	if now.Before(p.unavailable) {
		p.w.breach(26, "%s was sent %s before the time that Retry-After asked for", name, time.Until(p.unavailable))
	}
	t.flying = true
	if t.sent = append(t.sent, now); len(t.sent) > 40 {
		t.sent = t.sent[1:]
	}
	for i, first := range t.sent {
		if n := len(t.sent) - i; now.Sub(first) < time.Duration(n-burst)*time.Second {
			p.w.breach(26, "slice %s was written %d times within %s", name, n, now.Sub(first))
		}
	}
}

// answered notes what a request came to.
func (p *process) answered(name string, f fate, err error) {
	t := p.trafficOf(name)
	t.flying = false
	switch {
	case f.away:
		p.awayAt = time.Now()
		if asked := p.awayAt.Add(f.retryAfter); asked.After(p.unavailable) {
			p.unavailable = asked
		}
	case !errors.Is(err, context.DeadlineExceeded) && !time.Now().Before(p.unavailable):
		p.awayAt = time.Time{} // any answer ends the outage
	}
	if !f.denied {
		t.refusals = nil
		return
	}
	// Waits of up to 15 s, after the first few: 30 of them last four minutes.
	const tries, within = 40, time.Minute
	if t.refusals = append(t.refusals, time.Now()); len(t.refusals) > tries {
		t.refusals = t.refusals[1:]
		if d := time.Since(t.refusals[0]); d < within {
			p.w.breach(26, "%s was refused %d times within %s", name, tries, d)
		}
	}
}

// tokenWait is how long a write of the slice may have to wait for a token.
func (p *process) tokenWait(name string) time.Duration {
	recent := 0
	for _, at := range p.trafficOf(name).sent {
		if time.Since(at) < 10*time.Second {
			recent++
		}
	}
	if recent < burst {
		return 0
	}
	return time.Second
}

// delay is how much longer than usual the store takes that is slow, with as many
// slices as there are: each lane has one write after the other, and the slice
// itself may be in flight.
func (w *world) delay() time.Duration {
	if w.smooth(20*time.Second, "pace") {
		return 0
	}
	return time.Duration(2+(len(w.now().Slices)+most-1)/most) * slowWrite
}

// checkFresh is contract 26: a write is sent at most one second after its decision.
// So no write publishes an endpoint as ready that had been refusing for longer, even
// if the write had to wait. An endpoint that was silent since, as many others are,
// may come back by contract 14.
func (p *process) checkFresh(write publish.Write) {
	w := p.w
	if w.set.policy.HealthOff || !w.set.policy.FailOpen || !w.smooth(time.Minute, "probes", "daemon", "service") || !p.recovered {
		return
	}
	for _, m := range write.Slice.Endpoints {
		dead, ok := p.deadAt[m.Address]
		if _, silent := p.silentSince[m.Address]; silent && !w.fewSilent(p, m.Address, time.Minute) {
			continue
		}
		if p.moved(m.Address) {
			continue // another node has it: a new endpoint, contract 7
		}
		if m.State == inventory.StateReady && ok && time.Since(dead) > fresh && w.othersPass(p, m.Address, time.Minute) {
			w.breach(10, "%s is sent as ready %s after its last refusal that counts: %s", m.Address, time.Since(dead), p.why(m.Address))
		}
	}
}

// why is what the process says of an address.
func (p *process) why(a netip.Addr) string {
	s := p.syncer.Status()
	for _, d := range s.Verdict.Decisions {
		if d.Address == a {
			return fmt.Sprintf("%s, %+v, mode %s", d.Message, s.Health.Of(a), s.Verdict.Mode)
		}
	}
	return "nothing"
}

// noteLoss notes a write after which nothing would be ready.
func (p *process) noteLoss(write publish.Write) {
	w, is4 := p.w, write.Slice.Family == publish.IPv4
	if !w.smooth(20*time.Second, "loads", "slices", "service", "daemon") {
		return
	}
	before, after := 0, 0
	for _, s := range w.now().Slices {
		if s.Family != write.Slice.Family {
			continue
		}
		before += readyIn(s)
		if s.Name != write.Slice.Name {
			after += readyIn(s)
		}
	}
	if before > 0 && after+readyIn(write.Slice) == 0 && p.decidesReady(is4) {
		p.lossAt[is4] = time.Now()
	}
}

// checkLoss is contract 26: a write after which nothing would be ready waits for
// the one that makes something ready.
func (p *process) checkLoss() {
	for is4, at := range p.lossAt {
		if since, ok := p.decidedReady[is4]; ok && at.Sub(since) > 2*time.Second {
			p.w.breach(26, "a write left nothing ready %s ago, though something was decided to be ready for %s", time.Since(at), time.Since(since))
		}
	}
	clear(p.lossAt)
}

// readyIn counts the ready endpoints of a slice.
func readyIn(s publish.Slice) int {
	ready := 0
	for _, m := range s.Endpoints {
		if m.State == inventory.StateReady {
			ready++
		}
	}
	return ready
}

// noteDecided notes since when the process has had something ready in each family.
func (p *process) noteDecided() {
	for _, is4 := range []bool{true, false} {
		if _, had := p.decidedReady[is4]; !p.decidesReady(is4) {
			delete(p.decidedReady, is4)
		} else if !had {
			p.decidedReady[is4] = time.Now()
		}
	}
}

// decidesReady reports whether something of the family is decided to be ready.
func (p *process) decidesReady(is4 bool) bool {
	return slices.ContainsFunc(p.syncer.Status().Verdict.Members, func(m inventory.Member) bool {
		return m.Address.Is4() == is4 && m.State == inventory.StateReady
	})
}

// checkErrors is contract 26 in the calm: an error that is over is no longer shown.
func (p *process) checkErrors() {
	s := p.syncer.Status().Store
	if s.LoadErr != nil || s.WriteErr != nil || s.Pending != 0 {
		p.w.breach(26, "all is right, and the page shows load error %v, write error %v and %d slices to write", s.LoadErr, s.WriteErr, s.Pending)
	}
}

// inStuck reports whether a slice that publishes the address cannot be written, or
// could not a short while ago.
func (w *world) inStuck(a netip.Addr, d time.Duration) bool {
	for _, s := range w.now().Slices {
		if s.StateOf(a) != inventory.Absent && !w.smooth(d, "slice "+s.Name) {
			return true
		}
	}
	return false
}

// stick lets some slices, not all, be such that they cannot be written.
func (w *world) stick(pickOne func(n int) int, until time.Time, kind string) {
	var names []string
	for _, s := range w.now().Slices {
		names = append(names, s.Name)
	}
	names = append(names, w.target.NameOf(publish.IPv4, 1+len(names)))
	for n := 1 + pickOne(max(1, min(len(names)-1, most-1))); n > 0; n-- {
		name := names[pickOne(len(names))]
		w.stuck[name] = fault{kind: kind, until: until}
		w.roughen("slice "+name, until)
		w.note("%s: %s for %s", name, kind, time.Until(until))
		w.counts[kind]++
	}
	maps.DeleteFunc(w.stuck, func(_ string, f fault) bool { return !f.in() })
}
