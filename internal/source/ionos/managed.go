package ionos

import (
	"context"
	"fmt"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
)

// managed reads the nodes of a cluster that IONOS manages, one request for the
// node pools and one for each of them.
type managed struct{ *api }

// Read implements NodeReader.
func (m managed) Read(ctx context.Context) ([]inventory.Node, error) {
	pools, err := m.pools(ctx)
	if err != nil {
		return nil, err
	}
	nodes, seen := []inventory.Node{}, map[string]bool{}
	for _, pool := range pools {
		documents, err := m.nodes(ctx, pool.ID)
		if err != nil {
			return nil, err
		}
		for _, document := range documents {
			node, err := translateNode(document)
			if err != nil {
				return nil, fmt.Errorf("node pool %s: %w", pool.ID, err)
			}
			if seen[node.ID] {
				return nil, fmt.Errorf("node pool %s: node %s is listed before", pool.ID, node.ID)
			}
			seen[node.ID] = true
			nodes = append(nodes, node)
		}
	}
	return nodes, nil
}

// translateNode reads a node of the managed API:
//
//	state                      ready   leaving
//	READY                      yes     no
//	TERMINATING, REBUILDING    yes     yes
//	any other                  no      no
//
// A node that leaves still serves until its health check says otherwise; if it
// were not ready as well, it would be missing instead of drained. The state and
// the name belong to every node, so an answer without them is not complete.
func translateNode(d nodeDocument) (inventory.Node, error) {
	switch {
	case d.Properties == nil || d.Properties.Name == "":
		return inventory.Node{}, fmt.Errorf("node %s has no name", d.ID)
	case d.Metadata == nil || d.Metadata.State == "":
		return inventory.Node{}, fmt.Errorf("node %s (%s) has no state", d.Properties.Name, d.ID)
	}
	node := inventory.Node{ID: d.key(), Name: d.Properties.Name, Worker: true}
	switch state := d.Metadata.State; state {
	case "READY":
		node.Ready = true
	case "TERMINATING", "REBUILDING":
		node.Ready, node.Leaving = true, true
		node.Detail = "its state is " + state
	default:
		node.Detail = fmt.Sprintf("its state is %.40s", state)
	}
	return node, nil
}
