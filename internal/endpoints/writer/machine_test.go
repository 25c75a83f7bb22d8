package writer_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer"
)

// bench is a machine, the time, and the slices as the store has them.
type bench struct {
	*testing.T
	writer.Machine
	now    time.Time
	store  publish.State
	flying []publish.Write
}

// newBench makes a machine that starts from the state, or with a load.
func newBench(t *testing.T, known, dryRun bool) *bench {
	t.Helper()
	b := &bench{T: t, now: time.Now(), store: publish.State{Service: service}}
	fill := newServed(t, "shop/web", 1).fill
	if known {
		fill.State = &b.store
	}
	b.Machine = writer.NewMachine(fill, dryRun, func() float64 { return 0.5 })
	return b
}

// land lets all that is in flight land.
func (b *bench) land() {
	for _, w := range b.flying {
		r := writer.Result{Write: w, Sent: b.now, Version: fmt.Sprint(b.now.UnixNano())}
		b.store.Slices = writer.Landed(b.store.Slices, r)
		b.Report(r, b.now)
	}
	b.flying = nil
}

// fail lets all that is in flight fail.
func (b *bench) fail(err error) {
	for _, w := range b.flying {
		b.Report(writer.Result{Write: w, Sent: b.now, Err: err}, b.now)
	}
	b.flying = nil
}

// take takes all that is due.
func (b *bench) take() {
	for w, ok := b.Take(b.now); ok; w, ok = b.Take(b.now) {
		b.flying = append(b.flying, w)
	}
}

// looks describes the machine: what it would send, whether it wants a load, what it
// tells, and when it is due: "loss; load; passed 1 pending; 1s".
func (b *bench) looks() string {
	var all []string
	if turn, ok := b.Turn(b.now); ok {
		all = append(all, []string{"loss", "gain", "rest"}[turn.Rank]+map[bool]string{true: " again"}[turn.Retry])
	}
	if b.Machine.Load(b.now) {
		all = append(all, "load")
	}
	if o, ok := b.Tell(b.now); ok {
		var words []string
		for word, is := range map[string]bool{"1 recovered": o.Recovered, "2 passed": o.Passed, "4 load error": o.LoadErr != nil, "5 write error": o.WriteErr != nil} {
			if is {
				words = append(words, word)
			}
		}
		words = append(words, fmt.Sprintf("3 %d pending %d results", o.Pending, len(o.Results)))
		all = append(all, strings.Join(sorted(words), ", "))
	}
	if at := b.Next(b.now); !at.IsZero() {
		all = append(all, at.Sub(b.now).Truncate(time.Millisecond).String())
	}
	return strings.Join(all, "; ")
}

// sorted returns the words in the order of their digits, without these.
func sorted(words []string) []string {
	out := make([]string, 0, len(words))
	for digit := '1'; digit <= '5'; digit++ {
		for _, word := range words {
			if rest, ok := strings.CutPrefix(word, string(digit)+" "); ok {
				out = append(out, rest)
			}
		}
	}
	return out
}

// TestANewReadWaitsForTheOneUnderWay, and for its back-off, whatever news come meanwhile.
func TestANewReadWaitsForTheOneUnderWay(t *testing.T) {
	b := newBench(t, false, false)
	if !b.Machine.Load(b.now) {
		t.Fatal("got no read at the start")
	}
	b.Changed(b.now)
	if b.Machine.Load(b.now) {
		t.Error("got a second read while one is under way")
	}
	b.Loaded(publish.State{}, errors.New("the API server is away"), b.now)
	if b.Machine.Load(b.now) {
		t.Error("got a read at once after one that failed")
	}
	if !b.Machine.Load(b.Next(b.now)) {
		t.Error("got no read after the back-off")
	}
}

// step is one event and what the machine looks like after it.
type step struct {
	what string
	do   func(b *bench)
	want string
}

