package ionos

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
)

// place is where addresses were looked for.
type place struct {
	lan        int
	datacenter string
}

// machine is what is known of one server on the LAN.
type machine struct {
	addresses []netip.Addr
	// leftOut says why others of its addresses are not among them.
	leftOut []string
}

// resolver finds the addresses of nodes in one directory.
type resolver struct {
	directory
	place
	machines map[string]machine
	// claimed are the servers that nodes name by id.
	claimed map[string]bool
}

// resolve returns the nodes with the addresses of their servers. It fails where
// the answer says too little about a server that is needed. Its input is left
// alone.
func resolve(nodes []inventory.Node, d directory, failover map[netip.Addr]bool, at place) ([]inventory.Node, error) {
	r := resolver{directory: d, place: at, machines: d.machines(failover, at), claimed: map[string]bool{}}
	for _, node := range nodes {
		r.claimed[serverID(node)] = true
	}
	resolved := make([]inventory.Node, 0, len(nodes))
	for _, node := range nodes {
		server, remark := r.find(node)
		if r.servers[server].vague {
			return nil, fmt.Errorf("the answer does not list the network cards of server %s, node %s", server, node.Name)
		}
		node.Addresses = nil
		if remark == "" {
			m := r.machines[server]
			node.Addresses = slices.Clone(m.addresses)
			remark = m.remark(at)
		}
		if node.ID == "" {
			node.ID = server
		}
		node.Detail = join(node.Detail, remark)
		resolved = append(resolved, node)
	}
	return resolved, nil
}

// find returns the server of a node, or why there is none.
func (r resolver) find(node inventory.Node) (server, remark string) {
	if id := serverID(node); id != "" {
		if _, there := r.machines[id]; there {
			return id, ""
		}
		return id, r.missing(id)
	}
	if !r.detailed {
		return "", "it has no id, and servers were not looked for by name yet"
	}
	ids := r.names[strings.ToLower(node.Name)]
	switch {
	case len(ids) == 0:
		return "", fmt.Sprintf("server not found by providerID, label, systemUUID or name: data centre %s has no server named %s", r.datacenter, node.Name)
	case len(ids) > 1:
		return "", fmt.Sprintf("%d servers are named %s (%s); set the node's providerID", len(ids), node.Name, strings.Join(ids, ", "))
	case r.claimed[ids[0]]:
		return "", fmt.Sprintf("server %s is named %s, but another node has its id; set the node's providerID", ids[0], node.Name)
	}
	if _, there := r.machines[ids[0]]; there {
		return ids[0], ""
	}
	return ids[0], r.missing(ids[0])
}

// missing says what is known of a server that has no network card on the LAN.
func (r resolver) missing(id string) string {
	if !r.detailed {
		return fmt.Sprintf("server not found by providerID %s on LAN %d of data centre %s: it is gone, elsewhere, or has no network card there", id, r.lan, r.datacenter)
	}
	if _, there := r.servers[id]; there {
		return fmt.Sprintf("server %s has no network card on LAN %d; attach it, or correct IONOS_PRIVATE_LAN_ID", id, r.lan)
	}
	return fmt.Sprintf("server not found by providerID %s in data centre %s: it is gone, or IONOS_DATACENTER_ID is wrong", id, r.datacenter)
}

// remark says why a server has no address, or fewer than it seems.
func (m machine) remark(at place) string {
	if len(m.addresses) == 0 && len(m.leftOut) == 0 {
		return fmt.Sprintf("no address on LAN %d yet", at.lan)
	}
	return strings.Join(m.leftOut, "; ")
}

// machines gathers the network cards of each server. Addresses of a failover
// group, and those that several cards have, move between servers: they would
// lead to whichever has them now.
func (d directory) machines(failover map[netip.Addr]bool, at place) map[string]machine {
	holders := map[netip.Addr]int{}
	for _, c := range d.cards {
		for _, addr := range distinct(c.addresses) {
			holders[addr]++
		}
	}
	machines := map[string]machine{}
	for _, c := range d.cards {
		if c.owner != ownerServer {
			continue
		}
		m := machines[c.server]
		for _, addr := range distinct(c.addresses) {
			switch {
			case failover[addr]:
				m.leftOut = append(m.leftOut, fmt.Sprintf("%s is left out: it belongs to a failover group of LAN %d", addr, at.lan))
			case holders[addr] > 1:
				m.leftOut = append(m.leftOut, fmt.Sprintf("%s is left out: %d network cards of LAN %d have it", addr, holders[addr], at.lan))
			default:
				m.addresses = append(m.addresses, addr)
			}
		}
		machines[c.server] = m
	}
	for server, m := range machines {
		m.addresses = distinct(m.addresses)
		slices.Sort(m.leftOut)
		m.leftOut = slices.Compact(m.leftOut)
		machines[server] = m
	}
	return machines
}

// distinct returns the addresses sorted, whatever order the answer had, and each
// once.
func distinct(addrs []netip.Addr) []netip.Addr {
	sorted := slices.Clone(addrs)
	slices.SortFunc(sorted, netip.Addr.Compare)
	return slices.Compact(sorted)
}

// serverID is the server that a node names by its id, or "" where its id is not
// that of an IONOS server.
func serverID(node inventory.Node) string {
	if !isUUID(node.ID) {
		return ""
	}
	return strings.ToLower(node.ID)
}

// join adds a remark to what is said already.
func join(detail, remark string) string {
	if detail == "" || remark == "" {
		return detail + remark
	}
	return detail + "; " + remark
}
