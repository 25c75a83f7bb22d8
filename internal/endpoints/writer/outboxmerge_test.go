package writer_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// spelled returns the slices as "s1@3" and so on: names and versions.
func spelled(all []publish.Slice) []string {
	got := []string{}
	for _, s := range all {
		got = append(got, fmt.Sprintf("%s@%s", s.Name, s.Version))
	}
	return got
}

func TestALoadCountsForSlicesWhoseLastRequestEndedBefore(t *testing.T) {
	for name, c := range map[string]struct {
		// happens goes on after a load began; s1 was read at version 1, s2 at 2.
		happens  func(s *scene)
		want     []string
		resolved bool
		// again says that the load must be repeated.
		again bool
	}{
		"no request": {
			func(*scene) {}, []string{"s1@91", "s2@92"}, false, false,
		},
		"a request in flight": {
			func(s *scene) { s.wantTaken("s1") }, []string{"s1@1", "s2@92"}, false, false,
		},
		"a request that ended since": {
			func(s *scene) { s.wantTaken("s1"); s.pass(1); s.land("s1") }, []string{"s1@3", "s2@92"}, false, true,
		},
		"a slice that could not be read": {
			func(s *scene) { s.wantTaken("s1"); s.fail(errDenied, "s1") }, []string{"s1@1", "s2@92"}, false, true,
		},
		"a request that failed since": {
			func(s *scene) { s.wantTaken("s1"); s.pass(1); s.fail(errDenied, "s1") }, []string{"s1@1", "s2@92"}, false, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, 0, "s1: a=ready", "s2: b=ready")
			s.want("s1: a=draining")
			ended := s.box.Ended()
			c.happens(s)
			loaded := s.read("s1: a=ready", "s2: b=down")
			loaded[0].Version, loaded[1].Version = "91", "92"
			state := publish.State{Slices: loaded}
			if strings.Contains(name, "could not be read") {
				state.Unread, ended = []string{"s1"}, s.box.Ended()
			}
			merged, _, resolved := s.box.Merge(s.known, state, ended)
			if diff := cmp.Diff(c.want, spelled(merged)); diff != "" {
				t.Errorf("slices (-want +got):\n%s", diff)
			}
			if resolved != c.resolved || s.box.Unread() != c.again {
				t.Errorf("got resolved %t and to be read again %t, want %t and %t", resolved, s.box.Unread(), c.resolved, c.again)
			}
		})
	}
}

// TestContract23ASliceThatIsDeletedAsSoonAsItIsMadeIsReadAgain: a load that saw
// none may be from before the create, or from after the deletion.
func TestContract23ASliceThatIsDeletedAsSoonAsItIsMadeIsReadAgain(t *testing.T) {
	s := newScene(t, 0)
	s.want("s1: a=ready")
	s.wantTaken("s1")
	s.known, _, _ = s.box.Merge(s.known, publish.State{Slices: nil}, s.box.Ended())
	s.pass(1)
	s.land("s1")
	if !s.box.Unread() {
		t.Fatal("want the slice to be read again")
	}
	s.pass(1)
	s.known, _, _ = s.box.Merge(s.known, publish.State{Slices: nil}, s.box.Ended())
	s.plan()
	s.wantTaken("s1")
}

// TestContract23AnEditThatALoadSawDuringARequestIsNotForgotten: the watch does not
// announce it again.
func TestContract23AnEditThatALoadSawDuringARequestIsNotForgotten(t *testing.T) {
	for name, c := range map[string]struct {
		seen  string
		again bool
	}{
		"the slice as it was":           {"1", false},
		"what the write made of it":     {"2", false},
		"what somebody else made of it": {"3", true},
		"nothing: it was deleted":       {"", true},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, 0, "s1: a=ready")
			s.want("s1: a=down")
			s.wantTaken("s1")
			var loaded []publish.Slice
			if c.seen != "" {
				loaded = s.read("s1: a=draining")
				loaded[0].Version = c.seen
			}
			s.known, _, _ = s.box.Merge(s.known, publish.State{Slices: loaded}, s.box.Ended())
			if s.box.Unread() {
				t.Error("want no load that could not count either")
			}
			r := s.end("s1", nil)
			r.Version = "2"
			s.pass(1)
			s.box.Report(r, s.now)
			if got := s.box.Unread(); got != c.again {
				t.Errorf("got %t, want %t: whether the slice has to be read again", got, c.again)
			}
			s.known, _, _ = s.box.Merge(s.known, publish.State{Slices: s.read("s1: a=ready")}, s.box.Ended())
			if s.box.Unread() {
				t.Error("want the slice to be read once")
			}
		})
	}
}

