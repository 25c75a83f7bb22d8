package ionos

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// document is anything that the API lists or describes, as far as it is read
// here. The SDK's own types refuse a whole list for one unknown value of an enum
// (measured), so the raw answers are decoded into this one.
type document struct {
	ID       string `json:"id"`
	Href     string `json:"href"`
	Metadata struct {
		State string `json:"state"`
	} `json:"metadata"`
	Properties *properties `json:"properties"`
	Entities   struct {
		NICs list `json:"nics"`
	} `json:"entities"`
}

// properties are those of a network card, LAN, server, node pool or node. What
// may be null where it is known is a field.
type properties struct {
	Name field[string] `json:"name"`

	LAN   *json.Number     `json:"lan"` // a number, or one as text
	IPs   field[[]*string] `json:"ips"`
	IPv6s []*string        `json:"ipv6Ips"`

	Public     bool               `json:"public"`
	IPv4       string             `json:"ipv4CidrBlock"`
	IPv6       string             `json:"ipv6CidrBlock"`
	IPFailover field[[]*failover] `json:"ipFailover"`

	Labels     field[map[string]string] `json:"labels"`
	Zone       string                   `json:"availabilityZone"`
	Datacenter string                   `json:"datacenterId"`
}

type failover struct {
	IP field[string] `json:"ip"`
}

// list is one page of a list. The SDK decodes an empty answer, null and an answer
// without items all to "no items and no error": Items tells them apart.
type list struct {
	Items *[]document `json:"items"`
	Limit float64     `json:"limit"`
	Links *struct {
		Next string `json:"next"`
	} `json:"_links"`
}

// field tells a field that is null from one that is absent, which makes its
// document incomplete.
type field[T any] struct {
	value T
	there bool
}

// UnmarshalJSON implements json.Unmarshaler.
func (f *field[T]) UnmarshalJSON(data []byte) error {
	f.there = true
	return json.Unmarshal(data, &f.value)
}

// errNoAnswer is about an answer with status 200.
var errNoAnswer = partial(errors.New("the answer is empty"))

// partial says that an answer is not the whole.
func partial(err error) error { return inventory.Fault(inventory.ErrIncomplete, err) }

// incomplete is the error about a document that says less than is needed. One
// that was passed over could look like a node that is gone (contract 2).
func incomplete(name, field string) error {
	return partial(fmt.Errorf("%s has no %s, so the answer is incomplete: it changes nothing and is asked again; if this lasts, report it to IONOS", name, field))
}

// decode reads one answer.
func decode[T any](payload []byte) (T, error) {
	var answer *T
	if len(payload) == 0 {
		return *new(T), errNoAnswer
	}
	if err := json.Unmarshal(payload, &answer); err != nil {
		return *new(T), malformed(err)
	}
	if answer == nil {
		return *new(T), fmt.Errorf("%w: null", errNoAnswer)
	}
	return *answer, nil
}

// malformed explains why an answer cannot be decoded, without repeating it.
func malformed(err error) error {
	syntax, kind := new(json.SyntaxError), new(json.UnmarshalTypeError)
	switch {
	case errors.As(err, &syntax):
		return partial(fmt.Errorf("the answer is not JSON, or truncated (byte %d)", syntax.Offset))
	case errors.As(err, &kind):
		return fmt.Errorf("the answer has a wrong type at %q (byte %d)", kind.Field, kind.Offset)
	}
	return fmt.Errorf("the answer cannot be decoded: %w", err)
}

// decodePage reads one page of a list and makes sure that it is one.
func decodePage(payload []byte) (list, error) {
	page, err := decode[list](payload)
	if err != nil {
		return page, err
	}
	if page.Items == nil {
		return page, partial(errors.New(`the answer has no "items", so it is no list`))
	}
	for i, item := range *page.Items {
		if item.ID == "" {
			return page, incomplete(fmt.Sprintf("item %d of the answer", i+1), "id")
		}
	}
	return page, nil
}

// continues reports whether the answer itself names a further page.
func (l list) continues() bool { return l.Links != nil && l.Links.Next != "" }

// key is the id, for comparing.
func (d document) key() string { return strings.ToLower(d.ID) }

// onLAN reports whether a network card is on a LAN. A card of the LAN's own list
// need not say; one of a server must.
func (d document) onLAN(lan int, listed bool) (bool, error) {
	switch {
	case d.Properties == nil:
		return false, incomplete("network card "+d.ID, "properties")
	case d.Properties.LAN != nil:
		id, err := d.Properties.LAN.Int64()
		if err != nil {
			return false, fmt.Errorf("network card %s is on LAN %.20q, which is no whole number", d.ID, d.Properties.LAN.String())
		}
		return id == int64(lan), nil
	case !listed:
		return false, incomplete("network card "+d.ID, "properties.lan")
	}
	return true, nil
}

