package source_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/sourcetest"
)

func TestConformanceOfStatic(t *testing.T) {
	sourcetest.Run(t, sourcetest.Options{
		Start: func(t *testing.T, nodes []inventory.Node) sourcetest.Harness {
			var own []inventory.Node
			for _, node := range nodes {
				own = append(own, inventory.Node{Name: node.Name, Zone: node.Zone, Addresses: node.Addresses})
			}
			source, err := source.NewStatic(own)
			if err != nil {
				t.Fatal(err)
			}
			return sourcetest.Harness{
				Source:   source,
				NoPut:    "the list is part of the configuration",
				NoBreaks: "there is no world beside the list",
				NoStall:  "there is no world beside the list",
			}
		},
		Knows: func(node inventory.Node) (inventory.Node, bool) {
			if len(node.Addresses) == 0 {
				return inventory.Node{}, false
			}
			return inventory.Node{Name: node.Name, Zone: node.Zone, Addresses: node.Addresses, Ready: true, Worker: true}, true
		},
	})
}

func TestNewReportsAllMistakesTogether(t *testing.T) {
	addresses := []netip.Addr{netip.MustParseAddr("10.0.0.1")}
	source, err := source.NewStatic([]inventory.Node{
		{Name: "w1", Addresses: addresses}, {Addresses: addresses}, {Name: "w1", Addresses: addresses}, {Name: "w2"},
	})
	want := strings.Join([]string{
		`static node 2: the name is empty`,
		`static node 3: "w1" is listed before; give each node a name of its own`,
		`static node 4: "w2" has no address`,
	}, "\n")
	if source != nil || err == nil || err.Error() != want {
		t.Errorf("got error %v, want\n%s", err, want)
	}
}

func TestTheSourceKeepsItsOwnList(t *testing.T) {
	nodes := []inventory.Node{{Name: "w1", Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.1")}}}
	source, err := source.NewStatic(nodes)
	if err != nil {
		t.Fatal(err)
	}
	nodes[0].Name = "changed"
	got, err := source.Read(t.Context())
	if err != nil || len(got) != 1 || got[0].Name != "w1" {
		t.Errorf("got %+v, %v, want the node w1", got, err)
	}
}
