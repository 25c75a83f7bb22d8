package health_test

import (
	"net/netip"
	"testing"
	"time"
	"unsafe"

	"pgregory.net/rapid"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// unanswered is a check without a connection.
func unanswered(second int) inventory.Result {
	r := result("10.0.0.1", second, inventory.Silent)
	r.NoConnection = true
	return r
}

// answeredBy is what replica-b says of the first failures, the last of which was sent at that second.
func answeredBy(second, failures int, missed bool) inventory.Result {
	r := result("10.0.0.1", second, inventory.Elsewhere)
	r.Failures, r.Missed, r.Message = failures, missed, "replica-b"
	return r
}

func TestContract239AnAnswerIsFoldedIntoTheSilenceThatItIsAbout(t *testing.T) {
	hangs, refused, pass := result("10.0.0.1", 2, inventory.Silent), result("10.0.0.1", 2, inventory.Refused), result("10.0.0.1", 2, inventory.Pass)
	tests := []struct {
		name                string
		results             []inventory.Result
		failures, elsewhere int
		missed              bool
	}{
		{"nothing was asked", []inventory.Result{answeredBy(1, 1, false)}, 0, 0, false},
		{"in time", []inventory.Result{unanswered(1), answeredBy(1, 1, false)}, 1, 1, false},
		{"late", []inventory.Result{unanswered(1), unanswered(2), answeredBy(1, 1, false)}, 2, 1, false},
		{"twice", []inventory.Result{unanswered(1), answeredBy(1, 1, false), unanswered(2), answeredBy(1, 1, false)}, 2, 1, false},
		{"an older one after a newer one", []inventory.Result{unanswered(1), unanswered(2), answeredBy(2, 2, false), answeredBy(1, 1, false)}, 2, 2, false},
		{"of more than there were", []inventory.Result{unanswered(1), answeredBy(1, 2, false)}, 1, 0, false},
		{"an answer that hangs is a connection", []inventory.Result{unanswered(1), hangs}, 1, 0, false},
		{"after a refusal", []inventory.Result{unanswered(1), refused, answeredBy(1, 1, false)}, 1, 0, false},
		{"for what was before a refusal", []inventory.Result{unanswered(1), refused, unanswered(3), answeredBy(1, 1, false)}, 2, 0, false},
		{"with what was before a refusal", []inventory.Result{unanswered(1), refused, unanswered(3), answeredBy(3, 2, false)}, 2, 2, false},
		{"a refusal keeps it", []inventory.Result{unanswered(1), answeredBy(1, 1, false), refused}, 1, 1, false},
		{"a pass ends it", []inventory.Result{unanswered(1), answeredBy(1, 1, false), pass}, 0, 0, false},
		{"for what was before a pass", []inventory.Result{unanswered(1), pass, unanswered(3), answeredBy(1, 1, false)}, 1, 0, false},
		{"missed", []inventory.Result{unanswered(1), answeredBy(1, 1, true)}, 1, 0, true},
		{"missed before a pass", []inventory.Result{unanswered(1), pass, unanswered(3), answeredBy(1, 1, true)}, 1, 0, false},
		{"missed, of what was reached", []inventory.Result{unanswered(1), answeredBy(1, 1, false), answeredBy(1, 1, true)}, 1, 1, false},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := health.Advance(inventory.Health{}, test.results).Of(netip.MustParseAddr("10.0.0.1")).Unconnected
			if got.Failures != test.failures || got.Elsewhere != test.elsewhere || got.Missed.IsZero() == test.missed {
				t.Errorf("got %+v, want %d failures, %d of them answered, missed %t", got, test.failures, test.elsewhere, test.missed)
			}
			if (got.Elsewhere > 0) != (got.Replica == "replica-b") || (got.Elsewhere > 0) == got.Answered.IsZero() {
				t.Errorf("got %+v, want replica and time exactly where something was answered", got)
			}
		})
	}
}

// An answer of another replica is no check: it changes nothing else of a streak.
func TestContract240AnAnswerChangesNothingElse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		before := health.Advance(inventory.Health{}, drawResults(t))
		for address, streak := range before.All() {
			answer := answeredBy(rapid.IntRange(-3, 31).Draw(t, "at"), rapid.IntRange(-1, 9).Draw(t, "failures"), rapid.Bool().Draw(t, "missed"))
			answer.Address = address
			after := health.Advance(before, []inventory.Result{answer}).Of(address)
			if after.Unconnected = streak.Unconnected; after != streak {
				t.Fatalf("an answer made %+v of %+v", after, streak)
			}
		}
	})
}

func TestContract239OnlyAConnectThatIsNotAnsweredIsAskedAbout(t *testing.T) {
	hangs := newChecker(t, health.Options{Mode: health.HTTP, Port: backend(t, loopback, hang), Timeout: time.Second})
	full := newChecker(t, health.Options{Port: fullBacklog(t), Timeout: time.Second})
	if got := expect(t, hangs, loopback, inventory.Silent, inventory.ProbeTimeout); got.NoConnection {
		t.Error("got no connection from a server that accepts and does not answer")
	}
	if got := expect(t, full, loopback, inventory.Silent, inventory.ProbeTimeout); !got.NoConnection {
		t.Error("got a connection from a full backlog")
	}
}

// Ten thousand streaks take 5 MB more at most (contract 242).
func TestContract242AStreakIsBounded(t *testing.T) {
	if got := unsafe.Sizeof(inventory.ConnectFailures{}); got > 80 {
		t.Errorf("what is remembered of answers takes %d bytes for each endpoint, want at most 80", got)
	}
}
