package ionos

import (
	"net/netip"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
)

// Translate is all that happens between the raw answer of one call and nodes.
func Translate(payload []byte, byServer bool, lan int, nodes []inventory.Node) ([]inventory.Node, error) {
	translate := directoryOfLAN
	if byServer {
		translate = directoryOfServers
	}
	page, err := decodePage(payload)
	if err != nil {
		return nil, err
	}
	found, err := translate(*page.Items, lan)
	if err != nil {
		return nil, err
	}
	return resolve(nodes, found, map[netip.Addr]bool{netip.MustParseAddr("10.0.0.9"): true}, place{lan, "dc"}), nil
}
