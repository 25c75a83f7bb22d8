package publish_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// trial is one random change of a few small slices, and what any plan for it has
// to work with.
type trial struct {
	*world
	members []inventory.Member
	// kept is how many endpoints of each slice are still wanted, and touched whether
	// the slice must be written wherever the additions go.
	kept      []int
	touched   []bool
	additions int
}

// anyTrial draws up to seven slices and the endpoints that are wanted next. Most
// slices hold few endpoints, so the bound matters.
func anyTrial(t *rapid.T) trial {
	c := trial{world: newWorld(rapid.IntRange(1, 5).Draw(t, "max"))}
	next := 0
	for number := range rapid.IntRange(0, 7).Draw(t, "slices") {
		var endpoints []inventory.Member
		touched, kept := false, 0
		for range min(rapid.SampledFrom([]int{0, 1, 1, 1, 2, 2, 3, 5}).Draw(t, "size"), c.target.MaxEndpoints) {
			next++
			m := ready(v4(next))[0]
			endpoints = append(endpoints, m)
			fate := rapid.SampledFrom([]string{"stays", "stays", "stays", "goes", "flips"}).Draw(t, "fate")
			touched = touched || fate != "stays"
			if fate == "flips" {
				m.State = inventory.StateDown
			}
			if fate != "goes" {
				kept++
				c.members = append(c.members, m)
			}
		}
		c.hold(endpoints)
		if rapid.IntRange(0, 9).Draw(t, "drift") == 0 {
			c.state.Slices[number].Drift, touched = "drift", true
		}
		c.kept, c.touched = append(c.kept, kept), append(c.touched, touched)
	}
	c.additions = rapid.SampledFrom([]int{0, 1, 1, 1, 2, 3, 7}).Draw(t, "additions")
	for range c.additions {
		next++
		c.members = append(c.members, ready(v4(next))...)
	}
	return c
}

// checkTrials checks many trials, more than the runs that rapid makes: the
// bound seldom matters.
func checkTrials(t *testing.T, check func(*rapid.T, trial)) {
	t.Helper()
	rapid.Check(t, func(t *rapid.T) {
		for range 20 {
			check(t, anyTrial(t))
		}
	})
}

// cheapest is the lowest number of endpoints written by any plan that leaves
// endpoints where they are as far as the bound allows. It tries every set of slices
// that might be written.
func (c trial) cheapest() int {
	least, bound := -1, 2*slicesFor(len(c.members), c.target.MaxEndpoints)
	for set := range 1 << len(c.kept) {
		written, rest, valid := c.additions, 0, true
		for i, kept := range c.kept {
			chosen := set>>i&1 == 1
			valid = valid && (chosen || !c.touched[i])
			switch {
			case chosen:
				written += kept
			case kept > 0:
				rest++
			}
		}
		if valid && rest+slicesFor(written, c.target.MaxEndpoints) <= bound && (least < 0 || written < least) {
			least = written
		}
	}
	return least
}

func TestContract18NothingIsWrittenThatTheBoundDoesNotNeed(t *testing.T) {
	checkTrials(t, func(t *rapid.T, c trial) {
		least := c.cheapest()
		before := slices.Clone(c.state.Slices)
		c.publish(c.members)
		// This may cost more: one slice is filled up before a new one is opened.
		opened := false
		for i, s := range c.state.Slices {
			idle := i >= len(before) || len(before[i].Endpoints) == 0 && !c.touched[i]
			opened = opened || idle && len(s.Endpoints) > 0
		}
		filledUp := c.additions > 0 && !opened && c.endpoints < least+c.target.MaxEndpoints
		if c.endpoints < least || c.endpoints > least && !filledUp {
			t.Errorf("wrote %d endpoints (opened a slice: %t), want %d", c.endpoints, opened, least)
		}
	})
}

func TestContract18MembersStayButInTheSlicesThatTheBoundEmpties(t *testing.T) {
	checkTrials(t, func(t *rapid.T, c trial) {
		home, holding := map[inventory.Member]int{}, 0
		for i, s := range c.state.Slices {
			for _, m := range s.Endpoints {
				home[inventory.Member{Address: m.Address}] = i + 1
			}
			holding += min(1, c.kept[i])
		}
		c.publish(c.members)
		left := map[int]int{}
		for i, s := range c.state.Slices {
			for _, m := range s.Endpoints {
				if from := home[inventory.Member{Address: m.Address}]; from > 0 && from != i+1 {
					left[from]++
				}
			}
		}
		if surplus := max(0, holding-2*slicesFor(len(c.members), c.target.MaxEndpoints)); len(left) != surplus {
			t.Errorf("members left %d slices, want %d", len(left), surplus)
		}
		for from, n := range left {
			if n != c.kept[from-1] || len(c.state.Slices[from-1].Endpoints) > 0 {
				t.Errorf("%d of %d members left slice %d, want all of them and the slice empty", n, c.kept[from-1], from)
			}
		}
	})
}

func TestContract18SlicesThatAreWrittenAnywayAreMergedBeforeOthersAreTouched(t *testing.T) {
	w := newWorld(4)
	w.hold(numbered(10, 12), numbered(20, 22), numbered(30, 30), numbered(40, 40), numbered(50, 50))
	var members []inventory.Member
	for _, n := range []int{10, 11, 20, 21, 30, 40, 50} { // 7 endpoints: 4 slices may hold them
		members = append(members, ready(v4(n))...)
	}
	writes := w.publish(members)
	if len(writes) != 2 || w.endpoints != 4 || w.holding(publish.IPv4) != 4 {
		t.Errorf("got %d writes of %d endpoints and %d slices that hold some, want 2, 4 and 4", len(writes), w.endpoints, w.holding(publish.IPv4))
	}
}
