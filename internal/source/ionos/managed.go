package ionos

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
)

// Labels that the nodes of a managed cluster have besides those of their node
// pool, and that the API tells as well. labelPool is our own: nodes have no label
// that names their pool.
const (
	labelPool       = "endpoints.ablmnzde.github.io/node-pool"
	labelNode       = "enterprise.cloud.ionos.com/node-id"
	labelDatacenter = "enterprise.cloud.ionos.com/datacenter-id"
	labelHost       = "kubernetes.io/hostname"
	labelZone       = "topology.kubernetes.io/zone"
	labelExcluded   = "node.kubernetes.io/exclude-from-external-load-balancers"
)

// managed reads the nodes of a cluster that IONOS manages, one request for the
// node pools and one for each of them.
type managed struct {
	*client
	// selector is nil where every node is meant.
	selector labels.Selector
}

// Read implements NodeReader.
func (m managed) Read(ctx context.Context) ([]inventory.Node, error) {
	pools, err := m.pools(ctx)
	if err != nil {
		return nil, err
	}
	nodes, seen := []inventory.Node{}, map[string]bool{}
	for _, pool := range pools {
		if err := m.complete(pool); err != nil {
			return nil, fmt.Errorf("list the node pools of cluster %s: %w", m.cluster, err)
		}
		documents, err := m.nodes(ctx, pool.ID)
		if err != nil {
			return nil, err
		}
		for _, document := range documents {
			node, err := m.translate(document, *pool.Properties)
			if err == nil && seen[node.ID] {
				err = fmt.Errorf("node %s is listed before", node.ID)
			}
			if err != nil {
				return nil, fmt.Errorf("node pool %s: %w", pool.ID, err)
			}
			seen[node.ID] = true
			nodes = append(nodes, node)
		}
	}
	return nodes, nil
}

// complete is an error about a node pool that does not say what is needed of it.
// Its labels are only needed by a selector.
func (m managed) complete(pool document) error {
	name := "node pool " + pool.ID
	switch p := pool.Properties; {
	case p == nil:
		return incomplete(name, "properties")
	case p.Name.value == "":
		return incomplete(name, "properties.name")
	case p.Zone == "":
		return incomplete(name, "properties.availabilityZone")
	case m.selector != nil && !p.Labels.there:
		return incomplete(name, "properties.labels")
	case m.selector != nil && p.Datacenter == "":
		return incomplete(name, "properties.datacenterId")
	}
	return nil
}

// translate reads a node of the managed API:
//
//	state                      ready   leaving
//	READY                      yes     no
//	TERMINATING, REBUILDING    yes     yes
//	any other                  no      no
//
// A node that leaves still serves until its health check says otherwise; if it
// were not ready as well, it would be missing instead of drained. Its labels are
// those of its pool: what else was put on a node by hand the API does not know.
func (m managed) translate(d document, pool properties) (inventory.Node, error) {
	if d.Properties == nil || d.Properties.Name.value == "" {
		return inventory.Node{}, incomplete("node "+d.ID, "properties.name")
	}
	node := inventory.Node{ID: d.key(), Name: d.Properties.Name.value, Worker: true}
	switch state := d.Metadata.State; state {
	case "":
		return inventory.Node{}, incomplete(fmt.Sprintf("node %s (%s)", node.Name, d.ID), "metadata.state")
	case "READY":
		node.Ready = true
	case "TERMINATING", "REBUILDING":
		node.Ready, node.Leaving = true, true
		node.Detail = "its state is " + state
	default:
		node.Detail = fmt.Sprintf("its state is %.40s", state)
	}
	if pool.Zone != "AUTO" { // the API chose, and does not say what
		node.Zone = pool.Zone
	}
	_, node.Excluded = pool.Labels.value[labelExcluded]
	if m.selector != nil {
		known := labels.Set{
			labelPool: pool.Name.value, labelNode: node.ID, labelDatacenter: pool.Datacenter, labelHost: node.Name, labelZone: pool.Zone,
		}
		node.Worker = m.selector.Matches(labels.Merge(pool.Labels.value, known))
	}
	if !node.Worker {
		node.Detail = join(fmt.Sprintf("the labels of its node pool %s do not match SECURED_NODE_SELECTOR=%s", pool.Name.value, m.selector), node.Detail)
	}
	return node, nil
}

// join adds a remark to what is said already.
func join(detail, remark string) string {
	if detail == "" || remark == "" {
		return detail + remark
	}
	return detail + "; " + remark
}
