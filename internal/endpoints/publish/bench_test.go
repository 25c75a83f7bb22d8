package publish_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// BenchmarkPlan measures one pass, from endpoints to writes, over slices that a
// thousand replacements have mixed. It reports the slices and endpoints that the pass
// writes.
func BenchmarkPlan(b *testing.B) {
	changes := []struct {
		name  string
		apply func([]inventory.Member) []inventory.Member
	}{
		{"none", slices.Clone[[]inventory.Member]},
		{"replaced", func(m []inventory.Member) []inventory.Member { return roll(m, 1) }},
		{"flipped", func(m []inventory.Member) []inventory.Member {
			m = slices.Clone(m)
			m[len(m)/2].State = inventory.StateDown
			return m
		}},
		{"rolled", func(m []inventory.Member) []inventory.Member { return roll(m, len(m)/10) }},
	}
	for _, n := range []int{10, 100, 1_000, 10_000} {
		w, members := mixed(n)
		for _, change := range changes {
			b.Run(fmt.Sprintf("endpoints=%d/change=%s", n, change.name), func(b *testing.B) {
				next := sorted(change.apply(members))
				b.ReportAllocs()
				var writes []publish.Write
				for b.Loop() {
					desired, _ := publish.Desired(next, w.state, w.target)
					writes = publish.Diff(w.state.Slices, desired)
				}
				written := 0
				for _, write := range writes {
					written += len(write.Slice.Endpoints)
				}
				b.ReportMetric(float64(len(writes)), "slices/op")
				b.ReportMetric(float64(written), "endpoints/op")
			})
		}
	}
}

// mixed returns a world of n endpoints after 1,000 random replacements.
func mixed(n int) (*world, []inventory.Member) {
	random := rand.New(rand.NewPCG(1, 2))
	w, members := newWorld(100), numbered(1, n)
	w.publish(members)
	for i := range 1_000 {
		members = replaced(members, ready(v4(100_000 + random.IntN(1_000)*1_000 + i))[0], random)
		w.publish(members)
	}
	return w, sorted(members)
}

// roll replaces n endpoints, evenly spread, with others.
func roll(members []inventory.Member, n int) []inventory.Member {
	members = slices.Clone(members)
	for i := range n {
		members[i*len(members)/n] = ready(v4(2_000_000 + i))[0]
	}
	return members
}
