package source_test

import (
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/sourcetest"
)

func TestConformanceOfStatic(t *testing.T) {
	sourcetest.Run(t, sourcetest.Options{
		Start: func(t *testing.T, nodes []inventory.Node) sourcetest.Harness {
			var own source.Static
			for _, node := range nodes {
				own = append(own, inventory.Node{Name: node.Name, Zone: node.Zone, Addresses: node.Addresses, Ready: true, Worker: true})
			}
			return sourcetest.Harness{
				Source:   own,
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
