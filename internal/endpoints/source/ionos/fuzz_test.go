package ionos_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/ionos"
)

// Whatever the API answers: an error, or every node that was asked for, with
// valid addresses that no two of them share, and the nodes asked for unchanged.
func FuzzTranslate(f *testing.F) {
	for _, name := range []string{"lan-nics-depth1.json", "servers-depth3.json"} {
		text := documentOf(f, name)
		f.Add([]byte(text), true)
		f.Add([]byte(text), false)
		f.Add([]byte(strings.ReplaceAll(text, `"nic"`, `"quantum"`)), false)
		f.Add([]byte(text[:len(text)/2]), true)
	}
	for _, text := range []string{"", "null", "{}", `{"items": []}`, `{"items": [null]}`, `{"items": null}`, `[]`} {
		f.Add([]byte(text), true)
		f.Add([]byte(text), false)
	}
	f.Fuzz(func(t *testing.T, payload []byte, byServer bool) {
		nodes := []inventory.Node{
			worker("b501942c-4e08-43e6-8ec1-00e59c64e0e4", "a"),
			worker("523415E6-FF8C-4DC0-86D3-09C256039B30", "b"),
			worker("", "pool-a-paka7v2imr"),
			worker("", "pool-a-wypldyeewy"),
		}
		asked := append([]inventory.Node(nil), nodes...)
		got, err := ionos.Translate(payload, byServer, 2, nodes)
		if d := cmp.Diff(asked, nodes, cmp.Comparer(func(a, b netip.Addr) bool { return a == b })); d != "" {
			t.Errorf("the nodes asked for changed (-want +got):\n%s", d)
		}
		if err != nil {
			if got != nil || len(err.Error()) > 400 {
				t.Errorf("got %d nodes and an error of %d bytes", len(got), len(err.Error()))
			}
			return
		}
		if len(got) != len(nodes) {
			t.Fatalf("got %d nodes, want %d", len(got), len(nodes))
		}
		holder := map[netip.Addr]string{}
		for i, n := range got {
			if n.Name != nodes[i].Name || n.ID != nodes[i].ID && nodes[i].ID != "" {
				t.Errorf("got node %q %q, want %q %q", n.ID, n.Name, nodes[i].ID, nodes[i].Name)
			}
			for _, addr := range n.Addresses {
				if other, taken := holder[addr]; taken || !addr.IsValid() {
					t.Errorf("node %s has %v, which node %s has", n.Name, addr, other)
				}
				holder[addr] = n.Name
			}
		}
	})
}
