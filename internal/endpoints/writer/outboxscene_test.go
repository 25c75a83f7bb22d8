package writer_test

import (
	"errors"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer"
)

var (
	errDenied    = errors.New("admission webhook denied the request")
	errForbidden = publish.Refused(errDenied)
)

// scene is an outbox, what the caller knows of the slices, and what was decided.
// Slices are spelled "s1: a=ready b=down"; upper case letters are IPv6 addresses.
type scene struct {
	t       *testing.T
	box     *writer.Outbox
	server  *writer.Server
	now     time.Time
	known   []publish.Slice
	desired []publish.Slice
	flying  map[string]writer.Result
	// random is what the waits after failures are drawn with.
	random  float64
	version int
}

// newScene starts from slices that were read.
func newScene(t *testing.T, lanes int, known ...string) *scene {
	t.Helper()
	s := &scene{t: t, now: time.Now(), flying: map[string]writer.Result{}, random: 0.5}
	if lanes == 0 {
		lanes = writer.Lanes
	}
	s.server = &writer.Server{Lanes: lanes}
	s.box = writer.NewOutbox(s.server, func() float64 { return s.random })
	s.known = s.read(known...)
	s.desired = slices.Clone(s.known)
	return s
}

// sliceOf parses one slice.
func sliceOf(t *testing.T, text string) publish.Slice {
	t.Helper()
	name, endpoints, ok := strings.Cut(text, ":")
	if !ok {
		t.Fatalf("%q has no name", text)
	}
	slice := publish.Slice{Name: name}
	for _, field := range strings.Fields(endpoints) {
		letter, word, _ := strings.Cut(field, "=")
		state := map[string]inventory.State{"ready": inventory.StateReady, "draining": inventory.StateDraining, "down": inventory.StateDown}[word]
		member := inventory.Member{Address: addrOf(letter), State: state}
		slice.Endpoints = append(slice.Endpoints, member)
		slice.Family = publish.FamilyOf(member.Address)
	}
	slices.SortFunc(slice.Endpoints, inventory.CompareMembers)
	return slice
}

// addrOf is the address of a letter.
func addrOf(letter string) netip.Addr {
	if letter[0] < 'a' {
		return netip.AddrFrom16([16]byte{0: 0xfd, 15: letter[0]})
	}
	return netip.AddrFrom4([4]byte{10, 0, 0, letter[0]})
}

// read returns slices with versions, as a load does.
func (s *scene) read(texts ...string) []publish.Slice {
	s.t.Helper()
	var read []publish.Slice
	for _, text := range texts {
		s.version++
		slice := sliceOf(s.t, text)
		slice.Version = strconv.Itoa(s.version)
		read = append(read, slice)
	}
	return read
}

// want decides what the named slices should say; the others stay as they are.
func (s *scene) want(texts ...string) {
	s.t.Helper()
	for _, text := range texts {
		slice := sliceOf(s.t, text)
		if i := slices.IndexFunc(s.desired, func(d publish.Slice) bool { return d.Name == slice.Name }); i >= 0 {
			s.desired[i] = slice
			continue
		}
		s.desired = append(s.desired, slice)
	}
	s.plan()
}

// plan makes a new diff.
func (s *scene) plan() {
	s.box.Offer(s.known, publish.Diff(s.box.Planned(s.known), s.desired), s.now)
}

// take takes what the free lanes may send, in order.
func (s *scene) take() []string {
	taken := []string{}
	for {
		w, ok := s.box.Take(s.now)
		if !ok {
			return taken
		}
		s.flying[w.Slice.Name] = writer.Result{Write: w, Sent: s.now}
		taken = append(taken, w.Slice.Name)
	}
}

// wantTaken compares what may be sent now.
func (s *scene) wantTaken(want ...string) {
	s.t.Helper()
	if diff := cmp.Diff(want, s.take(), cmpopts.EquateEmpty()); diff != "" {
		s.t.Fatalf("sent (-want +got):\n%s", diff)
	}
}

// land makes the writes of slices succeed.
func (s *scene) land(names ...string) {
	s.t.Helper()
	for _, name := range names {
		s.version++
		r := s.end(name, nil)
		r.Version = strconv.Itoa(s.version)
		s.box.Report(r, s.now)
		s.known = writer.Landed(s.known, r)
	}
}

// fail makes the writes of slices fail.
func (s *scene) fail(err error, names ...string) {
	s.t.Helper()
	for _, name := range names {
		s.box.Report(s.end(name, err), s.now)
	}
}

// end is the result of the request in flight.
func (s *scene) end(name string, err error) writer.Result {
	s.t.Helper()
	r, ok := s.flying[name]
	if !ok {
		s.t.Fatalf("no request of %s is in flight", name)
	}
	delete(s.flying, name)
	r.Err = err
	return r
}

// load takes in a read that began now and answers the slices as they are known, with
// changes. Then it plans again, as the caller does.
func (s *scene) load(changed ...publish.Slice) []writer.Result {
	s.t.Helper()
	loaded := slices.Clone(s.known)
	for _, slice := range changed {
		loaded = slices.DeleteFunc(loaded, func(l publish.Slice) bool { return l.Name == slice.Name })
		loaded = append(loaded, slice)
	}
	merged, results, _ := s.box.Merge(s.known, publish.State{Slices: loaded}, s.box.Ended())
	s.known = merged
	s.plan()
	return results
}

// pass lets time pass.
func (s *scene) pass(d time.Duration) { s.now = s.now.Add(d) }

// wantWake compares in how long time alone makes a write due; 0 means never.
func (s *scene) wantWake(want time.Duration) {
	s.t.Helper()
	got := time.Duration(0)
	if at := wake(s.box, s.server, s.now); !at.IsZero() {
		if got = at.Sub(s.now); got <= 0 {
			s.t.Errorf("got a wake %s ago, want only such to come", -got)
		}
	}
	// Waits after failures are a nanosecond longer: none is 0.
	if got != want && got != want+1 {
		s.t.Errorf("got a wake in %s, want in %s", got, want)
	}
}

// wake returns when time alone makes a write due, or lets the server take one.
func wake(box *writer.Outbox, server *writer.Server, now time.Time) time.Time {
	at, again := box.Wake(now), server.Wake(now)
	if at.IsZero() || again.After(at) {
		return again
	}
	return at
}
