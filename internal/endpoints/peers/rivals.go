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
	// compared is what the leader reaches and asks its rivals about, until compareEnd, zero for
	// never. All questions of then have numbers above before.
	compared   []target
	compareEnd time.Time
	before     int64
}

// contest finds out who reaches what the leader does not, and hands over where that is to be.
// It returns whether anything is asked.
func (a *Asker) contest(now time.Time) (asking bool) {
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
	return asking
}

// judge returns the identity of the replica that is to lead, empty where that is this one.
func (a *Asker) judge(now time.Time) string {
	v := &a.rivals
	longest, since := time.Duration(0), v.since
	v.since = make(map[string]time.Time)
	for name, line := range a.lines {
		if a.ahead(line, 0) > 0 {
			v.since[name] = now
			if before, known := since[name]; known {
				v.since[name] = before
			}
			longest = max(longest, now.Sub(v.since[name]))
		}
	}
	switch {
	case longest < handOverAfter, now.Sub(a.opts.HandedOver()) < seldomest:
		v.compareEnd = time.Time{}
		v.end(a)
		return ""
	case now.After(v.compareEnd.Add(compareAgain)):
		v.begin(a, now)
	case now.After(v.compareEnd):
		v.end(a)
		return ""
	}
	for name, since := range v.since {
		if line := a.lines[name]; now.Sub(since) >= handOverAfter && a.ahead(line, v.before) > 0 && line.reaches(v.compared) {
			return line.Identity
		}
	}
	return ""
}

// ahead counts the endpoints that a replica reaches and the leader does not, of the questions
// after a number: the line of one that is gone says what it reached before.
func (a *Asker) ahead(line Line, after int64) int {
	n := 0
	for _, r := range line.Reached {
		if a.asked[r.Endpoint] != nil && r.Number > after {
			n++
		}
	}
	return n
}

// reaches says whether a line answers all targets.
func (l Line) reaches(targets []target) bool {
	return !slices.ContainsFunc(targets, func(t target) bool {
		return !slices.ContainsFunc(l.Reached, func(r answer) bool { return r.Endpoint == t.Endpoint && r.Number >= t.Number })
	})
}

// begin asks the rivals about what the leader reaches, as much of it as there is room for.
func (v *rivals) begin(a *Asker, now time.Time) {
	longest, room := int64(0), max(leastCompared, MaxTargets-len(a.asked))
	v.compared, v.before = nil, a.number
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
func (v *rivals) end(a *Asker) {
	if v.compared != nil {
		v.compared = nil
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