// addresses are all addresses of a network card. Entries may be null or empty,
// and so may the list: a new card has none for minutes.
func (d document) addresses() ([]netip.Addr, error) {
	if !d.Properties.IPs.there {
		return nil, incomplete("network card "+d.ID, "properties.ips")
	}
	var addrs []netip.Addr
	for _, entries := range [][]*string{d.Properties.IPs.value, d.Properties.IPv6s} {
		for _, entry := range entries {
			addr, err := address(entry)
			if err != nil {
				return nil, fmt.Errorf("network card %s has the address %.64q, which is no IP address", d.ID, *entry)
			}
			if addr.IsValid() {
				addrs = append(addrs, addr)
			}
		}
	}
	return addrs, nil
}

// address parses an entry of a list; what is null or empty is the zero Addr.
func address(entry *string) (netip.Addr, error) {
	if entry == nil || strings.TrimSpace(*entry) == "" {
		return netip.Addr{}, nil
	}
	return netip.ParseAddr(strings.TrimSpace(*entry))
}

// failoverAddresses are the addresses of the LAN's failover group, which move between
// servers.
func (d document) failoverAddresses() (map[netip.Addr]bool, error) {
	switch {
	case d.Properties == nil:
		return nil, incomplete("the answer", "properties")
	case !d.Properties.IPFailover.there:
		return nil, incomplete("the answer", "properties.ipFailover")
	}
	addrs := map[netip.Addr]bool{}
	for _, entry := range d.Properties.IPFailover.value {
		if entry == nil {
			continue
		}
		if !entry.IP.there {
			return nil, incomplete("the answer", "properties.ipFailover.ip")
		}
		addr, err := address(&entry.IP.value)
		if err != nil {
			return nil, fmt.Errorf("the failover address %.64q is no IP address", entry.IP.value)
		}
		addrs[addr] = true
	}
	return addrs, nil
}

// warnings are what is odd about the LAN, given what may be published.
func (d document) warnings(lan int, subnets []netip.Prefix) []string {
	var odd []string
	if d.Properties.Public {
		odd = append(odd, fmt.Sprintf("LAN %d is public; check IONOS_PRIVATE_LAN_ID", lan))
	}
	for _, block := range []string{d.Properties.IPv4, d.Properties.IPv6} {
		prefix, err := netip.ParsePrefix(block)
		if err != nil {
			continue // it may be null, AUTO or empty: not given
		}
		same, overlap := false, false
		for _, subnet := range subnets {
			same = same || subnet.Addr().Is4() == prefix.Addr().Is4()
			overlap = overlap || subnet.Overlaps(prefix)
		}
		if same && !overlap {
			odd = append(odd, fmt.Sprintf("LAN %d has the addresses %s, none of which is inside SECURED_SUBNET_CIDR", lan, prefix))
		}
	}
	return odd
}

// ownerOf reads whose a network card is from its link:
//
//	.../datacenters/<id>/servers/<server>/nics/<nic>    the server
//	.../datacenters/<id>/lans/<lan>/nics/<nic>          not said: any server
//	.../datacenters/<id>/<anything else>/<id>/...       something else, as a load balancer
func ownerOf(href string) (server string, unknown bool) {
	path, _, _ := strings.Cut(href, "?")
	segments := strings.Split(path, "/")
	if i := slices.Index(segments, "servers") + 1; i > 0 && i < len(segments) && inventory.IsUUID(segments[i]) {
		return strings.ToLower(segments[i]), false
	}
	if i := slices.Index(segments, "datacenters") + 2; i > 1 && i+1 < len(segments) {
		return "", slices.Contains([]string{"lans", "servers", "nics"}, segments[i])
	}
	return "", true
}

// serverID is the server that a node names by its id, or "" where its id is not
// that of an IONOS server.
func serverID(node inventory.Node) string {
	if !inventory.IsUUID(node.ID) {
		return ""
	}
	return strings.ToLower(node.ID)
}

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

// completePool is an error about a node pool that does not say what is needed of it.
// Its labels are only needed by a selector.
func completePool(pool document, selector labels.Selector) error {
	name := "node pool " + pool.ID
	switch p := pool.Properties; {
	case p == nil:
		return incomplete(name, "properties")
	case p.Name.value == "":
		return incomplete(name, "properties.name")
	case p.Zone == "":
		return incomplete(name, "properties.availabilityZone")
	case selector != nil && !p.Labels.there:
		return incomplete(name, "properties.labels")
	case selector != nil && p.Datacenter == "":
		return incomplete(name, "properties.datacenterId")
	}
	return nil
}

