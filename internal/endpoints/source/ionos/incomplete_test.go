package ionos_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/ionos"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/ionos/ionostest"
)

// Contract 2: if one document inside an answer lacks what a decision needs, the whole
// read is an error. If the document were skipped, the node would seem to have left
// the LAN.
func TestContract02AnIncompleteDocumentFailsTheWholeRead(t *testing.T) {
	server, card := "server "+serverID(0)+" (worker-0)", "network card "+nicID(0)
	tests := []struct{ on, lacks, document, field string }{
		{"/lans/2", "properties", "the answer", "properties"},
		{"/lans/2", "properties.ipFailover", "the answer", "properties.ipFailover"},
		{"/lans/2/nics", "items.properties", card, "properties"},
		{"/lans/2/nics", "items.properties.ips", card, "properties.ips"},
		{"/lans/2/nics", "items.id", "item 1 of the answer", "id"},
		{"/nodepools", "items.properties", "node pool pool-1", "properties"},
		{"/nodepools", "items.properties.name", "node pool pool-1", "properties.name"},
		{"/nodepools", "items.properties.availabilityZone", "node pool pool-1", "properties.availabilityZone"},
		{"/nodes", "items.properties", "node " + serverID(0), "properties.name"},
		{"/nodes", "items.properties.name", "node " + serverID(0), "properties.name"},
		{"/nodes", "items.metadata", "node worker-0 (" + serverID(0) + ")", "metadata.state"},
		{"/nodes", "items.metadata.state", "node worker-0 (" + serverID(0) + ")", "metadata.state"},
		{"/servers", "items.properties", "server " + serverID(0), "properties.name"},
		{"/servers", "items.properties.name", "server " + serverID(0), "properties.name"},
		{"/servers", "items.entities", server, "entities.nics.items"},
		{"/servers", "items.entities.nics", server, "entities.nics.items"},
		{"/servers", "items.entities.nics.items", server, "entities.nics.items"},
		{"/servers", "items.entities.nics.items.id", server + ": network card 1", "id"},
		{"/servers", "items.entities.nics.items.properties", server + ": " + card, "properties"},
		{"/servers", "items.entities.nics.items.properties.lan", server + ": " + card, "properties.lan"},
		{"/servers", "items.entities.nics.items.properties.ips", server + ": " + card, "properties.ips"},
	}
	for _, test := range tests {
		// worker-2 is not the node whose server is incomplete.
		for _, node := range []string{"worker-0", "worker-2"} {
			t.Run(test.on+" "+test.lacks+" "+node, func(t *testing.T) {
				c := newCloud(t)
				c.Populate(3)
				source := c.source(t, nil)
				if test.on == "/servers" {
					source = c.source(t, tell(worker("", node)))
				}
				whole := briefs(read(t, source))
				c.Break(ionostest.Fault{Kind: ionostest.Incomplete, On: test.on, Lacks: test.lacks})
				if test.on == "/lans/2" { // it is not read again so soon
					source = c.source(t, nil)
				}
				err := readError(t, source)
				if want := test.document + " has no " + test.field; !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "asked again") {
					t.Errorf("got error\n%v, want %q and what follows", err, want)
				}
				c.Heal()
				if d := cmp.Diff(whole, briefs(read(t, source))); d != "" {
					t.Errorf("after the API was repaired (-want +got):\n%s", d)
				}
			})
		}
	}
}

// A server with more network cards than the answer lists is not known as a whole.
func TestContract02APartOfTheNetworkCardsIsNoAnswer(t *testing.T) {
	options := recorded(t, map[string]string{"/lans/2": bareLAN, "/servers": `{"items": [{"id": "` + serverID(1) + `", "properties": {"name": "w1"},
		"entities": {"nics": {"items": [], "_links": {"next": "https://api.ionos.com/more"}}}}]}`})
	options.Nodes = tell(worker("", "w1"))
	source, err := ionos.New(options)
	if err != nil {
		t.Fatal(err)
	}
	if err := readError(t, source); !strings.Contains(err.Error(), "server "+serverID(1)+" (w1) has no end of entities.nics.items") {
		t.Errorf("got error %v, want the server and its name", err)
	}
}
