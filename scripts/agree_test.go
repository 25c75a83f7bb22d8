package scripts_test

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/ionos"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/ionos/ionostest"
)

// givenNodes are the nodes of the remote cluster, as the source ionos reads them.
type givenNodes []inventory.Node

func (n givenNodes) Read(context.Context) ([]inventory.Node, error) {
	nodes := slices.Clone(n)
	for i := range nodes {
		nodes[i].Addresses = nil
	}
	return nodes, nil
}

// Everything that the API can say differently must be understood alike.
func TestRenderInventoryAgreesWithTheSourceIONOS(t *testing.T) {
	w := newWorld(t)
	nodes := []inventory.Node{
		worker("1", "10.0.0.1"), worker("2", "10.0.0.2", "10.0.0.20"), worker("3"),
		worker("4", "10.0.0.4", "10.0.0.100"), worker("5", "10.0.0.5", "10.0.0.50"), worker("6", "10.0.0.6", "10.0.0.50"),
	}
	nodes[5].Leaving = true
	for _, kind := range []ionostest.Kind{
		"", ionostest.UnknownType, ionostest.IPsNull, ionostest.IPsEmpty, ionostest.IPsHoled,
		ionostest.NICsNull, ionostest.NICsEmpty, ionostest.Shuffled, ionostest.NoHref, ionostest.NoLinks,
	} {
		t.Run(fmt.Sprintf("fault %q", kind), func(t *testing.T) {
			w.put(t, nodes)
			w.SetFailover("10.0.0.100")
			w.Break(ionostest.Fault{Kind: kind})
			source, err := ionos.New(ionos.Options{
				Credentials: func() ionos.Credentials {
					return ionos.Credentials{Token: func() (string, error) { return canary, nil }}
				},
				APIURL: w.url, DatacenterID: datacenter, LANID: lan, Nodes: givenNodes(nodes),
			})
			must(t, err)
			want, wantErr := source.Read(t.Context())
			got, err := w.source(t).Read(t.Context())
			if (err == nil) != (wantErr == nil) {
				t.Fatalf("got error %v, want as the source ionos %v", err, wantErr)
			}
			if d := cmp.Diff(plain(want), plain(got)); d != "" {
				t.Errorf("(-source ionos +script):\n%s", d)
			}
			if kind == "" && plain(got)["w5"] != "10.0.0.5" {
				t.Errorf("got %v, want w5 without the address that w6 has too", plain(got))
			}
		})
	}
}

func worker(number string, addrs ...string) inventory.Node {
	node := inventory.Node{ID: "6f1d2c3b-0000-4000-8000-00000000000" + number, Name: "w" + number, Zone: "z", Ready: true, Worker: true}
	for _, addr := range addrs {
		node.Addresses = append(node.Addresses, netip.MustParseAddr(addr))
	}
	return node
}

// plain is what of the nodes gets into a slice, in one order.
func plain(nodes []inventory.Node) map[string]string {
	all := map[string]string{}
	for _, node := range nodes {
		var texts []string
		for _, addr := range node.Addresses {
			texts = append(texts, addr.String())
		}
		slices.Sort(texts)
		all[node.Name] = strings.Join(texts, ",")
		if node.Leaving {
			all[node.Name] += " leaving"
		}
	}
	return all
}
