package filter_test

import (
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// private are the rules of a private network of both families.
func private() filter.Rules {
	return filter.Rules{Subnets: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/16"), netip.MustParsePrefix("fd12::/64")}}
}

// worker is a node that only its addresses can make not eligible.
func worker(name string, addrs ...string) inventory.Node {
	node := inventory.Node{Name: name, Ready: true, Worker: true}
	for _, addr := range addrs {
		node.Addresses = append(node.Addresses, netip.MustParseAddr(addr))
	}
	return node
}

// compareAddrs lets cmp look at addresses, which have no exported field.
func compareAddrs() cmp.Option { return cmp.Comparer(func(a, b netip.Addr) bool { return a == b }) }

// comparePrefixes lets cmp look at subnets, which have no exported field either.
func comparePrefixes() cmp.Option {
	return cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })
}

func addresses(candidates []inventory.Candidate) []string {
	var texts []string
	for _, c := range candidates {
		texts = append(texts, c.Address.String())
	}
	return texts
}

// of returns the decisions about a node.
func of(decisions []inventory.Decision, name string) []inventory.Decision {
	var about []inventory.Decision
	for _, d := range decisions {
		if d.Node.Name == name {
			about = append(about, d)
		}
	}
	return about
}

func TestContract5AnAddressIsPublishedInCanonicalForm(t *testing.T) {
	nodes := []inventory.Node{worker("w1", "FD12:0:0:0::000A", "10.0.0.12")}
	candidates := filter.Apply(nodes, private()).Candidates
	if diff := cmp.Diff([]string{"10.0.0.12", "fd12::a"}, addresses(candidates)); diff != "" {
		t.Errorf("candidates (-want +got):\n%s", diff)
	}
}

