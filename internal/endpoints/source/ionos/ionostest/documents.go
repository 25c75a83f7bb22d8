package ionostest

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
)

// object is a JSON object of an answer.
type object = map[string]any

// base is what every element has at any depth.
func base(id, kind, href string) object {
	return object{"id": id, "type": kind, "href": href}
}

// metadata is as long as the real one.
func metadata(state string) object {
	return object{
		"etag": "fe405a5f2e041d506086ee0c2159b678", "createdDate": "2026-09-02T11:51:53Z", "createdBy": "System",
		"createdByUserId": "[UNKNOWN]", "lastModifiedDate": "2026-09-02T11:51:53Z", "lastModifiedBy": "System",
		"lastModifiedByUserId": "[UNKNOWN]", "state": state,
	}
}

// answer is one request's view of the world.
type answer struct {
	*API
	fault Fault
	root  string
}

func (w answer) datacenter() string { return w.root + "/datacenters/" + w.options.Datacenter }

// nic is a network card at a depth; 0 has no properties.
func (w answer) nic(server Server, nic NIC, depth int) object {
	href := cmp.Or(nic.ForeignHref, w.datacenter()+"/servers/"+server.ID+"/nics/"+nic.ID)
	o := base(nic.ID, w.kind("nic"), href)
	if w.fault.Kind == NoHref {
		o["href"] = w.datacenter() + "/lans/" + fmt.Sprint(nic.LAN) + "/nics/" + nic.ID
	}
	if depth < 1 {
		return o
	}
	o["metadata"] = metadata("AVAILABLE")
	o["properties"] = object{
		"name": nil, "mac": "02:01:4b:1c:cf:09", "ips": w.addresses(nic.IPs), "dhcp": true,
		"ipv6Ips": w.addresses(nic.IPv6s), "ipv6CidrBlock": nil, "dhcpv6": nil, "lan": nic.LAN,
		"firewallActive": false, "firewallType": "INGRESS", "deviceNumber": nil, "pciSlot": 7, "vnet": nil,
	}
	o["entities"] = object{
		"firewallrules": base(nic.ID+"/firewallrules", "collection", href+"/firewallrules"),
		"flowlogs":      base(nic.ID+"/flowlogs", "collection", href+"/flowlogs"),
	}
	return o
}

// addresses are those of a network card, as the fault wants them.
func (w answer) addresses(addrs []string) any {
	switch w.fault.Kind {
	case IPsNull:
		return nil
	case IPsEmpty:
		return []string{}
	}
	list := make([]any, 0, len(addrs)+2)
	for _, addr := range addrs {
		if addr == "null" {
			list = append(list, nil)
			continue
		}
		list = append(list, addr)
	}
	if w.fault.Kind == IPsHoled {
		list = append(list, nil, "")
	}
	if w.fault.Kind == Shuffled {
		rand.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	}
	return list
}

// server is a server at a depth: properties from 1, ids of network cards from 2,
// and their properties from 3.
func (w answer) server(server Server, depth int) object {
	href := w.datacenter() + "/servers/" + server.ID
	o := base(server.ID, w.kind("server"), href)
	if depth < 1 {
		return o
	}
	o["metadata"] = metadata("AVAILABLE")
	o["properties"] = object{
		"name": server.Name, "hostname": server.Name, "cores": 4, "ram": 16384, "availabilityZone": "AUTO",
		"vmState": "RUNNING", "bootCdrom": nil, "bootVolume": nil, "cpuFamily": "INTEL_SKYLAKE", "type": "ENTERPRISE",
	}
	entities := object{}
	for _, name := range []string{"cdroms", "volumes", "nics"} {
		entity := base(server.ID+"/"+name, "collection", href+"/"+name)
		if depth >= 2 {
			entity["items"] = []any{}
		}
		entities[name] = entity
	}
	if depth >= 2 {
		entities["nics"] = w.cards(server, depth, href)
	}
	o["entities"] = entities
	return o
}

// cards are the network cards inside a server.
func (w answer) cards(server Server, depth int, href string) any {
	entity := base(server.ID+"/nics", "collection", href+"/nics")
	switch w.fault.Kind {
	case NICsNull:
		return nil
	case NICsEmpty:
		entity["items"] = []any{}
		return entity
	}
	items := []any{}
	for _, nic := range server.NICs {
		items = append(items, w.nic(server, nic, depth-2))
	}
	entity["items"] = items
	return entity
}

func (w answer) lan() object {
	o := base(fmt.Sprint(w.options.LAN), w.kind("lan"), w.datacenter()+"/lans/"+fmt.Sprint(w.options.LAN))
	failover := []any{}
	for _, addr := range w.failover {
		failover = append(failover, object{"ip": addr, "nicUuid": "99756cf4-b512-4fb6-a278-97a0b0254f00"})
	}
	o["metadata"] = metadata("AVAILABLE")
	o["properties"] = object{
		"name": "private", "public": w.public, "pcc": nil, "ipv4CidrBlock": "10.0.0.0/8", "ipv6CidrBlock": nil, "ipFailover": failover,
	}
	return o
}

func (w answer) nodePools() []object {
	var names []string
	for _, node := range w.nodes {
		names = append(names, node.pool())
	}
	slices.Sort(names)
	pools := []object{}
	for _, name := range slices.Compact(names) {
		o := base(name, w.kind("nodepool"), w.root+"/k8s/"+w.options.Cluster+"/nodepools/"+name)
		o["metadata"] = metadata("ACTIVE")
		var said Pool
		if i := slices.IndexFunc(w.pools, func(p Pool) bool { return p.Name == name }); i >= 0 {
			said = w.pools[i]
		}
		o["properties"] = object{
			"name": name, "datacenterId": w.options.Datacenter, "nodeCount": 1, "k8sVersion": "1.34.2",
			"availabilityZone": cmp.Or(said.Zone, "AUTO"), "labels": said.Labels, "annotations": nil,
		}
		pools = append(pools, o)
	}
	return pools
}

// members are the nodes of one pool.
func (w answer) members(pool string) []object {
	members := []object{}
	for _, node := range w.nodes {
		if node.pool() != pool {
			continue
		}
		o := base(node.ID, w.kind("node"), w.root+"/k8s/"+w.options.Cluster+"/nodepools/"+pool+"/nodes/"+node.ID)
		o["metadata"] = metadata(cmp.Or(node.State, "READY"))
		o["properties"] = object{"name": node.Name, "publicIP": "", "privateIP": "", "k8sVersion": "1.34.2"}
		members = append(members, o)
	}
	return members
}

func (n Node) pool() string { return cmp.Or(n.Pool, "pool-1") }

// kind is the type of an element; the SDK knows 35 of them.
func (w answer) kind(known string) string {
	if w.fault.Kind == UnknownType {
		return "quantum-" + known
	}
	return known
}
