package filter_test

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// anyAddr draws from few addresses of every kind: nodes share some.
func anyAddr() *rapid.Generator[netip.Addr] {
	texts := []string{
		"10.0.0.1", "10.0.0.2", "10.0.0.3", "10.1.0.1", "127.0.0.1", "169.254.169.254", "fd12::1", "fd12::2",
		"fd13::1", "::ffff:10.0.0.1", "fd12::1%eth0", "2001:db8::1", "::1", "0.0.0.0", "",
	}
	return rapid.Map(rapid.SampledFrom(texts), func(text string) netip.Addr {
		if text == "" {
			return netip.Addr{}
		}
		return netip.MustParseAddr(text)
	})
}

func anyNode() *rapid.Generator[inventory.Node] {
	mostly := rapid.Map(rapid.IntRange(0, 4), func(n int) bool { return n > 0 })
	return rapid.Custom(func(t *rapid.T) inventory.Node {
		return inventory.Node{
			ID:        rapid.SampledFrom([]string{"", "", "1", "2", "3"}).Draw(t, "id"),
			Name:      rapid.SampledFrom([]string{"a", "b", "c", "d"}).Draw(t, "name"),
			Addresses: rapid.SliceOfN(anyAddr(), 0, 4).Draw(t, "addresses"),
			Zone:      rapid.SampledFrom([]string{"", "z1", "z2"}).Draw(t, "zone"),
			Ready:     mostly.Draw(t, "ready"),
			Worker:    mostly.Draw(t, "worker"),
			Leaving:   !mostly.Draw(t, "staying"),
			Excluded:  !mostly.Draw(t, "included"),
			Detail:    rapid.SampledFrom([]string{"", "detail"}).Draw(t, "detail"),
		}
	})
}

func TestContract17TheOrderOfNodesAndAddressesChangesNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.SliceOfN(anyNode(), 0, 6).Draw(t, "nodes")
		shuffled := slices.Clone(rapid.Permutation(nodes).Draw(t, "shuffled"))
		for i := range shuffled {
			shuffled[i].Addresses = rapid.Permutation(shuffled[i].Addresses).Draw(t, "addresses")
		}
		one, another := filter.Apply(nodes, private()), filter.Apply(shuffled, private())
		if diff := cmp.Diff(one, another, compareAddrs(), comparePrefixes()); diff != "" {
			t.Errorf("result (-one order +another):\n%s", diff)
		}
	})
}

func TestApplyReturnsSortedAnswersAndLeavesItsInputAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.SliceOfN(anyNode(), 0, 6).Draw(t, "nodes")
		before := slices.Clone(nodes)
		for i := range before {
			before[i].Addresses = slices.Clone(before[i].Addresses)
		}
		rules := private()
		result := filter.Apply(nodes, rules)
		if !slices.IsSortedFunc(result.Candidates, inventory.CompareCandidates) || !slices.IsSortedFunc(result.Ineligible, inventory.CompareCandidates) ||
			!slices.IsSortedFunc(result.Decisions, inventory.CompareDecisionsByAddress) {
			t.Errorf("got %+v, want all lists sorted", result)
		}
		if diff := cmp.Diff(before, nodes, compareAddrs()); diff != "" {
			t.Errorf("the nodes moved (-before +after):\n%s", diff)
		}
		if diff := cmp.Diff(private().Subnets, rules.Subnets, comparePrefixes()); diff != "" {
			t.Errorf("the rules moved (-before +after):\n%s", diff)
		}
	})
}

func TestContract6And7And8HoldForAnyNodes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.SliceOfN(anyNode(), 0, 6).Draw(t, "nodes")
		result := filter.Apply(nodes, private())
		candidates, decisions := result.Candidates, result.Decisions
		published := map[netip.Addr]bool{}
		for _, c := range candidates {
			if reason, message := private().Check(c.Address); reason != "" {
				t.Errorf("%s is a candidate, although %s", c.Address, message)
			}
			if published[c.Address] {
				t.Errorf("%s is published twice", c.Address)
			}
			published[c.Address] = true
		}
		for _, node := range nodes {
			explained(t, node, candidates, decisions)
		}
		for _, d := range decisions {
			spelled(t, d)
			if d.Reason == "" && !published[d.Address] {
				t.Errorf("decision %+v lets an address pass that is not published", d)
			}
		}
	})
}

// spelled checks that a decision names the address and the rule that it is about.
func spelled(t *rapid.T, d inventory.Decision) {
	text := d.Text()
	if text == "" || strings.Contains(text, "invalid") || d.Stage != inventory.StageFilter {
		t.Errorf("decision %+v says %q, or is of another stage", d, text)
	}
	if d.Address.IsValid() && !strings.HasPrefix(text, d.Address.String()+" ") {
		t.Errorf("got %q, want it to begin with %s", text, d.Address)
	}
	if passes := d.Reason == ""; passes != d.Subnet.IsValid() || passes && !d.Subnet.Contains(d.Address) {
		t.Errorf("decision %+v with subnet %s", d, d.Subnet)
	}
}

func TestWhateverBecomesOfANodeItsAddressesAreReportedAsIts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		nodes := rapid.SliceOfN(anyNode(), 0, 6).Draw(t, "nodes")
		type claim struct {
			node inventory.Identity
			addr netip.Addr
		}
		got, want := map[claim]bool{}, map[claim]bool{}
		for _, node := range nodes {
			for _, addr := range node.Addresses {
				if wellFormed := addr.IsValid() && addr.Zone() == "" && !addr.Is4In6(); wellFormed && (!node.Ready || !node.Worker || node.Excluded) {
					want[claim{node.Identity(), addr}] = true
				}
			}
		}
		result := filter.Apply(nodes, private())
		for _, c := range result.Ineligible {
			got[claim{c.Node, c.Address}] = true
		}
		if !maps.Equal(got, want) {
			t.Errorf("got the ineligible %v, want %v", got, want)
		}
	})
}

// explained checks that every address that the rules let pass is published, and
// that a node of which nothing is published has a decision that says why.
func explained(t *rapid.T, node inventory.Node, candidates []inventory.Candidate, decisions []inventory.Decision) {
	if node.Ready && node.Worker && !node.Excluded {
		for _, addr := range node.Addresses {
			reason, _ := private().Check(addr)
			if reason == "" && !slices.ContainsFunc(candidates, func(c inventory.Candidate) bool { return c.Address == addr }) {
				t.Errorf("%s of node %s is not published", addr, node.Name)
			}
		}
	}
	if slices.ContainsFunc(candidates, func(c inventory.Candidate) bool { return c.Node == node.Identity() }) {
		return
	}
	if !slices.ContainsFunc(decisions, func(d inventory.Decision) bool { return d.Node == node.Identity() && d.Reason != "" }) {
		t.Errorf("node %+v is not published, and no decision says why: %v", node, decisions)
	}
}
