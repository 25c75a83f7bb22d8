package source

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// Static reports the same nodes in every read.
type Static struct{ nodes []inventory.Node }

// NewStatic checks the list: nodes have names of their own. What may be published of their
// addresses is for the filter to say. All mistakes are reported together.
func NewStatic(nodes []inventory.Node) (*Static, error) {
	var mistakes []error
	names := map[string]bool{}
	for i, node := range nodes {
		switch {
		case node.Name == "":
			mistakes = append(mistakes, fmt.Errorf("static node %d: the name is empty", i+1))
		case names[node.Name]:
			mistakes = append(mistakes, fmt.Errorf("static node %d: %q is listed before; give each node a name of its own", i+1, node.Name))
		case len(node.Addresses) == 0:
			mistakes = append(mistakes, fmt.Errorf("static node %d: %q has no address", i+1, node.Name))
		}
		names[node.Name] = true
	}
	if err := errors.Join(mistakes...); err != nil {
		return nil, err
	}
	s := &Static{nodes: slices.Clone(nodes)}
	for i := range s.nodes {
		s.nodes[i].Ready, s.nodes[i].Worker = true, true
	}
	return s, nil
}

// Read returns the nodes, in the order of the list.
func (s *Static) Read(ctx context.Context) ([]inventory.Node, error) {
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("static nodes: %w", err)
	}
	return append([]inventory.Node{}, s.nodes...), nil
}
