package health_test

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory/inventorytest"
)

// compareAddrs lets go-cmp look at addresses.
var compareAddrs = cmp.Comparer(func(a, b netip.Addr) bool { return a == b })

// start is when the tests of pure code begin.
var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// result returns the result of a check sent that many seconds after start.
func result(address string, second int, outcome inventory.Outcome) inventory.Result {
	return inventory.Result{
		Address: netip.MustParseAddr(address),
		At:      start.Add(time.Duration(second) * time.Second),
		Outcome: outcome,
		Message: outcome.String(),
	}
}

func TestContract10OneOppositeResultRestartsTheCount(t *testing.T) {
	const pass, refused, silent, local = inventory.Pass, inventory.Refused, inventory.Silent, inventory.LocalError
	tests := []struct {
		name          string
		outcomes      []inventory.Outcome
		passes, fails int
		trouble       string
	}{
		{"nothing is known at first", nil, 0, 0, ""},
		{"passes add up", []inventory.Outcome{pass, pass, pass}, 3, 0, ""},
		{"refusals and silence add up together", []inventory.Outcome{refused, silent, refused}, 0, 3, ""},
		{"a failure ends the passes", []inventory.Outcome{pass, pass, refused}, 0, 1, ""},
		{"a pass ends the failures", []inventory.Outcome{silent, silent, pass}, 1, 0, ""},
		{"the count starts anew, not where it was", []inventory.Outcome{refused, refused, pass, refused}, 0, 1, ""},
		{"a local error counts for nothing among failures", []inventory.Outcome{refused, local, refused}, 0, 2, ""},
		{"a local error counts for nothing among passes", []inventory.Outcome{pass, local, local, pass}, 2, 0, ""},
		{"a local error is remembered until the next result that counts", []inventory.Outcome{pass, local}, 1, 0, "LocalError"},
		{"a local error alone makes nothing known", []inventory.Outcome{local}, 0, 0, "LocalError"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var results []inventory.Result
			for second, outcome := range test.outcomes {
				results = append(results, result("10.0.0.1", second, outcome))
			}
			got := health.Advance(inventory.Health{}, results).Of(netip.MustParseAddr("10.0.0.1"))
			if got.Passes != test.passes || got.Fails != test.fails || got.Trouble != test.trouble {
				t.Errorf("got %d passes, %d fails, trouble %q, want %d, %d, %q",
					got.Passes, got.Fails, got.Trouble, test.passes, test.fails, test.trouble)
			}
			if want := test.passes+test.fails > 0; got.Known() != want {
				t.Errorf("got known %t, want %t", got.Known(), want)
			}
		})
	}
}

func TestAdvanceIgnoresResultsThatAreOlderThanTheLast(t *testing.T) {
	checks := health.Advance(inventory.Health{}, []inventory.Result{result("10.0.0.1", 5, inventory.Pass)})
	late := []inventory.Result{
		result("10.0.0.1", 4, inventory.Silent),
		result("10.0.0.1", 3, inventory.LocalError),
	}
	if diff := cmp.Diff(checks, health.Advance(checks, late), compareAddrs); diff != "" {
		t.Errorf("old results changed the health (-before +after):\n%s", diff)
	}
}

func TestKeepForgetsWhatIsNotListed(t *testing.T) {
	checks := health.Advance(inventory.Health{}, []inventory.Result{
		result("10.0.0.1", 1, inventory.Pass), result("10.0.0.2", 1, inventory.Pass),
	})
	before := maps.Collect(checks.All())
	got := checks.Only([]netip.Addr{netip.MustParseAddr("10.0.0.2"), netip.MustParseAddr("10.0.0.3")})
	two := netip.MustParseAddr("10.0.0.2")
	want := inventorytest.HealthOf(map[netip.Addr]inventory.Streak{two: checks.Of(two)})
	if diff := cmp.Diff(want, got, compareAddrs); diff != "" {
		t.Errorf("kept (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(before, maps.Collect(checks.All()), compareAddrs); diff != "" {
		t.Errorf("Keep changed its input (-before +after):\n%s", diff)
	}
}

// drawResults draws results of few addresses, in the order in which they came,
// some of them too late.
func drawResults(t *rapid.T) []inventory.Result {
	outcomes := []inventory.Outcome{inventory.Pass, inventory.Refused, inventory.Silent, inventory.LocalError}
	addresses := []string{"10.0.0.1", "10.0.0.2", "fd00::1"}
	var results []inventory.Result
	for second := range rapid.IntRange(0, 30).Draw(t, "results") {
		results = append(results, result(rapid.SampledFrom(addresses).Draw(t, "address"),
			second-rapid.IntRange(0, 3).Draw(t, "delay"), rapid.SampledFrom(outcomes).Draw(t, "outcome")))
	}
	return results
}

// count is the model: it knows only the results that count, in order, and looks at
// them from the end.
func count(results []inventory.Result, address netip.Addr) (passes, fails int) {
	var counting []inventory.Result
	for _, r := range results {
		last := len(counting) - 1
		if r.Address == address && r.Outcome != inventory.LocalError && (last < 0 || !r.At.Before(counting[last].At)) {
			counting = append(counting, r)
		}
	}
	for _, r := range slices.Backward(counting) {
		passed := r.Outcome == inventory.Pass
		if passed != (counting[len(counting)-1].Outcome == inventory.Pass) {
			break
		}
		if passed {
			passes++
		} else {
			fails++
		}
	}
	return passes, fails
}

func TestContract10StreaksEqualTheirModelHoweverTheResultsAreCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		results := drawResults(t)
		var checks inventory.Health
		for rest := results; len(rest) > 0; {
			batch := rapid.IntRange(1, len(rest)).Draw(t, "batch")
			before, given := maps.Collect(checks.All()), slices.Clone(rest[:batch])
			next := health.Advance(checks, rest[:batch])
			if !maps.Equal(before, maps.Collect(checks.All())) || !slices.Equal(given, rest[:batch]) {
				t.Fatal("Advance changed its inputs")
			}
			checks, rest = next, rest[batch:]
		}
		for address, streak := range checks.All() {
			passes, fails := count(results, address)
			if streak.Passes != passes || streak.Fails != fails {
				t.Fatalf("%s: got %d passes and %d fails, want %d and %d", address, streak.Passes, streak.Fails, passes, fails)
			}
			if streak.Last.Outcome == inventory.LocalError && streak.Known() {
				t.Fatalf("%s: a local error became the last result that counts", address)
			}
		}
	})
}

