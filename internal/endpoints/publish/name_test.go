package publish_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

func TestContract21NamesAreFixed(t *testing.T) {
	tests := []struct {
		family publish.Family
		number int
		want   string
	}{
		{publish.IPv4, 1, "web-remote"},
		{publish.IPv4, 2, "web-remote-2"},
		{publish.IPv4, 17, "web-remote-17"},
		{publish.IPv6, 1, "web-remote-ipv6"},
		{publish.IPv6, 2, "web-remote-ipv6-2"},
	}
	for _, test := range tests {
		if got := web(100).NameOf(test.family, test.number); got != test.want {
			t.Errorf("NameOf(%s, %d): got %q, want %q", test.family, test.number, got, test.want)
		}
	}
}

func TestContract21ParseNameIsTheInverseOfNameOf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		target := publish.Target{SliceName: rapid.StringMatching(`[a-z]{1,5}(-ipv6|-[0-9]{1,2})?`).Draw(t, "name")}
		family := rapid.SampledFrom([]publish.Family{publish.IPv4, publish.IPv6}).Draw(t, "family")
		number := rapid.IntRange(1, 1<<40).Draw(t, "number")
		name := target.NameOf(family, number)
		gotFamily, gotNumber, ok := target.ParseName(name)
		if !ok || gotFamily != family || gotNumber != number {
			t.Errorf("ParseName(%q): got %s, %d, %t; want %s, %d", name, gotFamily, gotNumber, ok, family, number)
		}
	})
}

func TestContract21AnyNameIsRefusedOrMadeByNameOf(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		target := web(100)
		name := rapid.StringMatching(`(web-remote)?(-ipv6)?(-ipv6)?-?[+0-9]{0,3}(-[0-9])?`).Draw(t, "name")
		family, number, ok := target.ParseName(name)
		if ok && target.NameOf(family, number) != name {
			t.Errorf("ParseName(%q): got %s, %d, whose name is %q", name, family, number, target.NameOf(family, number))
		}
	})
}

func TestContract23NamesOfOthersAreNotTheTargets(t *testing.T) {
	for _, name := range []string{
		"", "web", "web-remote-", "web-remote-0", "web-remote-1", "web-remote-02", "web-remote-+2", "web-remote--2",
		"web-remote-2-2", "web-remote-ipv6-1", "web-remote-ipv4", "web-remote-ipv62", "web-remote2", "a-web-remote",
		"web-remote-abcde", "web-remote-ipv6-ipv6", "web-remote-99999999999999999999",
	} {
		if family, number, ok := web(100).ParseName(name); ok {
			t.Errorf("ParseName(%q): got %s, %d; want a name of somebody else", name, family, number)
		}
	}
}

func TestSlicesAreOrderedByFamilyThenNumber(t *testing.T) {
	want := []string{"web-remote", "web-remote-2", "web-remote-10", "web-remote-ipv6", "web-remote-ipv6-3", "web-remote-ipv6-20"}
	var all []publish.Slice
	for _, name := range slices.Sorted(slices.Values(want)) {
		family, _, _ := web(100).ParseName(name)
		all = append(all, publish.Slice{Name: name, Family: family})
	}
	slices.SortFunc(all, publish.CompareSlices)
	var got []string
	for _, s := range all {
		got = append(got, s.Name)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("order (-want +got):\n%s", diff)
	}
}

func TestContract21ALostAnswerToACreateMakesNoSecondSlice(t *testing.T) {
	w := newWorld(10)
	first := w.plan(numbered(1, 25))
	second := w.plan(numbered(1, 25))
	if diff := cmp.Diff(fmt.Sprint(first), fmt.Sprint(second)); diff != "" {
		t.Errorf("the same state is planned differently (-first +second):\n%s", diff)
	}
	var names []string
	for _, write := range first {
		names = append(names, write.Slice.Name)
	}
	if diff := cmp.Diff([]string{"web-remote", "web-remote-2", "web-remote-3"}, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

func TestContract21EveryUpdateCarriesTheVersionItWasComputedFromAndACreateNone(t *testing.T) {
	w := newWorld(2)
	w.publish(numbered(1, 4))
	before := map[string]string{}
	for i := range w.state.Slices {
		w.state.Slices[i].Version = fmt.Sprintf("v%d", i)
		before[w.state.Slices[i].Name] = w.state.Slices[i].Version
	}
	writes := w.plan(numbered(2, 7))
	if len(writes) != 2 {
		t.Fatalf("got %v, want an update and a create", writes)
	}
	for _, write := range writes {
		if got, want := write.Slice.Version, before[write.Slice.Name]; got != want {
			t.Errorf("%s of %s: got version %q, want %q", write.Operation, write.Slice.Name, got, want)
		}
	}
}

func TestContract23RefusedNamesAreNeverUsed(t *testing.T) {
	w := newWorld(2)
	w.state.Refused = []publish.Refusal{{Name: "web-remote"}, {Name: "web-remote-3"}, {Name: "web-remote-ipv6-2"}}
	w.publish(append(numbered(1, 6), ready(v6(1), v6(2), v6(3))...))
	var names []string
	for _, s := range w.state.Slices {
		names = append(names, s.Name)
	}
	want := []string{"web-remote-2", "web-remote-4", "web-remote-5", "web-remote-ipv6", "web-remote-ipv6-3"}
	if diff := cmp.Diff(want, names); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

// Pool blue-2 is another pool than blue, so the second slice of blue has another name
// than the first of blue-2.
func TestNamesOfTwoPoolsNeverMeet(t *testing.T) {
	blue := publish.Target{Service: "web", SliceName: "web.blue", Pool: "blue"}
	second := publish.Target{Service: "web", SliceName: "web.blue-2", Pool: "blue-2"}
	renamed := publish.Target{Service: "web", SliceName: "web.blue", Pool: "blue-2"} // blue-2 has the addresses of blue now
	for _, want := range []struct {
		family publish.Family
		number int
		name   string
	}{{publish.IPv4, 1, "web.blue"}, {publish.IPv4, 2, "web.blue.2"}, {publish.IPv6, 1, "web.blue.ipv6"}, {publish.IPv6, 2, "web.blue.ipv6.2"}} {
		if got := blue.NameOf(want.family, want.number); got != want.name {
			t.Errorf("got %s, want %s", got, want.name)
		}
		if family, number, ok := blue.ParseName(want.name); !ok || family != want.family || number != want.number {
			t.Errorf("%s: got %v %d %v", want.name, family, number, ok)
		}
		if _, _, ok := second.ParseName(want.name); ok {
			t.Errorf("%s is a name of pool blue-2 too", want.name)
		}
		for _, other := range []publish.Target{blue, renamed} {
			if _, _, ok := other.ParseName(second.NameOf(want.family, want.number)); ok {
				t.Errorf("%s is a name of pool blue too", second.NameOf(want.family, want.number))
			}
		}
		if family, number, ok := renamed.ParseName(want.name); !ok || family != want.family || number != want.number {
			t.Errorf("%s of a pool that was renamed: got %v %d %v", want.name, family, number, ok)
		}
	}
	adopted := publish.Target{Service: "web", SliceName: "web-remote", Pool: "blue"}
	if got := adopted.NameOf(publish.IPv4, 2); got != "web-remote-2" {
		t.Errorf("an adopted slice: got %s, want web-remote-2", got)
	}
}
