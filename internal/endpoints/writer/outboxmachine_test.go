package writer_test

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer"
)

// fault is what becomes of one request.
type fault int

const (
	fine fault = iota
	refused
	lost    // it lands, and the answer is an error
	away    // it does not land, nor would any other
	unknown // it lands, and the answer does not say at which version
)

// request is one request in flight. It takes effect in the middle of its time.
type request struct {
	write       publish.Write
	sent        time.Time
	lands, ends time.Time
	fault       fault
	done        bool
	version     string
	err         error
}

// loadFlight is one load in flight.
type loadFlight struct {
	sees, ends time.Time
	// ended is how many requests had ended when it began.
	ended       int
	saw         []publish.Slice
	seen, fails bool
}

// machine drives an outbox as a target does, in a world that rapid draws.
type machine struct {
	t      *rapid.T
	target publish.Target
	now    time.Time
	calm   bool // no faults any more
	// forbidden is what the API server lets no slice add; 0 is none.
	forbidden byte

	// store is what the API server holds.
	store   []publish.Slice
	version int

	box     *writer.Outbox
	server  *writer.Server
	lanes   int
	known   []publish.Slice
	members []inventory.Member
	// planned is when the newest diff was made, losses are the slices that lose
	// something by a write in it, and awaited those that such a write waits for.
	planned         time.Time
	losses, awaited map[string]bool

	flying  []*request
	reading *loadFlight
	wanted  bool

	// What the test itself remembers of each slice: when it was written, what
	// the last request came to, and until when a failure may delay it.
	sent   map[string][]time.Time
	errs   map[string]error
	delays map[string]time.Time
	out    time.Time // until when an outage may delay everything
	single bool      // the last answer was that of an outage
	// left is when an address was last decided not to be published.
	left map[netip.Addr]time.Time
	// foreign are addresses that another client may have taken out of a slice,
	// disturbed says that another client did anything.
	foreign   map[netip.Addr]bool
	disturbed bool
}

func newMachine(t *rapid.T) *machine {
	m := &machine{
		t: t, now: time.Now(), lanes: rapid.SampledFrom([]int{1, 2, 3, 8}).Draw(t, "lanes"),
		sent: map[string][]time.Time{}, errs: map[string]error{}, delays: map[string]time.Time{},
		foreign: map[netip.Addr]bool{}, left: map[netip.Addr]time.Time{},
	}
	m.target = publish.Target{
		Namespace: "default", Service: "web", SliceName: "web", ManagedBy: "test",
		Ports: []publish.Port{{Name: "http", Protocol: publish.TCP, Number: 8080}}, MaxEndpoints: rapid.IntRange(1, 4).Draw(t, "max"),
	}
	m.server = &writer.Server{Lanes: m.lanes}
	m.box = writer.NewOutbox(m.server, func() float64 { return rapid.Float64Range(0, 0.999).Draw(t, "random") })
	return m
}

// state is what is known, as plan wants it.
func (m *machine) state(all []publish.Slice) publish.State {
	service := publish.Service{UID: "uid", Ports: []publish.ServicePort{{Name: "http", Protocol: publish.TCP, Port: 80}}}
	return publish.State{Service: service, Slices: all}
}

// diff is what is not decided yet.
func (m *machine) diff() []publish.Write {
	planned := m.box.Planned(m.known)
	desired, _ := publish.Desired(m.members, m.state(planned), m.target)
	return publish.Diff(planned, desired)
}

// pass plans again.
func (m *machine) pass() {
	m.planned = m.now
	writes := m.diff()
	for name := range m.errs { // what is as it should be has no failure any more
		if !slices.ContainsFunc(writes, func(w publish.Write) bool { return w.Slice.Name == name }) {
			m.errs[name] = nil
		}
	}
	m.losses, m.awaited = map[string]bool{}, map[string]bool{}
	for _, w := range slices.Backward(writes) {
		if name := w.Slice.Name; m.rank(w) == 0 || m.awaited[name] {
			m.losses[name] = m.rank(w) == 0
			for _, before := range w.After {
				m.awaited[before] = true
			}
		}
	}
	m.box.Offer(m.known, writes, m.now)
}

// runDue does what is due now: it sends, and loads.
func (m *machine) runDue() {
	if m.box.Stale(m.now) {
		m.pass()
	}
	m.send()
	m.checkLosses()
	if m.wanted && m.reading == nil {
		m.wanted = false
		m.reading = m.newReading()
	}
}

// newReading begins a load.
func (m *machine) newReading() *loadFlight {
	takes := m.draw("load takes")
	r := &loadFlight{ended: m.box.Ended(), sees: m.now.Add(takes / 2), ends: m.now.Add(takes)}
	r.fails = !m.calm && rapid.IntRange(0, 9).Draw(m.t, "load fails") == 0
	return r
}

// draw draws how long something takes.
func (m *machine) draw(what string) time.Duration {
	if m.calm {
		return 20 * time.Millisecond
	}
	return time.Duration(rapid.SampledFrom([]int{2, 20, 200, 1000, 5000}).Draw(m.t, what)) * time.Millisecond
}

