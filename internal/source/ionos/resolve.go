package ionos

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
)

// card is one network card on the LAN. Its server is empty where its link names
// none, and ownerUnknown says that it may be that of any server.
type card struct {
	id, server   string
	ownerUnknown bool
	addresses    []netip.Addr
}

// directory is what one look at the LAN found.
type directory struct {
	cards []card
	// servers maps ids to names. It is nil unless the servers were listed.
	servers map[string]string
}

// directoryOfLAN translates the list of the LAN's network cards.
func directoryOfLAN(nics []document, lan int) (directory, error) {
	var d directory
	for _, nic := range nics {
		if on, err := nic.onLAN(lan, true); err != nil {
			return directory{}, err
		} else if !on {
			continue
		}
		addrs, err := nic.addresses()
		if err != nil {
			return directory{}, err
		}
		server, unknown := ownerOf(nic.Href)
		d.cards = append(d.cards, card{nic.key(), server, unknown, addrs})
	}
	return d, nil
}

// directoryOfServers translates the list of servers with their network cards.
func directoryOfServers(servers []document, lan int) (directory, error) {
	d := directory{servers: make(map[string]string, len(servers))}
	for _, server := range servers {
		id, nics := server.key(), server.Entities.NICs
		if server.Properties == nil || !server.Properties.Name.there {
			return directory{}, incomplete("server "+server.ID, "properties.name")
		}
		d.servers[id] = server.Properties.Name.value
		name := fmt.Sprintf("server %s (%s)", server.ID, d.servers[id])
		switch {
		case nics.Items == nil:
			return directory{}, incomplete(name, "entities.nics.items")
		case nics.continues():
			return directory{}, incomplete(name, "end of entities.nics.items")
		}
		for i, nic := range *nics.Items {
			on, err := nic.onLAN(lan, false)
			if nic.ID == "" {
				err = incomplete(fmt.Sprintf("network card %d", i+1), "id")
			}
			var addrs []netip.Addr
			if err == nil && on {
				addrs, err = nic.addresses()
			}
			if err != nil {
				return directory{}, fmt.Errorf("%s: %w", name, err)
			}
			if on {
				d.cards = append(d.cards, card{nic.key(), id, false, addrs})
			}
		}
	}
	return d, nil
}

// attached are the servers that have a network card on the LAN.
func (d directory) attached() map[string]bool {
	servers := make(map[string]bool, len(d.cards))
	for _, c := range d.cards {
		servers[c.server] = c.server != ""
	}
	return servers
}

// hasUnknownOwner reports whether a network card may be that of any server.
func (d directory) hasUnknownOwner() bool {
	return slices.ContainsFunc(d.cards, func(c card) bool { return c.ownerUnknown })
}

// answers reports whether the server of every node was found.
func (d directory) answers(nodes []inventory.Node) bool {
	attached := d.attached()
	return !slices.ContainsFunc(nodes, func(n inventory.Node) bool { return isWanted(n) && !attached[serverID(n)] })
}

// lost reports whether the server of a node was attached before and is not now.
func (d directory) lost(nodes []inventory.Node, before directory) bool {
	now, then := d.attached(), before.attached()
	return slices.ContainsFunc(nodes, func(n inventory.Node) bool { return then[serverID(n)] && !now[serverID(n)] })
}

// with adds the network cards that other knows and d does not.
func (d directory) with(other directory) directory {
	known := map[string]bool{}
	for _, c := range d.cards {
		known[c.id] = true
	}
	missing := slices.DeleteFunc(slices.Clone(other.cards), func(c card) bool { return known[c.id] })
	d.cards = slices.Concat(d.cards, missing)
	return d
}