func TestContract21TheReadAfterAFailureSaysWhatCameOfTheWrite(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		loaded string
		landed bool
	}{
		"it landed":                    {errDenied, "s1: a=down", true},
		"it did not":                   {errDenied, "s1: a=ready", false},
		"somebody wrote something":     {errDenied, "s1: a=draining", false},
		"away, and landed":             {errAway, "s1: a=down", true},
		"conflict with the same write": {publish.ErrConflict, "s1: a=down", false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, 0, "s1: a=ready")
			s.want("s1: a=down")
			s.wantTaken("s1")
			s.fail(c.err, "s1")
			results := s.load(s.read(c.loaded)...)
			if len(results) != 1 || (results[0].Err == nil) != c.landed {
				t.Fatalf("got %+v, want one result, success: %t", results, c.landed)
			}
			if c.landed && results[0].Version != "2" {
				t.Errorf("got version %q of what landed, want that of the read", results[0].Version)
			}
			if got := s.load(); len(got) != 0 {
				t.Errorf("got %+v told again", got)
			}
		})
	}
}

func TestContract21ACreateWhoseAnswerWasLostIsRead(t *testing.T) {
	for name, loaded := range map[string][]string{"landed": {"s1: a=ready"}, "did not land": nil} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, 0)
			s.want("s1: a=ready")
			s.wantTaken("s1")
			s.fail(errDenied, "s1")
			s.load(s.read(loaded...)...)
			s.pass(time.Second)
			if len(loaded) > 0 {
				s.wantTaken()
				return
			}
			s.wantTaken("s1")
			if got := s.flying["s1"].Write.Operation; got != publish.Create {
				t.Errorf("got %s, want it to be created", got)
			}
		})
	}
}

// TestContract26ASliceOfUnknownOutcomeTakesNoPart: it counts as that write leaves it.
// So its endpoints are placed nowhere else.
func TestContract26ASliceOfUnknownOutcomeTakesNoPart(t *testing.T) {
	s := newScene(t, 0, "s1: a=ready", "s2: b=ready")
	s.want("s1: a=ready c=ready", "s2: b=draining")
	s.wantTaken("s1", "s2")
	s.fail(errDenied, "s1")
	planned := s.box.Planned(s.known)
	if diff := cmp.Diff([]int{2, 1}, []int{len(planned[0].Endpoints), len(planned[1].Endpoints)}); diff != "" {
		t.Errorf("endpoints planned with (-want +got):\n%s", diff)
	}
	if got := s.known[0].Endpoints; len(got) != 1 {
		t.Errorf("what is known was changed: %v", got)
	}
	s.pass(time.Hour)
	s.plan()
	s.wantTaken()
	s.wantWake(0)
}

func TestWhatNoLoadCouldShowIsToldOnceAsItWas(t *testing.T) {
	s := three(t, 0)
	s.wantTaken("s1", "s2", "s3")
	s.fail(errDenied, "s2")
	s.pass(1)
	s.fail(errAway, "s1")
	s.land("s3")
	var got []string
	for _, r := range s.box.GiveUp() {
		got = append(got, r.Write.Slice.Name)
		if r.Err == nil {
			t.Errorf("%s: got no error", r.Write.Slice.Name)
		}
	}
	if diff := cmp.Diff([]string{"s1", "s2"}, got, cmpopts.SortSlices(func(a, b string) bool { return a < b })); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
	if again := s.box.GiveUp(); len(again) != 0 {
		t.Errorf("got %+v told again", again)
	}
	if !s.box.Unread() {
		t.Error("they are still to be read")
	}
	if results := s.load(s.read("s1: a=draining", "s2: b=draining")...); len(results) != 0 {
		t.Errorf("got %+v told again", results)
	}
	if err := s.box.Err(); err != nil {
		t.Errorf("got %v although both had landed", err)
	}
}

func TestSlicesAreOrderedByFamilyAndNumber(t *testing.T) {
	s := newScene(t, 0, "web-remote-2: b=ready", "web-remote-ipv6: A=ready", "web-remote-10: c=ready")
	s.want("web-remote: a=ready")
	s.wantTaken("web-remote")
	s.land("web-remote")
	want := []string{"web-remote@4", "web-remote-2@1", "web-remote-10@3", "web-remote-ipv6@2"}
	if diff := cmp.Diff(want, spelled(s.known)); diff != "" {
		t.Errorf("after a write (-want +got):\n%s", diff)
	}
	s.load(s.read("web-remote-3: d=ready")...)
	want = []string{"web-remote@4", "web-remote-2@1", "web-remote-3@5", "web-remote-10@3", "web-remote-ipv6@2"}
	if diff := cmp.Diff(want, spelled(s.known)); diff != "" {
		t.Errorf("after a load (-want +got):\n%s", diff)
	}
}
