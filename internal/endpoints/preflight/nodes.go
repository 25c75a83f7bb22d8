package preflight

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// judgeNodes says what the filter decided on each node and address. A node with one
// address that may be published is fine, whatever its other addresses are.
func judgeNodes(nodes int, decisions []inventory.Decision) []Check {
	usable := make(map[inventory.Identity]bool)
	for _, d := range decisions {
		if d.Reason == "" {
			usable[d.Node] = true
		}
	}
	checks := []Check{judgeUsable(nodes, len(usable))}
	for _, d := range decisions {
		subject := d.Node.Name
		if d.Address.IsValid() {
			subject += " " + d.Address.String()
		}
		c := NodesNode.check(nodeResult(d.Reason, usable[d.Node]), subject, d.Text())
		c.Reason = string(d.Reason)
		if c.Result == Fail {
			c = c.remedied(d.Reason.Doc().Remedy)
		}
		checks = append(checks, c)
	}
	return checks
}

func judgeUsable(nodes, usable int) Check {
	const subject = "usable nodes"
	switch {
	case nodes == 0:
		return NodesUsable.fail(subject, "the source lists no node").remedied("check the settings of the source: its selector, file, command, cluster or data centre")
	case usable == 0:
		return NodesUsable.fail(subject, "%s, but no address that may be published", plural(nodes, "node"))
	}
	return NodesUsable.ok(subject, "%d of %s", usable, plural(nodes, "node"))
}

// nodeResult fails an address that should be published and cannot be. It skips nodes
// that are not meant to be published, and further addresses of a node that has a
// usable one.
func nodeResult(reason inventory.Reason, usable bool) Result {
	unwanted := []inventory.Reason{inventory.NodeNotReady, inventory.NotWorker, inventory.Excluded}
	further := []inventory.Reason{inventory.OutsideSubnet, inventory.ForbiddenAddress}
	switch {
	case reason == "":
		return OK
	case slices.Contains(unwanted, reason), usable && slices.Contains(further, reason):
		return Skip
	}
	return Fail
}

// judgeNodePorts names the addresses that the nodes do not have in their own cluster: whether
// kube-proxy opens NodePorts there is up to its mode.
func judgeNodePorts(candidates []inventory.Candidate, own []inventory.Node) []Check {
	const shown = 10
	addresses := make(map[string][]netip.Addr, len(own))
	for _, n := range own {
		addresses[n.Name] = n.Addresses
	}
	var foreign []string
	for _, c := range candidates {
		if has := addresses[c.Node.Name]; len(has) > 0 && !slices.Contains(has, c.Address) {
			foreign = append(foreign, c.Node.Name+" "+c.Address.String())
		}
	}
	if len(foreign) == 0 {
		return nil
	}
	named := strings.Join(foreign[:min(len(foreign), shown)], ", ")
	if more := len(foreign) - shown; more > 0 {
		named += fmt.Sprintf(" and %d more", more)
	}
	return []Check{NodesNodePort.warn("NodePorts", "the Nodes have other addresses in the remote cluster than %s; there kube-proxy in nftables mode, the default from Kubernetes 1.40, refuses NodePorts unless its nodePortAddresses names the subnet", named)}
}