func TestMachine(t *testing.T) {
	decide := func(n int, down ...int) func(*bench) {
		return func(b *bench) { b.Decide(verdict(n, down...).Members, b.now) }
	}
	loaded := func(b *bench) { b.Loaded(b.store, nil, b.now) }
	pass := func(d time.Duration) func(*bench) {
		return func(b *bench) { b.now = b.now.Add(d); b.Tick(b.now) }
	}
	for name, c := range map[string]struct {
		known, dryRun bool
		steps         []step
	}{
		"nothing is decided before the state is known": {steps: []step{
			{"start", func(*bench) {}, "load"},
			{"verdict", decide(2), ""},
			{"load fails", func(b *bench) { b.Loaded(publish.State{}, errors.New("no"), b.now) }, "0 pending 0 results, load error; 500ms"},
			{"half a second later", pass(500*time.Millisecond + 1), "load"},
			{"loaded", loaded, "gain; recovered, passed, 2 pending 0 results"},
		}},
		"what is right needs no timer": {known: true, steps: []step{
			{"verdict", decide(2), "gain; passed, 2 pending 0 results"},
			{"taken", (*bench).take, ""},
			{"landed", (*bench).land, "0 pending 2 results"},
			{"the same verdict", decide(2), "passed, 0 pending 0 results"},
			{"a change", func(b *bench) { b.Changed(b.now) }, "load"},
			{"loaded", loaded, "0 pending 0 results"},
			{"an hour later", pass(time.Hour), ""},
		}},
		"a failed write is read, waits, and is tried again": {known: true, steps: []step{
			{"verdict", decide(1), "gain; passed, 1 pending 0 results"},
			{"taken", (*bench).take, ""},
			{"failed", func(b *bench) { b.fail(errRefused) }, "load; 1 pending 0 results, write error"},
			{"loaded", loaded, "passed, 1 pending 1 results, write error; 500ms"},
			{"half a second later", pass(500*time.Millisecond + 1), "gain again"},
			{"taken", (*bench).take, ""},
			{"landed", (*bench).land, "0 pending 1 results"},
		}},
		"what was lost in a failed load is told": {known: true, steps: []step{
			{"verdict", decide(1), "gain; passed, 1 pending 0 results"},
			{"taken", (*bench).take, ""},
			{"failed", func(b *bench) { b.fail(errRefused) }, "load; 1 pending 0 results, write error"},
			{"load fails", func(b *bench) { b.Loaded(publish.State{}, errors.New("no"), b.now) }, "1 pending 1 results, load error, write error; 500ms"},
		}},
		"what was lost in a slice that cannot be read is told": {known: true, steps: []step{
			{"verdict", decide(1), "gain; passed, 1 pending 0 results"},
			{"taken", (*bench).take, ""},
			{"failed", func(b *bench) { b.fail(errRefused) }, "load; 1 pending 0 results, write error"},
			{"loaded in part", func(b *bench) {
				b.Loaded(publish.State{Service: service, UnreadErr: errors.New("no"), Unread: []string{"web.blue"}}, nil, b.now)
			}, "1 pending 1 results, load error, write error; 500ms"},
		}},
		"an old diff is made anew before it is sent": {known: true, steps: []step{
			{"verdict", decide(1), "gain; passed, 1 pending 0 results"},
			{"two seconds later", pass(2 * time.Second), "gain; passed, 1 pending 0 results"},
			{"two seconds later, taken", func(b *bench) { b.now = b.now.Add(2 * time.Second); b.take() }, "passed, 1 pending 0 results"},
		}},
		"results wait a second for others under way": {known: true, steps: []step{
			{"verdict", decide(2), "gain; passed, 2 pending 0 results"},
			{"taken", (*bench).take, ""},
			{"one landed", func(b *bench) {
				rest := b.flying[1:]
				b.flying = b.flying[:1]
				b.land()
				b.flying = rest
			}, "1 pending 0 results; 1s"},
			{"a second later", pass(time.Second), "1 pending 1 results"},
			{"the other landed", (*bench).land, "0 pending 1 results"},
		}},
		"a loss is a loss, and a zone is not": {known: true, steps: []step{
			{"verdict", decide(2), "gain; passed, 2 pending 0 results"},
			{"taken", (*bench).take, ""},
			{"landed", (*bench).land, "0 pending 2 results"},
			{"a zone", func(b *bench) { b.Decide(zoned(2).Members, b.now) }, "rest; passed, 2 pending 0 results"},
			{"down", func(b *bench) { b.Decide(verdict(2, 1).Members, b.now) }, "loss; passed, 1 pending 0 results"},
		}},
		"a failure that is over is forgotten at the next verdict": {known: true, steps: []step{
			{"verdict", decide(1), "gain; passed, 1 pending 0 results"},
			{"landed", func(b *bench) { b.take(); b.land() }, "0 pending 1 results"},
			{"down", decide(1, 1), "loss; passed, 1 pending 0 results"},
			{"failed", func(b *bench) { b.take(); b.fail(errRefused) }, "load; 1 pending 0 results, write error"},
			{"loaded", loaded, "passed, 1 pending 1 results, write error; 500ms"},
			{"up again", decide(1), "passed, 0 pending 0 results"},
			{"a minute later", pass(time.Minute), ""},
			{"the same verdict", decide(1), "passed, 0 pending 0 results"},
			{"down", decide(1, 1), "loss; passed, 1 pending 0 results"},
		}},
		"a dry run says what it would write": {known: true, dryRun: true, steps: []step{
			{"verdict", decide(2), "passed, 2 pending 0 results"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, c.known, c.dryRun)
			for _, s := range c.steps {
				s.do(b)
				if got := b.looks(); got != s.want {
					t.Fatalf("after %q it looks %q, want %q", s.what, got, s.want)
				}
			}
		})
	}
}

func TestTheSameVerdictCostsATargetThatIsRightNextToNothing(t *testing.T) {
	b := newBench(t, true, false)
	b.Decide(verdict(100).Members, b.now)
	for b.take(); len(b.flying) > 0; b.take() {
		b.land()
	}
	same, other := verdict(100).Members, zoned(100).Members
	b.Decide(same, b.now)
	if got := testing.AllocsPerRun(10, func() { b.Decide(same, b.now) }); got > 1 {
		t.Errorf("got %v allocations for a verdict that changes nothing, want 1", got)
	}
	b.Decide(other, b.now)
	if turn, ok := b.Turn(b.now); !ok || turn.Rank != writer.Rest {
		t.Errorf("got %v, %t for a verdict that changes zones, want writes", turn, ok)
	}
}
