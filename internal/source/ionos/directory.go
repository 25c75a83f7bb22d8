package ionos

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
)

// card is one network card on the LAN.
type card struct {
	id    string
	owner owner
	// server is set where owner is ownerServer.
	server    string
	addresses []netip.Addr
}

// directory is what one look at the LAN found.
type directory struct {
	cards []card
	// detailed says that servers and names are known: that the servers were
	// listed, not only the LAN's network cards.
	detailed bool
	servers  map[string]serverEntry
	// names maps the name of a server, in lower case, to the servers that have it.
	names map[string][]string
}

// serverEntry is a server of a detailed directory.
type serverEntry struct {
	name string
	// vague says that the answer did not list its network cards.
	vague bool
}

// directoryOfLAN translates the list of the LAN's network cards.
func directoryOfLAN(documents []nicDocument, lan int) (directory, error) {
	var d directory
	for _, document := range documents {
		if !document.onLAN(lan, true) {
			continue
		}
		addrs, err := document.addresses()
		if err != nil {
			return directory{}, err
		}
		owner, server := ownerOf(document.Href)
		d.cards = append(d.cards, card{document.key(), owner, server, addrs})
	}
	return d, nil
}

// directoryOfServers translates the list of servers with their network cards.
func directoryOfServers(documents []serverDocument, lan int) (directory, error) {
	d := directory{detailed: true, servers: map[string]serverEntry{}, names: map[string][]string{}}
	for _, document := range documents {
		id := document.key()
		entry := serverEntry{vague: document.Entities == nil || document.Entities.NICs == nil || document.Entities.NICs.Items == nil}
		if document.Properties != nil {
			entry.name = document.Properties.Name
			lower := strings.ToLower(entry.name)
			d.names[lower] = append(d.names[lower], id)
		}
		if !entry.vague {
			nics := document.Entities.NICs
			entry.vague = nics.Links != nil && nics.Links.Next != nil && *nics.Links.Next != ""
			for _, nic := range *nics.Items {
				if !nic.onLAN(lan, false) {
					continue
				}
				addrs, err := nic.addresses()
				if err != nil {
					return directory{}, fmt.Errorf("server %s: %w", id, err)
				}
				d.cards = append(d.cards, card{nic.key(), ownerServer, id, addrs})
			}
		}
		d.servers[id] = entry
	}
	for _, ids := range d.names {
		slices.Sort(ids)
	}
	return d, nil
}

// attached are the servers that have a network card on the LAN.
func (d directory) attached() map[string]bool {
	servers := make(map[string]bool, len(d.cards))
	for _, c := range d.cards {
		if c.owner == ownerServer {
			servers[c.server] = true
		}
	}
	return servers
}

// veiled reports whether a network card may be that of any server.
func (d directory) veiled() bool {
	return slices.ContainsFunc(d.cards, func(c card) bool { return c.owner == ownerUnknown })
}

// with adds the network cards that other knows and d does not.
func (d directory) with(other directory) directory {
	known := map[string]bool{}
	for _, c := range d.cards {
		known[c.id] = true
	}
	cards := slices.Clone(d.cards)
	for _, c := range other.cards {
		if !known[c.id] {
			cards = append(cards, c)
		}
	}
	d.cards = cards
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
		old, known := had[c.id]
		families := map[bool]int{}
		for _, addr := range c.addresses {
			families[addr.Is4()]++
			if slices.Contains(old, addr) {
				continue
			}
			if known && len(old) > 0 || families[addr.Is4()] > 1 {
				return true
			}
		}
	}
	return false
}
