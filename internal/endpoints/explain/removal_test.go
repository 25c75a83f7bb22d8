package explain_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
)

// listener receives one verdict after the other.
type listener struct {
	pool   explain.Pool
	before *guard.Verdict
}

// hears returns the story of a verdict. passed says that the verdict is new, not the
// last one again.
func (l *listener) hears(v *guard.Verdict, passed bool) explain.Story {
	o := pool.Outcome{At: time.Now(), Verdict: v, Decided: true, Passed: passed}
	if l.before == nil {
		l.before = &guard.Verdict{}
		l.pool, _ = l.pool.Tell(pool.Outcome{At: time.Now(), Verdict: l.before, Recovered: &pool.Recovery{}})
	}
	var s explain.Story
	l.pool, s = l.pool.Tell(o)
	return s
}

// reasons are those of the notices of a story, in order.
func reasons(s explain.Story) []explain.NoticeReason {
	var all []explain.NoticeReason
	for _, n := range s.Notices {
		all = append(all, n.Reason)
	}
	return all
}

// warnings are the messages of a story's warnings.
func warnings(s explain.Story) []string {
	var all []string
	for _, line := range s.Lines {
		if line.Level == explain.Warn {
			all = append(all, line.Message)
		}
	}
	return all
}

func TestContract13AcceptedRemovalIsToldOnce(t *testing.T) {
	t.Parallel()
	var l listener
	accepted := &guard.Verdict{Accepted: []netip.Addr{netip.MustParseAddr("10.0.0.11"), netip.MustParseAddr("10.0.0.12")}, AcceptedMessage: "10 rejected inventories left out 2 endpoints: removing 10.0.0.11, 10.0.0.12"}
	s := l.hears(accepted, true)
	if got := reasons(s); !slices.Equal(got, []explain.NoticeReason{explain.RemovalAccepted}) {
		t.Fatalf("got the notices %v, want RemovalAccepted", got)
	}
	if note := s.Notices[0].Note; !strings.Contains(note, "10.0.0.11, 10.0.0.12") {
		t.Errorf("got the note %q, want one that names the endpoints", note)
	}
	if !explain.RemovalAccepted.Warning() {
		t.Error("got a normal Event, want a warning")
	}
	if len(warnings(s)) != 1 || !slices.Contains(s.Lines[0].Args, any(2)) || !slices.Contains(s.Lines[0].Args, any(accepted.AcceptedMessage)) {
		t.Errorf("got the lines %+v, want one warning with number and endpoints", s.Lines)
	}
	for _, passed := range []bool{false, true} {
		again := accepted
		if passed {
			again = &guard.Verdict{}
		}
		if s := l.hears(again, passed); len(s.Notices) > 0 || len(warnings(s)) > 0 {
			t.Errorf("told again, a new verdict %v: got %+v, want nothing", passed, s)
		}
	}
	if l.pool.Accepted != 2 {
		t.Errorf("got %d endpoints counted, want 2", l.pool.Accepted)
	}
}

func TestContract13AThreatenedRemovalIsToldBeforeItHappens(t *testing.T) {
	t.Parallel()
	var l listener
	hold := func(endpoints, inventories int) *guard.Verdict {
		return &guard.Verdict{
			Mode: guard.Hold, Cause: guard.NoNodes, Message: "the source lists no node",
			Removal: guard.Removal{Endpoints: endpoints, Inventories: inventories},
		}
	}
	if got := reasons(l.hears(hold(0, 0), true)); !slices.Equal(got, []explain.NoticeReason{explain.RemovalHeld}) {
		t.Errorf("nothing threatened: got %v, want RemovalHeld", got)
	}
	s := l.hears(hold(3, 10), true)
	if got := reasons(s); !slices.Equal(got, []explain.NoticeReason{explain.RemovalPending}) {
		t.Fatalf("three threatened: got %v, want RemovalPending", got)
	}
	for _, want := range []string{"3 kept endpoints will be removed", "10 more scheduled inventories", "the source lists no node"} {
		if !strings.Contains(s.Notices[0].Note, want) {
			t.Errorf("got the note %q, want %q in it", s.Notices[0].Note, want)
		}
	}
	at := time.Date(2026, 1, 2, 1, 27, 38, 0, time.UTC)
	for removal, want := range map[guard.Removal]string{
		{Endpoints: 1, Inventories: 1}:         "1 kept endpoint will be removed when 1 more scheduled inventory is rejected",
		{Endpoints: 1, Inventories: 2, At: at}: "1 kept endpoint will be removed at 01:27:38 UTC, if 2 more scheduled inventories are rejected",
		{Endpoints: 3, Inventories: 2, At: at}: "3 kept endpoints will be removed, the first at 01:27:38 UTC, if 2 more scheduled inventories are rejected",
	} {
		if got := explain.PendingRemoval(removal); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
	if s := l.hears(hold(4, 9), true); len(s.Notices) > 0 {
		t.Errorf("it goes on: got %+v, want nothing", s.Notices)
	}
	if s := l.hears(&guard.Verdict{Mode: guard.Hold, Cause: guard.NoNodes}, true); len(s.Notices) > 0 {
		t.Errorf("it is over: got %+v, want nothing", s.Notices)
	}
	if got := reasons(l.hears(hold(1, 10), true)); !slices.Equal(got, []explain.NoticeReason{explain.RemovalPending}) {
		t.Errorf("it begins again: got %v, want RemovalPending", got)
	}
}

func TestContract09UncheckedEndpointsAreSaidOnceAndWhenItIsOver(t *testing.T) {
	t.Parallel()
	var l listener
	for _, step := range []struct {
		unchecked int
		want      string
	}{{0, ""}, {2, "endpoints are not checked"}, {3, ""}, {0, "all endpoints are checked again"}, {0, ""}} {
		said := ""
		for _, line := range l.hears(&guard.Verdict{Unchecked: step.unchecked}, true).Lines {
			said += line.Message
		}
		if (step.want == "") != (said == "") || !strings.Contains(said, step.want) {
			t.Errorf("%d unchecked: got %q, want %q", step.unchecked, said, step.want)
		}
	}
}