func BenchmarkAdvance(b *testing.B) {
	for _, size := range []int{1_000, 10_000} {
		var results []inventory.Result
		address := netip.MustParseAddr("10.0.0.0")
		for range size {
			address = address.Next()
			results = append(results, inventory.Result{Address: address, At: start, Outcome: inventory.Pass})
		}
		checks := health.Advance(inventory.Health{}, results)
		b.Run(sized(size)+"/one_result", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				health.Advance(checks, results[:1])
			}
		})
		b.Run(sized(size)+"/new_result", func(b *testing.B) {
			b.ReportAllocs()
			without := health.Advance(inventory.Health{}, results[1:])
			for b.Loop() {
				health.Advance(without, results[:1])
			}
		})
		b.Run(sized(size)+"/all_results", func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				health.Advance(checks, results)
			}
		})
	}
}

func BenchmarkKeep(b *testing.B) {
	for _, size := range []int{1_000, 10_000} {
		var results []inventory.Result
		var addresses []netip.Addr
		address := netip.MustParseAddr("10.0.0.0")
		for range size {
			address = address.Next()
			addresses = append(addresses, address)
			results = append(results, inventory.Result{Address: address, At: start, Outcome: inventory.Pass})
		}
		checks := health.Advance(inventory.Health{}, results)
		for name, keep := range map[string][]netip.Addr{"all": addresses, "but_one": addresses[1:]} {
			b.Run(sized(size)+"/"+name, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					checks.Only(keep)
				}
			})
		}
	}
}

func TestContract09AStreakSaysSinceWhen(t *testing.T) {
	const pass, refused, silent, local = inventory.Pass, inventory.Refused, inventory.Silent, inventory.LocalError
	at := func(second int) time.Time { return start.Add(time.Duration(second) * time.Second) }
	tests := []struct {
		name                 string
		outcomes             []inventory.Outcome
		turns                int
		silent, troubleSince time.Time
	}{
		{"nothing at first", nil, 0, time.Time{}, time.Time{}},
		{"a first failure is no turn", []inventory.Outcome{refused, refused}, 0, time.Time{}, time.Time{}},
		{"a pass and a failure are two", []inventory.Outcome{refused, pass, refused}, 2, time.Time{}, time.Time{}},
		{"silent since the first of them", []inventory.Outcome{pass, silent, silent, silent}, 1, at(1), time.Time{}},
		{"a refusal ends silence, but not the streak", []inventory.Outcome{silent, refused}, 0, time.Time{}, time.Time{}},
		{"a pass ends silence", []inventory.Outcome{silent, pass, pass}, 1, time.Time{}, time.Time{}},
		{"silent anew after it", []inventory.Outcome{silent, refused, silent}, 0, at(2), time.Time{}},
		{"a local error ends no silence", []inventory.Outcome{silent, local, silent}, 0, at(0), time.Time{}},
		{"in trouble since the first local error", []inventory.Outcome{pass, local, local}, 0, time.Time{}, at(1)},
		{"no more after a result that counts", []inventory.Outcome{local, local, refused}, 0, time.Time{}, time.Time{}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var results []inventory.Result
			var silentAt time.Time
			for second, outcome := range test.outcomes {
				results = append(results, result("10.0.0.1", second, outcome))
				if outcome == silent {
					silentAt = at(second)
				}
			}
			got := health.Advance(inventory.Health{}, results).Of(netip.MustParseAddr("10.0.0.1"))
			if !got.SilentAt.Equal(silentAt) {
				t.Errorf("got silent at %s, want %s", got.SilentAt, silentAt)
			}
			if got.Turns != test.turns || !got.SilentSince.Equal(test.silent) || !got.TroubleSince.Equal(test.troubleSince) {
				t.Errorf("got %d turns, silent since %s, in trouble since %s, want %d, %s, %s",
					got.Turns, got.SilentSince, got.TroubleSince, test.turns, test.silent, test.troubleSince)
			}
		})
	}
}

func TestAdvanceKeepsOneCopyOfWhatEveryCheckSays(t *testing.T) {
	first := result("10.0.0.1", 1, inventory.Pass)
	again := result("10.0.0.1", 2, inventory.Pass)
	again.Message = strings.Clone(first.Message)
	got := health.Advance(inventory.Health{}, []inventory.Result{first, again}).Of(first.Address).Last
	if !got.At.Equal(again.At) || unsafe.StringData(got.Message) != unsafe.StringData(first.Message) {
		t.Errorf("got %+v with a message of its own, want that of the first check", got)
	}
}
