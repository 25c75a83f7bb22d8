package explain_test

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/explain"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer"
)

// tell makes cycles of words, oldest first: "read", "write", or what failed.
func tell(words ...string) []explain.Cycle {
	var cycles []explain.Cycle
	for i, word := range words {
		c := explain.Cycle{At: time.Unix(int64(i), 0)}
		switch word {
		case "read":
		case "write":
			c.Writes = 1
		default:
			c.Error = word
		}
		cycles = explain.Prepend(cycles, c)
	}
	return cycles
}

// told spells cycles, newest first.
func told(cycles []explain.Cycle) []string {
	var words []string
	for _, c := range cycles {
		word := "read"
		switch {
		case c.Error != "":
			word = c.Error
		case c.Writes > 0:
			word = "write"
		}
		words = append(words, fmt.Sprintf("%s at %d, %d more", word, c.At.Unix(), c.Repeats))
	}
	return words
}

func TestQuietCyclesArePutTogetherUpToTheLastChange(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ words, want []string }{
		"quiet reads":             {[]string{"read", "read", "read"}, []string{"read at 2, 2 more"}},
		"changes stay apart":      {[]string{"write", "write"}, []string{"write at 1, 0 more", "write at 0, 0 more"}},
		"a change parts reads":    {[]string{"read", "write", "read", "read"}, []string{"read at 3, 1 more", "write at 1, 0 more", "read at 0, 0 more"}},
		"a failure is no success": {[]string{"read", "boom", "boom"}, []string{"boom at 2, 1 more", "read at 0, 0 more"}},
		"failures differ":         {[]string{"boom", "bang"}, []string{"bang at 1, 0 more", "boom at 0, 0 more"}},
		"in turn":                 {[]string{"write", "read", "boom", "read", "boom"}, []string{"boom at 4, 1 more", "read at 3, 1 more", "write at 0, 0 more"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, told(tell(test.words...))); diff != "" {
				t.Errorf("cycles (-want +got):\n%s", diff)
			}
		})
	}
}

func TestTheNewestChangesAreKept(t *testing.T) {
	t.Parallel()
	words := slices.Repeat([]string{"write"}, explain.MaxCycles+5)
	if got := tell(words...); len(got) != explain.MaxCycles || got[0].At.Unix() != int64(len(words)-1) {
		t.Errorf("got %d cycles, want the newest %d: %v", len(got), explain.MaxCycles, told(got))
	}
}

func TestCyclesAreBoundedAndCountAll(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.SampledFrom([]string{"read", "write", "boom", "bang"}), 0, 100).Draw(t, "words")
		cycles := tell(words...)
		if len(cycles) > explain.MaxCycles {
			t.Fatalf("got %d cycles, want at most %d", len(cycles), explain.MaxCycles)
		}
		counted := 0
		for i, c := range cycles {
			counted += 1 + c.Repeats
			if i > 0 && !c.At.Before(cycles[i-1].At) {
				t.Fatalf("not newest first: %v", told(cycles))
			}
			if c.Writes > 0 && c.Repeats > 0 {
				t.Fatalf("a change was put together with others: %v", told(cycles))
			}
		}
		if len(cycles) < explain.MaxCycles && counted != len(words) {
			t.Fatalf("got %d cycles told of, want %d: %v", counted, len(words), told(cycles))
		}
	})
}

func TestACycleTellsWhatItsWritesDid(t *testing.T) {
	t.Parallel()
	addrs := func(octets ...byte) []netip.Addr {
		var all []netip.Addr
		for _, o := range octets {
			all = append(all, netip.AddrFrom4([4]byte{10, 0, 0, o}))
		}
		return all
	}
	results := []writer.Result{
		{Write: publish.Write{Added: addrs(2, 9), Changed: addrs(4)}},
		{Write: publish.Write{Added: addrs(1), Removed: addrs(3, 9)}},
		{Write: publish.Write{Added: addrs(7), Removed: addrs(1), Changed: addrs(8)}, Err: errors.New("boom")},
	}
	got := explain.CycleOf(results, time.Unix(0, 0), time.Unix(0, 1_234_567))
	want := explain.Cycle{DurationSeconds: 0.001234, Writes: 2, Added: []string{"10.0.0.1", "10.0.0.2"}, Removed: []string{"10.0.0.3"}, Changed: []string{"10.0.0.4"}, Error: "boom"}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(explain.Cycle{}, "At")); diff != "" {
		t.Errorf("cycle (-want +got):\n%s", diff)
	}
	if !cmp.Equal(results[0].Write.Added, addrs(2, 9), cmpopts.EquateComparable(netip.Addr{})) {
		t.Errorf("the input moved: %v", results[0].Write.Added)
	}
}
