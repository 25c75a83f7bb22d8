package ionos_test

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/ionos"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/ionos/ionostest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/sourcetest"
)

// populate makes the cloud hold these nodes.
func (c *cloud) populate(nodes []inventory.Node) {
	var servers []ionostest.Server
	var members []ionostest.Node
	for i, node := range nodes {
		nic := ionostest.NIC{ID: nicID(i), LAN: lan}
		for _, addr := range node.Addresses {
			if addr.Is4() {
				nic.IPs = append(nic.IPs, addr.String())
			} else {
				nic.IPv6s = append(nic.IPv6s, addr.String())
			}
		}
		public := ionostest.NIC{ID: nicID(500000 + i), LAN: 1, IPs: []string{netip.AddrFrom4([4]byte{85, 215, byte(i >> 8), byte(i)}).String()}}
		servers = append(servers, ionostest.Server{ID: node.ID, Name: node.Name, NICs: []ionostest.NIC{public, nic}})
		state := "PROVISIONED"
		switch {
		case node.Leaving && i%2 == 0:
			state = "REBUILDING"
		case node.Leaving:
			state = "TERMINATING"
		case node.Ready:
			state = "READY"
		}
		members = append(members, ionostest.Node{ID: node.ID, Name: node.Name, State: state, Pool: []string{"pool-a", "pool-b"}[i%2]})
	}
	c.SetServers(servers...)
	c.SetNodes(members...)
}

// breaks are the faults after which no answer is complete.
func (c *cloud) breaks() map[string]func() {
	all := map[string]func(){}
	for _, kind := range []ionostest.Kind{
		ionostest.Unauthorized, ionostest.Forbidden, ionostest.NotFound, ionostest.RateLimited, ionostest.Failed,
		ionostest.BadGateway, ionostest.Unavailable, ionostest.Null, ionostest.Empty, ionostest.NoContent, ionostest.NoItems,
		ionostest.Truncated, ionostest.Cut, ionostest.HTML, ionostest.Huge, ionostest.Redirect, ionostest.Dropped,
	} {
		all[kind] = func() { c.Break(ionostest.Fault{Kind: kind}) }
	}
	for _, path := range []string{"/nics", "/pool-b/nodes"} {
		all["no items of "+path[1:]] = func() { c.Break(ionostest.Fault{Kind: ionostest.NoItems, On: path}) }
		all["failure of "+path[1:]] = func() { c.Break(ionostest.Fault{Kind: ionostest.Failed, On: path}) }
	}
	all["a list without end"] = func() { c.Break(ionostest.Fault{Kind: ionostest.Endless, On: "/nics"}) }
	return all
}

func TestConformanceOfAManagedCluster(t *testing.T) {
	sourcetest.Run(t, sourcetest.Options{
		Start: func(t *testing.T, nodes []inventory.Node) sourcetest.Harness {
			c := newCloud(t)
			c.populate(nodes)
			return sourcetest.Harness{
				Source: c.source(t, nil),
				Put:    func(nodes []inventory.Node) { c.Heal(); c.populate(nodes) },
				Breaks: c.breaks(),
				Stall:  func() { c.Break(ionostest.Fault{Kind: ionostest.Slow}) },
			}
		},
		Knows: func(node inventory.Node) (inventory.Node, bool) {
			node.Worker, node.Zone = true, ""
			node.Ready = node.Ready || node.Leaving
			return node, true
		},
	})
}

func TestConformanceWithTheNodesOfAnotherReader(t *testing.T) {
	for name, change := range map[string]func(*inventory.Node){
		"by id":   func(*inventory.Node) {},
		"by name": func(n *inventory.Node) { n.ID = "" },
	} {
		t.Run(name, func(t *testing.T) {
			sourcetest.Run(t, sourcetest.Options{Start: func(t *testing.T, nodes []inventory.Node) sourcetest.Harness {
				c := newCloud(t)
				reader := tell()
				put := func(nodes []inventory.Node) {
					c.Heal()
					c.populate(nodes)
					known := slices.Clone(nodes)
					for i := range known {
						known[i].Addresses = nil
						if known[i].Worker { // others are not looked for by name
							change(&known[i])
						}
					}
					reader.set(known...)
				}
				put(nodes)
				breaks := c.breaks()
				delete(breaks, "no items of pool-b/nodes")
				delete(breaks, "failure of pool-b/nodes")
				if name == "by name" {
					for _, not := range []string{"no items of nics", "failure of nics", "a list without end"} {
						delete(breaks, not)
					}
					breaks["servers without network cards"] = func() { c.Break(ionostest.Fault{Kind: ionostest.NICsNull}) }
				}
				return sourcetest.Harness{
					Source: c.source(t, reader), Put: put, Breaks: breaks,
					Stall: func() { c.Break(ionostest.Fault{Kind: ionostest.Slow}) },
				}
			}})
		})
	}
}

var _ ionos.NodeReader = (*givenNodes)(nil)
