package ionos

import (
	"net/netip"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
)

// ExpiryOf is exported for its fuzz test.
var ExpiryOf = expiryOf

// Translate is all that happens between the raw answer of one call and nodes.
func Translate(payload []byte, byServer bool, lan int, nodes []inventory.Node) ([]inventory.Node, error) {
	var found directory
	if byServer {
		page, err := decodePage[serverDocument](payload)
		if err != nil {
			return nil, err
		}
		if found, err = directoryOfServers(*page.Items, lan); err != nil {
			return nil, err
		}
	} else {
		page, err := decodePage[nicDocument](payload)
		if err != nil {
			return nil, err
		}
		if found, err = directoryOfLAN(*page.Items, lan); err != nil {
			return nil, err
		}
	}
	return resolve(nodes, found, map[netip.Addr]bool{netip.MustParseAddr("10.0.0.9"): true}, place{lan, "dc"})
}