// poolNode translates a node of a managed cluster:
//
//	state                      ready   leaving
//	READY                      yes     no
//	TERMINATING, REBUILDING    yes     yes
//	any other                  no      no
//
// A node that leaves still serves until its health check says otherwise; if it
// were not ready as well, it would be missing instead of drained. Its labels are
// those of its pool: what else was put on a node by hand the API does not know.
func poolNode(d document, pool properties, selector labels.Selector) (inventory.Node, error) {
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
	if selector == nil {
		return node, nil
	}
	known := labels.Set{
		labelPool: pool.Name.value, labelNode: node.ID, labelDatacenter: pool.Datacenter, labelHost: node.Name, labelZone: pool.Zone,
	}
	if node.Worker = selector.Matches(labels.Merge(pool.Labels.value, known)); !node.Worker {
		node.Detail = join(fmt.Sprintf("the labels of its node pool %s do not match SECURED_NODE_SELECTOR=%s", pool.Name.value, selector), node.Detail)
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
		server, unknown := ownerOf(nic.Href)
		if err := d.add(nic, lan, true, card{server: server, ownerUnknown: unknown}); err != nil {
			return directory{}, err
		}
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
			err := d.add(nic, lan, false, card{server: id})
			if nic.ID == "" {
				err = incomplete(fmt.Sprintf("network card %d", i+1), "id")
			}
			if err != nil {
				return directory{}, fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return d, nil
}

// add adds a network card of a known or unknown owner if it is on the LAN; see onLAN.
func (d *directory) add(nic document, lan int, listed bool, c card) error {
	on, err := nic.onLAN(lan, listed)
	if err != nil || !on {
		return err
	}
	c.id = nic.key()
	c.addresses, err = nic.addresses()
	d.cards = append(d.cards, c)
	return err
}

// answers reports whether the server of every node was found.
func (d directory) answers(nodes []inventory.Node) bool {
	r := resolverOf(nodes, d, nil, place{})
	return !slices.ContainsFunc(nodes, func(n inventory.Node) bool { return isWanted(n) && r.cardsOf(n) == 0 })
}

// lost reports whether a network card of a node's server is not found now that was before, or
// none of a server that was not looked for in that way.
func (d directory) lost(nodes []inventory.Node, before directory) bool {
	now, then := resolverOf(nodes, d, nil, place{}), resolverOf(nodes, before, nil, place{})
	return slices.ContainsFunc(nodes, func(n inventory.Node) bool {
		first := before.cards == nil || serverID(n) == "" && before.servers == nil
		return isWanted(n) && (now.cardsOf(n) < then.cardsOf(n) || first && now.cardsOf(n) == 0)
	})
}

// with adds the network cards and servers that other knows and d does not.
func (d directory) with(other directory) directory {
	for id, name := range other.servers {
		if _, there := d.servers[id]; !there {
			d.servers[id] = name
		}
	}
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
	// cards is how many network cards it has there.
	cards int
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

func resolverOf(nodes []inventory.Node, d directory, moving map[netip.Addr]bool, at place) resolver {
	r := resolver{d, at, d.machines(moving, at), map[string][]string{}, map[string]bool{}}
	for _, id := range slices.Sorted(maps.Keys(d.servers)) {
		name := strings.ToLower(d.servers[id])
		r.named[name] = append(r.named[name], id)
	}
	for _, node := range nodes {
		r.claimed[serverID(node)] = true
	}
	return r
}

// resolve returns the nodes with the addresses of their servers. Its input is
// left alone.
func resolve(nodes []inventory.Node, d directory, moving map[netip.Addr]bool, at place) []inventory.Node {
	r := resolverOf(nodes, d, moving, at)
	resolved := make([]inventory.Node, 0, len(nodes))
	for _, node := range nodes {
		server, remark := r.find(node)
		node.Addresses = nil
		if m, there := r.machines[server]; there && remark == "" {
			node.Addresses = slices.Clone(m.addresses)
			remark = strings.Join(m.leftOut, "; ")
		}
		node.ID = cmp.Or(node.ID, server)
		node.Detail = join(node.Detail, remark)
		resolved = append(resolved, node)
	}
	return resolved
}

// cardsOf returns how many network cards the server of a node has there.
func (r resolver) cardsOf(node inventory.Node) int {
	server, _ := r.find(node)
	return r.machines[server].cards
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
		return "", fmt.Sprintf("server not found by providerID, label, systemUUID or name: %sdata centre %s has no server named %s", noServer(node), r.datacenter, node.Name)
	case len(ids) > 1:
		return "", fmt.Sprintf("%d servers are named %s (%s); give the node the label "+labelNode+" with the id of its server", len(ids), node.Name, strings.Join(ids, ", "))
	case r.claimed[ids[0]]:
		return "", fmt.Sprintf("server %s is named %s, but another node has its id; give the node the label "+labelNode+" with the id of its server", ids[0], node.Name)
	}
	return ids[0], r.missing(ids[0])
}

// noServer says that what names the node is not the id of a server.
func noServer(node inventory.Node) string {
	if node.ID == "" {
		return ""
	}
	return fmt.Sprintf("%.40q is not the id of one, and ", node.ID)
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
		return fmt.Sprintf("server not found by the id %s of providerID, label or systemUUID in data centre %s: it is gone, or IONOS_DATACENTER_ID is wrong", id, r.datacenter)
	}
	return fmt.Sprintf("server not found by the id %s of providerID, label or systemUUID on LAN %d of data centre %s: it is gone, elsewhere, or has no network card there", id, r.lan, r.datacenter)
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
		m.cards++
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
		machines[server] = machine{distinct(m.addresses), slices.Compact(m.leftOut), m.cards}
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