// send sends what may be sent.
func (m *machine) send() {
	for {
		w, ok := m.box.Take(m.now)
		if !ok {
			return
		}
		m.checkSend(w)
		takes := m.draw("takes")
		r := &request{write: w, sent: m.now, lands: m.now.Add(takes / 2), ends: m.now.Add(takes)}
		if !m.calm {
			r.fault = rapid.SampledFrom([]fault{fine, fine, fine, refused, lost, away, unknown}).Draw(m.t, "fault")
		}
		m.flying = append(m.flying, r)
		m.sent[w.Slice.Name] = append(m.sent[w.Slice.Name], m.now)
	}
}

// next returns when something happens by itself, zero if nothing does.
func (m *machine) next() time.Time {
	var next time.Time
	at := func(t time.Time) {
		if !t.IsZero() && (next.IsZero() || t.Before(next)) {
			next = t
		}
	}
	for _, r := range m.flying {
		if !r.done {
			at(r.lands)
		}
		at(r.ends)
	}
	if r := m.reading; r != nil {
		if !r.seen {
			at(r.sees)
		}
		at(r.ends)
	}
	for _, wake := range []time.Time{m.box.Wake(m.now), m.server.Wake(m.now)} {
		if !wake.IsZero() && !wake.After(m.now) {
			m.t.Fatalf("got a wake %s ago", m.now.Sub(wake))
		}
		at(wake)
	}
	return next
}

// run lets that much time pass, and returns early where nothing is under way.
func (m *machine) run(d time.Duration) {
	end := m.now.Add(d)
	for range 100_000 {
		next := m.next()
		if next.IsZero() || next.After(end) {
			m.now = end
			return
		}
		m.now = next
		m.happen()
		m.runDue()
	}
	m.t.Fatalf("it goes on and on: %+v", m.box)
}

// happen lets what is due now happen.
func (m *machine) happen() {
	for _, r := range slices.Clone(m.flying) {
		if !r.done && !r.lands.After(m.now) {
			m.land(r)
		}
		if !r.ends.After(m.now) {
			m.end(r)
		}
	}
	if r := m.reading; r != nil {
		if !r.seen && !r.sees.After(m.now) {
			r.seen, r.saw = true, slices.Clone(m.store)
		}
		if !r.ends.After(m.now) {
			m.reading = nil
			m.loaded(r)
		}
	}
}

// land lets a request take effect.
func (m *machine) land(r *request) {
	r.done = true
	switch r.fault {
	case refused:
		r.err = errForbidden
		return
	case away:
		r.err = errAway
		return
	case fine, lost, unknown:
	}
	i := slices.IndexFunc(m.store, func(s publish.Slice) bool { return s.Name == r.write.Slice.Name })
	if (i < 0) != (r.write.Operation == publish.Create) || i >= 0 && m.store[i].Version != r.write.Slice.Version {
		if !m.disturbed {
			m.t.Fatalf("a conflict with ourselves: %s of %s from version %q, the store has %+v", r.write.Operation, r.write.Slice.Name, r.write.Slice.Version, m.store)
		}
		r.err = publish.ErrConflict
		return
	}
	if slices.ContainsFunc(r.write.Added, func(a netip.Addr) bool { return a.AsSlice()[len(a.AsSlice())-1] == m.forbidden }) {
		r.err = errForbidden
		return
	}
	before := publishedIn(m.store)
	slice := r.write.Slice
	slice.Endpoints = slices.Clone(slice.Endpoints)
	m.put(slice)
	m.checkLanded(before, r)
	r.version = fmt.Sprint(m.version)
	switch r.fault {
	case lost:
		r.err = errDenied
	case unknown:
		r.version = ""
	case fine, refused, away:
	}
}

// put stores a slice at a new version.
func (m *machine) put(s publish.Slice) {
	m.version++
	s.Version = fmt.Sprint(m.version)
	m.store = slices.DeleteFunc(slices.Clone(m.store), func(o publish.Slice) bool { return o.Name == s.Name })
	m.store = append(m.store, s)
	slices.SortFunc(m.store, func(a, b publish.Slice) int {
		return cmp.Or(cmp.Compare(a.Family, b.Family), cmp.Compare(len(a.Name), len(b.Name)), cmp.Compare(a.Name, b.Name))
	})
}

// end reports what came of a request.
func (m *machine) end(r *request) {
	m.flying = slices.DeleteFunc(m.flying, func(f *request) bool { return f == r })
	result := writer.Result{Write: r.write, Sent: r.sent, Version: r.version, Err: r.err}
	m.box.Report(result, m.now)
	if r.err == nil {
		m.known = writer.Landed(m.known, result)
	}
	m.remember(r)
	m.wanted = m.wanted || m.box.Unread()
}

// loaded takes a load in.
func (m *machine) loaded(r *loadFlight) {
	if r.fails {
		m.box.GiveUp()
		m.wanted = true
		return
	}
	before := m.known
	merged, _, resolved := m.box.Merge(before, publish.State{Slices: r.saw}, r.ended)
	m.known = merged
	m.wanted = m.wanted || m.box.Unread()
	if resolved || !slices.EqualFunc(before, merged, func(a, b publish.Slice) bool {
		return a.Name == b.Name && a.Version == b.Version && a.Same(b)
	}) {
		m.pass()
	}
}