func TestContract5MappedAddressesZonesAndEmptyOnesAreRefusedEvenInsideTheSubnet(t *testing.T) {
	rules := filter.Rules{Subnets: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"), netip.MustParsePrefix("::/0")}, AllowLoopback: true}
	tests := []struct {
		addr netip.Addr
		want string
	}{
		{netip.MustParseAddr("::ffff:10.0.0.1"), "::ffff:10.0.0.1 is IPv4-mapped IPv6; report it as 10.0.0.1"},
		{netip.MustParseAddr("fd12::1%eth0"), "fd12::1%eth0 has a zone; report the address without it"},
		{netip.MustParseAddr("::ffff:10.0.0.1%eth0"), "::ffff:10.0.0.1%eth0 has a zone; report the address without it"},
		{netip.Addr{}, "the address is empty"},
	}
	for _, test := range tests {
		reason, message := rules.Check(test.addr)
		if reason != inventory.InvalidAddress || message != test.want {
			t.Errorf("Check(%v): got %q, %q; want %q, %q", test.addr, reason, message, inventory.InvalidAddress, test.want)
		}
	}
}

func TestContract7AnAddressOfTwoNodesIsPublishedOnceAndTheOtherNodeIsReported(t *testing.T) {
	leaving := worker("a", "10.0.0.1")
	leaving.ID, leaving.Leaving = "1", true
	first, second := worker("z", "10.0.0.1"), worker("y", "10.0.0.1")
	first.ID, second.ID = "2", "3"
	twin := worker("z", "10.0.0.1", "10.0.0.9")
	twin.ID = "4"
	want := []inventory.Candidate{
		{Node: first.Identity(), Address: netip.MustParseAddr("10.0.0.1")},
		{Node: twin.Identity(), Address: netip.MustParseAddr("10.0.0.9")},
	}
	permute([]inventory.Node{leaving, first, second, twin}, func(nodes []inventory.Node) {
		result := filter.Apply(nodes, private())
		candidates, decisions := result.Candidates, result.Decisions
		if diff := cmp.Diff(want, candidates, compareAddrs()); diff != "" {
			t.Fatalf("candidates of %v (-want +got):\n%s", nodes, diff)
		}
		for _, loser := range []inventory.Node{leaving, second, twin} {
			i := slices.IndexFunc(decisions, func(d inventory.Decision) bool {
				return d.Node == loser.Identity() && d.Reason == inventory.DuplicateAddress
			})
			if i < 0 {
				t.Fatalf("no decision says that %s lost its address: %v", loser.Name, decisions)
			}
			if want := "10.0.0.1 is also the address of node z (id 2), which keeps it"; decisions[i].Text() != want {
				t.Errorf("got %q, want %q", decisions[i].Message, want)
			}
		}
	})
}

func TestContract7WithoutIdsTheNamesDecideWhichNodeKeepsAnAddress(t *testing.T) {
	result := filter.Apply([]inventory.Node{worker("b", "10.0.0.1"), worker("a", "10.0.0.1")}, private())
	candidates, decisions := result.Candidates, result.Decisions
	if len(candidates) != 1 || candidates[0].Node.Name != "a" {
		t.Errorf("got candidates %v, want the one of node a", candidates)
	}
	lost := of(decisions, "b")
	if len(lost) != 1 || lost[0].Text() != "10.0.0.1 is also the address of node a, which keeps it" {
		t.Errorf("got decisions %v, want one that says that a keeps 10.0.0.1", lost)
	}
}

func TestContract7ANodeThatIsRefusedTakesNoAddressFromAnother(t *testing.T) {
	broken := worker("a", "10.0.0.1")
	broken.Ready = false
	candidates := filter.Apply([]inventory.Node{broken, worker("b", "10.0.0.1")}, private()).Candidates
	if len(candidates) != 1 || candidates[0].Node.Name != "b" {
		t.Errorf("got candidates %v, want the one of node b", candidates)
	}
}

func TestContract17TwoRecordsOfOneNodeAreSettledWithoutTheirOrder(t *testing.T) {
	one, other := worker("a", "10.0.0.1"), worker("a", "10.0.0.1")
	one.Zone, other.Zone = "z1", "z2"
	broken, dead := inventory.Node{Name: "b", Worker: true, Detail: "broken"}, inventory.Node{Name: "b", Worker: true, Detail: "dead"}
	permute([]inventory.Node{one, other, broken, dead}, func(nodes []inventory.Node) {
		result := filter.Apply(nodes, private())
		candidates, decisions := result.Candidates, result.Decisions
		if about := of(decisions, "b"); len(about) != 2 || !strings.HasSuffix(about[0].Text(), "broken") {
			t.Errorf("got decisions %v about b, want that it is broken before that it is dead", about)
		}
		if len(candidates) != 1 || candidates[0].Zone != "z1" {
			t.Errorf("got candidates %v, want one of zone z1", candidates)
		}
	})
}

func TestContract8EveryUnpublishedNodeSaysWhy(t *testing.T) {
	with := func(change func(*inventory.Node)) inventory.Node {
		node := worker("w1", "10.0.0.1")
		change(&node)
		return node
	}
	tests := []struct {
		name string
		node inventory.Node
		want inventory.Reason
		says []string
	}{
		{"excluded", with(func(n *inventory.Node) { n.Excluded = true }), inventory.Excluded, []string{"node.kubernetes.io/exclude-from-external-load-balancers"}},
		{"no worker", with(func(n *inventory.Node) { n.Worker, n.Detail = false, "no label role=worker" }), inventory.NotWorker, []string{"SECURED_NODE_SELECTOR", "worker=false", "no label role=worker"}},
		{"not ready", with(func(n *inventory.Node) { n.Ready, n.Detail = false, "kubelet stopped" }), inventory.NodeNotReady, []string{"ready=false", "kubelet stopped"}},
		{"no address", worker("w1"), inventory.NoPrivateAddress, []string{"no address"}},
		{"outside", worker("w1", "10.1.0.1"), inventory.OutsideSubnet, []string{"10.1.0.1", "SECURED_SUBNET_CIDR=10.0.0.0/16,fd12::/64"}},
		{"forbidden", worker("w1", "169.254.169.254"), inventory.ForbiddenAddress, []string{"169.254.169.254", "cloud metadata"}},
		{"mapped", worker("w1", "::ffff:10.0.0.1"), inventory.InvalidAddress, []string{"::ffff:10.0.0.1", "10.0.0.1"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			result := filter.Apply([]inventory.Node{test.node}, private())
			candidates, decisions := result.Candidates, result.Decisions
			if len(candidates) != 0 || len(decisions) != 1 {
				t.Fatalf("got candidates %v and decisions %v, want none and one", candidates, decisions)
			}
			got := decisions[0]
			if got.Reason != test.want || got.Stage != inventory.StageFilter || got.Node != test.node.Identity() {
				t.Errorf("got %+v, want reason %s of stage filter about w1", got, test.want)
			}
			for _, word := range test.says {
				if !strings.Contains(got.Text(), word) {
					t.Errorf("message %q does not name %q", got.Text(), word)
				}
			}
		})
	}
}

func TestContract8AnAddressThatPassesSaysWhichSubnetLetIt(t *testing.T) {
	decisions := filter.Apply([]inventory.Node{worker("w1", "10.0.0.1")}, private()).Decisions
	want := []inventory.Decision{{
		Node: inventory.Identity{Name: "w1"}, Address: netip.MustParseAddr("10.0.0.1"), Stage: inventory.StageFilter,
		Subnet: netip.MustParsePrefix("10.0.0.0/16"),
	}}
	if diff := cmp.Diff(want, decisions, compareAddrs(), comparePrefixes()); diff != "" {
		t.Errorf("decisions (-want +got):\n%s", diff)
	}
	if got, want := decisions[0].Text(), "10.0.0.1 is inside 10.0.0.0/16 of SECURED_SUBNET_CIDR"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestACandidateCarriesItsNodesZoneAndLeaving(t *testing.T) {
	node := worker("w1", "10.0.0.1", "10.0.0.1", "fd12::1")
	node.ID, node.Zone, node.Leaving = "id", "zone-1", true
	result := filter.Apply([]inventory.Node{node}, private())
	candidates, decisions := result.Candidates, result.Decisions
	if len(decisions) != 2 || decisions[0].Reason+decisions[1].Reason != "" {
		t.Errorf("got decisions %v, want two that let the addresses pass", decisions)
	}
	want := []inventory.Candidate{
		{Node: node.Identity(), Address: netip.MustParseAddr("10.0.0.1"), Zone: "zone-1", Leaving: true},
		{Node: node.Identity(), Address: netip.MustParseAddr("fd12::1"), Zone: "zone-1", Leaving: true},
	}
	if diff := cmp.Diff(want, candidates, compareAddrs()); diff != "" {
		t.Errorf("candidates (-want +got):\n%s", diff)
	}
}

// permute calls visit with the nodes in every order.
func permute(nodes []inventory.Node, visit func([]inventory.Node)) {
	var choose func(chosen, rest []inventory.Node)
	choose = func(chosen, rest []inventory.Node) {
		if len(rest) == 0 {
			visit(chosen)
		}
		for i := range rest {
			choose(append(slices.Clone(chosen), rest[i]), slices.Delete(slices.Clone(rest), i, i+1))
		}
	}
	choose(nil, nodes)
}

func TestContract13ANodeThatIsNotEligibleTellsWhichAddressesItHolds(t *testing.T) {
	broken, excluded := worker("b", "10.0.0.2", "fd12::2", "10.0.0.2", "192.168.0.1", "::ffff:10.0.0.9"), worker("a", "10.0.0.2")
	broken.Ready, broken.ID = false, "id"
	excluded.Excluded, excluded.Zone, excluded.Leaving = true, "zone-1", true
	result := filter.Apply([]inventory.Node{broken, excluded, worker("c", "10.0.0.3", "192.168.0.2"), {Name: "d"}}, private())
	want := []inventory.Candidate{
		{Node: excluded.Identity(), Address: netip.MustParseAddr("10.0.0.2"), Zone: "zone-1", Leaving: true},
		{Node: broken.Identity(), Address: netip.MustParseAddr("10.0.0.2")},
		{Node: broken.Identity(), Address: netip.MustParseAddr("192.168.0.1")},
		{Node: broken.Identity(), Address: netip.MustParseAddr("fd12::2")},
	}
	if diff := cmp.Diff(want, result.Ineligible, compareAddrs()); diff != "" {
		t.Errorf("ineligible (-want +got):\n%s", diff)
	}
}

func TestDecisionsAboutWholeNodesComeFirstAndTheOthersInTheOrderOfTheAddresses(t *testing.T) {
	broken, empty := worker("y", "10.0.0.9"), worker("x", "10.0.0.8")
	broken.Ready = false
	empty.Addresses = append(empty.Addresses, netip.Addr{})
	var got []string
	for _, d := range filter.Apply([]inventory.Node{worker("z", "fd12::1", "10.0.0.1"), broken, empty}, private()).Decisions {
		got = append(got, d.Node.Name+" "+string(d.Reason)+" "+d.Address.String())
	}
	want := []string{"x InvalidAddress invalid IP", "y NodeNotReady invalid IP", "z  10.0.0.1", "x  10.0.0.8", "z  fd12::1"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("decisions (-want +got):\n%s", diff)
	}
}