// grewFrom reports whether an address appeared that may be one of a failover
// group: a second one of its family on a network card, or one more than the card
// had before.
func (d directory) grewFrom(before directory) bool {
	had := map[string][]netip.Addr{}
	for _, c := range before.cards {
		had[c.id] = c.addresses
	}
	for _, c := range d.cards {
		families := map[bool]int{}
		for _, addr := range c.addresses {
			families[addr.Is4()]++
			if !slices.Contains(had[c.id], addr) && (len(had[c.id]) > 0 || families[addr.Is4()] > 1) {
				return true
			}
		}
	}
	return false
}

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
	// named maps the name of a server, in lower case, to the servers that have it.
	named map[string][]string
	// claimed are the servers that nodes name by id.
	claimed map[string]bool
}

// resolve returns the nodes with the addresses of their servers. Its input is
// left alone.
func resolve(nodes []inventory.Node, d directory, moving map[netip.Addr]bool, at place) []inventory.Node {
	r := resolver{d, at, d.machines(moving, at), map[string][]string{}, map[string]bool{}}
	for _, id := range slices.Sorted(maps.Keys(d.servers)) {
		name := strings.ToLower(d.servers[id])
		r.named[name] = append(r.named[name], id)
	}
	for _, node := range nodes {
		r.claimed[serverID(node)] = true
	}
	resolved := make([]inventory.Node, 0, len(nodes))
	for _, node := range nodes {
		server, remark := r.find(node)
		node.Addresses = nil
		if m, there := r.machines[server]; there && remark == "" {
			node.Addresses = slices.Clone(m.addresses)
			remark = strings.Join(m.leftOut, "; ")
		}
		if node.ID == "" {
			node.ID = server
		}
		node.Detail = join(node.Detail, remark)
		resolved = append(resolved, node)
	}
	return resolved
}

// find returns the server of a node, and why it has no address there if so.
func (r resolver) find(node inventory.Node) (server, remark string) {
	if id := serverID(node); id != "" {
		return id, r.missing(id)
	}
	ids := r.named[strings.ToLower(node.Name)]
	switch {
	case r.servers == nil:
		return "", "it has no id, and servers were not looked for by name yet"
	case len(ids) == 0:
		return "", fmt.Sprintf("server not found by providerID, label, systemUUID or name: data centre %s has no server named %s", r.datacenter, node.Name)
	case len(ids) > 1:
		return "", fmt.Sprintf("%d servers are named %s (%s); set the node's providerID", len(ids), node.Name, strings.Join(ids, ", "))
	case r.claimed[ids[0]]:
		return "", fmt.Sprintf("server %s is named %s, but another node has its id; set the node's providerID", ids[0], node.Name)
	}
	return ids[0], r.missing(ids[0])
}

// missing says what is known of a server that has no network card on the LAN, or
// one without an address.
func (r resolver) missing(id string) string {
	m, attached := r.machines[id]
	_, listed := r.servers[id]
	switch {
	case attached && len(m.addresses) == 0 && len(m.leftOut) == 0:
		return fmt.Sprintf("no address on LAN %d yet", r.lan)
	case attached:
		return ""
	case listed:
		return fmt.Sprintf("server %s has no network card on LAN %d; attach it, or correct IONOS_PRIVATE_LAN_ID", id, r.lan)
	case r.servers != nil:
		return fmt.Sprintf("server not found by providerID %s in data centre %s: it is gone, or IONOS_DATACENTER_ID is wrong", id, r.datacenter)
	}
	return fmt.Sprintf("server not found by providerID %s on LAN %d of data centre %s: it is gone, elsewhere, or has no network card there", id, r.lan, r.datacenter)
}

// machines gathers the network cards of each server. Addresses of a failover
// group, and those that several cards have, move between servers: they would
// lead to whichever has them now.
func (d directory) machines(moving map[netip.Addr]bool, at place) map[string]machine {
	holders := map[netip.Addr]int{}
	for _, c := range d.cards {
		for _, addr := range distinct(c.addresses) {
			holders[addr]++
		}
	}
	machines := map[string]machine{}
	for _, c := range d.cards {
		if c.server == "" {
			continue
		}
		m := machines[c.server]
		for _, addr := range distinct(c.addresses) {
			switch {
			case moving[addr]:
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
		slices.Sort(m.leftOut)
		machines[server] = machine{distinct(m.addresses), slices.Compact(m.leftOut)}
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
