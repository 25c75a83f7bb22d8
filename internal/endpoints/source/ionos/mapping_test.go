package ionos_test

import (
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/ionos/ionostest"
)

// The kubernetes source puts the server's id into ID, whether providerID
// (ionos://<server>, ionos:///<datacenter>/<server>), label or systemUUID names
// it. What is left to find here is the server of that id, or of the name.
func TestNodesAreMappedToServersByIDAndOnlyThenByAUniqueName(t *testing.T) {
	servers := []ionostest.Server{
		machine(1, "alpha", "10.0.0.1"),
		machine(2, "beta", "10.0.0.2"),
		machine(3, "twin", "10.0.0.3"),
		machine(4, "TWIN", "10.0.0.4"),
		{ID: serverID(5), Name: "unplugged", NICs: []ionostest.NIC{{ID: nicID(5), LAN: 1, IPs: []string{"85.215.233.5"}}}},
		machine(6, "fresh"),
		machine(0xab, "UPPER", "10.0.0.7"),
	}
	upper := "6F1D2C3B-0000-4000-8000-0000000000AB"
	servers[6].ID = strings.ToLower(upper)
	const foreign = "0e0e0e0e-0000-4000-8000-000000000009"
	tests := []struct {
		name         string
		node         inventory.Node
		want, detail string
	}{
		{"id alone", worker(serverID(1), "elsewhere-named"), "10.0.0.1", ""},
		{"id in upper case", worker(upper, "x"), "10.0.0.7", ""},
		{"id and name agree", worker(serverID(1), "alpha"), "10.0.0.1", ""},
		{"id and name contradict", worker(serverID(1), "beta"), "10.0.0.1", ""},
		{"id of no server, name of one", worker(foreign, "alpha"), "", "server not found by the id " + foreign + " of providerID, label or systemUUID"},
		{"id of a server elsewhere", worker(serverID(5), "alpha"), "", serverID(5)},
		{"id that is no server's", worker("kind-worker", "alpha"), "10.0.0.1", ""},
		{"id and name of no server", worker("edge-a", "gamma"), "", `server not found by providerID, label, systemUUID or name: "edge-a" is not the id of one, and data centre ` + datacenter + " has no server named gamma"},
		{"name alone", worker("", "beta"), "10.0.0.2", ""},
		{"name in another case", worker("", "Beta"), "10.0.0.2", ""},
		{"name of two servers", worker("", "twin"), "", "2 servers are named twin (" + serverID(3) + ", " + serverID(4) + "); give the node the label enterprise.cloud.ionos.com/node-id with the id of its server"},
		{"name of no server", worker("", "gamma"), "", "server not found by providerID, label, systemUUID or name: data centre " + datacenter + " has no server named gamma"},
		{"part of a name", worker("", "alph"), "", "has no server named alph"},
		{"name of a server off the LAN", worker("", "unplugged"), "", "server " + serverID(5) + " has no network card on LAN 2; attach it, or correct IONOS_PRIVATE_LAN_ID"},
		{"server without an address", worker(serverID(6), "fresh"), "", "no address on LAN 2 yet"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := newCloud(t)
			c.SetServers(servers...)
			got := read(t, c.source(t, tell(test.node)))
			if len(got) != 1 {
				t.Fatalf("got %v, want one node", got)
			}
			if text := strings.TrimPrefix(brief(got[0]), test.node.Name+" "); text != test.want {
				t.Errorf("got addresses %q, want %q", text, test.want)
			}
			if !strings.Contains(got[0].Detail, test.detail) || test.detail == "" && got[0].Detail != "" {
				t.Errorf("got detail %q, want %q", got[0].Detail, test.detail)
			}
		})
	}
}

func TestANameIsRefusedWhereItsServerIsAnotherNodes(t *testing.T) {
	c := newCloud(t)
	c.SetServers(machine(1, "alpha", "10.0.0.1"))
	got := read(t, c.source(t, tell(worker(serverID(1), "w1"), worker("", "alpha"))))
	if brief(got[0]) != "w1 10.0.0.1" || brief(got[1]) != "alpha " {
		t.Errorf("got %v, want the address at w1 alone", briefs(got))
	}
	if want := "server " + serverID(1) + " is named alpha, but another node has its id; give the node the label enterprise.cloud.ionos.com/node-id with the id of its server"; got[1].Detail != want {
		t.Errorf("got detail %q, want %q", got[1].Detail, want)
	}
}

func TestANodeFoundByNameHasTheIDOfItsServer(t *testing.T) {
	c := newCloud(t)
	c.SetServers(machine(1, "alpha", "10.0.0.1"))
	got := read(t, c.source(t, tell(worker("", "alpha"))))
	if got[0].ID != serverID(1) {
		t.Errorf("got id %q, want %q", got[0].ID, serverID(1))
	}
}

// The source passes on everything of the reader of the nodes, except the addresses.
func TestEverythingButTheAddressesIsTheReadersOwn(t *testing.T) {
	c := newCloud(t)
	c.SetServers(machine(1, "w1", "10.0.0.1"))
	node := inventory.Node{ID: serverID(1), Name: "w1", Zone: "z1", Leaving: true, Excluded: true, Detail: "said before"}
	got := read(t, c.source(t, tell(node)))[0]
	if brief(got) != "w1 10.0.0.1 leaving notready" || got.Zone != "z1" || !got.Excluded || got.Worker || got.Detail != "said before" {
		t.Errorf("got %+v, want %+v with an address", got, node)
	}
}

// The rows of translateNode's table.
func TestStatesOfTheManagedAPI(t *testing.T) {
	c := newCloud(t)
	var servers []ionostest.Server
	var nodes []ionostest.Node
	states := []string{"READY", "TERMINATING", "REBUILDING", "PROVISIONING", "PROVISIONED", "DREAMING"}
	for i, state := range states {
		servers = append(servers, machine(i, state, "10.0.0."+string(rune('1'+i))))
		nodes = append(nodes, ionostest.Node{ID: strings.ToUpper(serverID(i)), Name: state, State: state})
	}
	c.SetServers(servers...)
	c.SetNodes(nodes...)
	want := []string{
		"READY 10.0.0.1", "TERMINATING 10.0.0.2 leaving", "REBUILDING 10.0.0.3 leaving",
		"PROVISIONING 10.0.0.4 notready", "PROVISIONED 10.0.0.5 notready", "DREAMING 10.0.0.6 notready",
	}
	for i, got := range read(t, c.source(t, nil)) {
		if brief(got) != want[i] {
			t.Errorf("got %q, want %q", brief(got), want[i])
		}
		if i > 0 && got.Detail != "its state is "+states[i] {
			t.Errorf("got detail %q, want its state", got.Detail)
		}
	}
}

func TestAServerThatVanishedIsGone(t *testing.T) {
	c := newCloud(t)
	c.Populate(3)
	reader := tell(worker(serverID(0), "w0"), worker(serverID(1), "w1"))
	source := c.source(t, reader)
	read(t, source)
	c.Churn(1)
	got := read(t, source)
	want := "server not found by the id " + serverID(0) + " of providerID, label or systemUUID on LAN 2 of data centre " + datacenter + ": it is gone, elsewhere, or has no network card there"
	if brief(got[0]) != "w0 " || got[0].Detail != want || brief(got[1]) != "w1 10.0.0.1" {
		t.Errorf("got %v, %q, want w0 without address and %q", briefs(got), got[0].Detail, want)
	}
}
