package guard_test

import (
	"bytes"
	"encoding/binary"
	"net/netip"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// reporter is what the laws need of testing.TB and of rapid.T.
type reporter interface {
	Helper()
	Fatalf(format string, args ...any)
}

// everything lets cmp look into what guard keeps to itself.
var everything = cmp.Options{
	cmp.Exporter(func(reflect.Type) bool { return true }),
	cmp.Comparer(func(a, b netip.Addr) bool { return a == b }),
}

// decideLawfully decides, and checks what holds for every decision there is.
func decideLawfully(t reporter, in guard.Input, policy guard.Policy) guard.Verdict {
	t.Helper()
	before := snapshot(in)
	verdict := guard.Decide(in, policy)
	if !bytes.Equal(snapshot(in), before) {
		t.Fatalf("Decide changed its input, which is now %+v", in)
	}
	if second := guard.Decide(in, policy); !reflect.DeepEqual(verdict, second) {
		t.Fatalf("the same input made another verdict:\n%s", cmp.Diff(verdict, second, everything))
	}
	// The first decision may change the input of the next, such as one more endpoint
	// that passes. The decision after that changes nothing.
	again := guard.Decide(guard.Input{Now: in.Now, Health: in.Health, Memory: verdict.Memory}, policy)
	third := guard.Decide(guard.Input{Now: in.Now, Health: in.Health, Memory: again.Memory}, policy)
	if got, want := statesOf(third.Members), statesOf(again.Members); got != want && !joinedUnproved(in, verdict) && len(verdict.Accepted) == 0 {
		t.Fatalf("deciding a third time without news made %q of %q", got, want)
	}
	if !slices.IsSortedFunc(verdict.Members, inventory.CompareMembers) {
		t.Fatalf("members are not sorted: %v", verdict.Members)
	}
	if !slices.IsSortedFunc(verdict.Decisions, func(a, b inventory.Decision) int { return a.Address.Compare(b.Address) }) {
		t.Fatalf("decisions are not sorted: %v", verdict.Decisions)
	}
	if !slices.IsSortedFunc(verdict.Watch, func(a, b inventory.Watch) int { return a.Address.Compare(b.Address) }) {
		t.Fatalf("watched addresses are not sorted: %v", verdict.Watch)
	}
	if (verdict.Mode == guard.Publish) != (verdict.Cause == "") || (verdict.Cause == "") != (verdict.Message == "") {
		t.Fatalf("mode %s has cause %q and message %q", verdict.Mode, verdict.Cause, verdict.Message)
	}
	if !verdict.Next.IsZero() && !verdict.Next.After(in.Now) {
		t.Fatalf("wants to be asked again at %s, which is not after %s", verdict.Next, in.Now)
	}
	checkDecisions(t, in, verdict)
	return verdict
}

// joinedUnproved reports whether addresses that never passed were published, as
// happens when every check fails. They count among the N present endpoints from the
// next decision on, and may change it (contract 14).
func joinedUnproved(in guard.Input, verdict guard.Verdict) bool {
	return slices.ContainsFunc(verdict.Members, func(m inventory.Member) bool {
		return !in.Memory.Has(m.Address) && (m.State == inventory.StateDown || verdict.Mode == guard.FailOpen)
	})
}

// snapshot returns all of an input, with what is behind its pointers, as bytes. It is taken
// twice for each decision of the random worlds, so it does without package fmt.
func snapshot(in guard.Input) []byte { return appendValue(nil, reflect.ValueOf(in)) }

// appendValue appends a value. A pointer to a type of others, such as the location of a
// time, stands for itself.
func appendValue(to []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Bool:
		return strconv.AppendBool(to, v.Bool())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return binary.AppendVarint(to, v.Int())
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return binary.AppendUvarint(to, v.Uint())
	case reflect.String:
		return append(binary.AppendUvarint(to, uint64(v.Len())), v.String()...)
	case reflect.Pointer:
		if v.IsNil() || !strings.Contains(v.Type().Elem().PkgPath(), "ionoscloud") {
			return binary.AppendUvarint(to, uint64(v.Pointer()))
		}
		return appendValue(append(to, '*'), v.Elem())
	case reflect.Slice, reflect.Array:
		to = binary.AppendUvarint(to, uint64(v.Len()))
		for i := range v.Len() {
			to = appendValue(to, v.Index(i))
		}
	case reflect.Struct:
		for i := range v.NumField() {
			to = appendValue(to, v.Field(i))
		}
	default:
		panic("an input has a " + v.Type().String())
	}
	return to
}

// fitting lists the reasons that each state may have.
var fitting = map[inventory.State][]inventory.Reason{
	inventory.StateReady:    {inventory.Ready, inventory.ReadyFailOpen, inventory.ReadyHeld, inventory.ReadyElsewhere, inventory.ReadyFailing, inventory.ReadyDraining, inventory.ProbePending, inventory.PlacementRejected, inventory.UnknownNode},
	inventory.StateDraining: {inventory.Draining},
	inventory.StateDown:     {inventory.ProbePending, inventory.ProbeRefused, inventory.ProbeTimeout},
	inventory.Absent:        {inventory.ProbePending, inventory.ProbeRefused, inventory.ProbeTimeout, inventory.Gone, inventory.NoPod},
}

// checkDecisions checks that each candidate, and each endpoint before and after, has
// one decision with a reason that fits its state and a text, and that the prober
// watches all that may be published.
func checkDecisions(t reporter, in guard.Input, verdict guard.Verdict) {
	t.Helper()
	state, watched, decided := map[netip.Addr]inventory.State{}, map[netip.Addr]bool{}, map[netip.Addr]bool{}
	for _, m := range verdict.Members {
		state[m.Address] = m.State
		if !verdict.Memory.Has(m.Address) || m.State == inventory.Absent {
			t.Fatalf("member %v is absent or not remembered", m)
		}
	}
	for _, w := range verdict.Watch {
		watched[w.Address] = true
	}
	for _, d := range verdict.Decisions {
		if decided[d.Address] {
			t.Fatalf("two decisions for %s", d.Address)
		}
		decided[d.Address] = true
		if !slices.Contains(fitting[state[d.Address]], d.Reason) {
			t.Fatalf("reason %q (%s) does not fit state %s of %s", d.Reason, d.Message, state[d.Address], d.Address)
		}
		if d.Stage != inventory.StageGuard || d.Message == "" {
			t.Fatalf("decision %+v has another stage, or no message", d)
		}
		if !in.Memory.Has(d.Address) && !watched[d.Address] && d.Reason != inventory.NoPod {
			t.Fatalf("%s was decided, but is neither watched nor was it a member", d.Address)
		}
	}
	for a := range state {
		if !decided[a] || !watched[a] {
			t.Fatalf("member %s: decided %t, watched %t, want both", a, decided[a], watched[a])
		}
	}
	if in.Read == nil {
		return
	}
	for _, c := range in.Read.Candidates {
		placed := in.Read.Placement == nil || slices.Contains(in.Read.Placement.Ready, c.Node.Name) || state[c.Address] != inventory.Absent
		if !decided[c.Address] || watched[c.Address] != placed {
			t.Fatalf("candidate %s: decided %t, watched %t, want both", c.Address, decided[c.Address], watched[c.Address])
		}
	}
}
