package peers

import (
	"net/netip"
	"slices"
	"time"
)

const (
	// handOverAfter is how long another replica has to reach what the leader does not before
	// it gets the Lease, and seldomest how long after one hand-over the next may be
	// (contract 241).
	handOverAfter = time.Minute
	seldomest     = 10 * time.Minute
	// leastCompared is how much of what the leader reaches a comparison has room for, however
	// much is asked.
	leastCompared = 64
	// compareAgain is how long after a comparison that found no replica the next begins.
	compareAgain = 10 * time.Second
)

// rivals are the replicas that reach what the leader does not.
type rivals struct {
	// since is when each began to.
	since map[string]time.Time
	// compared is what the leader reaches and asks its rivals about, until compareEnd. All
	// questions of then have numbers above before.
	compared   []target
	compareEnd time.Time
	before     int64
	// next is when the next comparison may begin.
	next time.Time
}

// contest finds out who reaches what the leader does not, and hands over where that is to be.
// It returns whether anything is asked, and when to look again.
func (a *Asker) contest(now time.Time) (asking bool, next time.Duration) {
	a.mu.Lock()
	successor := a.judge(now)
	for d := range a.desks {
		d.compares.Store(len(a.rivals.since) > 0)
	}
	asking = len(a.asked) > 0
	a.mu.Unlock()
	if successor != "" {
		a.opts.HandOver(successor)
	}
	if asking {
		return asking, time.Second
	}
	return asking, linger
}

// judge returns the identity of the replica that is to lead, empty where that is this one.
func (a *Asker) judge(now time.Time) string {
	v := &a.rivals
	for name := range v.since {
		if a.ahead(name) == 0 {
			delete(v.since, name)
		}
	}
	var oldest time.Time
	for name := range a.lines {
		if a.ahead(name) > 0 && v.since[name].IsZero() {
			v.since[name] = now
		}
		if since := v.since[name]; !since.IsZero() && (oldest.IsZero() || since.Before(oldest)) {
			oldest = since
		}
	}
	switch {
	case oldest.IsZero(), now.Sub(oldest) < handOverAfter, now.Sub(a.opts.HandedOver()) < seldomest:
		v.end(a, time.Time{})
	case len(v.compared) > 0 && now.After(v.compareEnd):
		v.end(a, now.Add(compareAgain))
	case v.compareEnd.IsZero() && !now.Before(v.next):
		v.begin(a, now)
	}
	if v.compareEnd.IsZero() {
		return ""
	}
	for name, since := range v.since {
		if line := a.lines[name]; now.Sub(since) >= handOverAfter && a.leads(line) && line.reaches(v.compared) {
			return line.Identity
		}
	}
	return ""
}

// leads says whether a replica reached something since the comparison began that the leader
// does not reach. The line of one that is gone says what it reached before.
func (a *Asker) leads(line Line) bool {
	return slices.ContainsFunc(line.Reached, func(r answer) bool { return a.asked[r.Endpoint] != nil && r.Number > a.rivals.before })
}

// ahead counts the endpoints that a replica reaches and the leader does not.
func (a *Asker) ahead(name string) int {
	n := 0
	for _, r := range a.lines[name].Reached {
		if a.asked[r.Endpoint] != nil {
			n++
		}
	}
	return n
}

// reaches says whether a line answers all targets.
func (l Line) reaches(targets []target) bool {
	numbers := make(map[netip.AddrPort]int64, len(l.Reached))
	for _, r := range l.Reached {
		numbers[r.Endpoint] = r.Number
	}
	for _, t := range targets {
		if numbers[t.Endpoint] < t.Number {
			return false
		}
	}
	return true
}

// begin asks the rivals about what the leader reaches, as much of it as there is room for.
func (v *rivals) begin(a *Asker, now time.Time) {
	longest, room := int64(0), max(leastCompared, MaxTargets-len(a.asked))
	v.before = a.number
	for _, of := range a.asked { // once more, for the line of a replica that is gone stays as it was
		a.number++
		of.Number = a.number
		longest = max(longest, of.Timeout)
	}
	for d := range a.desks {
		for _, address := range spread(d.passing, max(1, room/len(a.desks))) {
			a.number++
			v.compared = append(v.compared, target{Endpoint: netip.AddrPortFrom(address, d.port), Number: a.number, Timeout: d.timeout.Milliseconds()})
		}
	}
	v.compared = v.compared[:min(len(v.compared), room)]
	v.compareEnd = now.Add(2*time.Duration(longest)*time.Millisecond + 2*time.Second)
	a.write(true)
}

// end ends a comparison.
func (v *rivals) end(a *Asker, next time.Time) {
	v.next = next
	if !v.compareEnd.IsZero() {
		v.compared, v.compareEnd = nil, time.Time{}
		a.write(false)
	}
}

// spread returns at most so many addresses, evenly taken from all.
func spread(addresses []netip.Addr, most int) []netip.Addr {
	if len(addresses) <= most {
		return addresses
	}
	some := make([]netip.Addr, most)
	for i := range some {
		some[i] = addresses[i*len(addresses)/most]
	}
	return some
}
