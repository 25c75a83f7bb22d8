package ionos_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/ionos"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/ionos/ionostest"
)

func TestAddressesComeFromTheNetworkCardsOnTheLAN(t *testing.T) {
	card := func(id, lan int, ips ...string) ionostest.NIC {
		return ionostest.NIC{ID: nicID(id), LAN: lan, IPs: ips}
	}
	tests := []struct {
		name         string
		cards        []ionostest.NIC
		failover     []string
		want, detail string
	}{
		{"one address", []ionostest.NIC{card(1, 2, "10.0.0.1")}, nil, "10.0.0.1", ""},
		{"a public card first", []ionostest.NIC{card(1, 1, "85.1.2.3"), card(2, 2, "10.0.0.1")}, nil, "10.0.0.1", ""},
		{"two cards", []ionostest.NIC{card(1, 2, "10.0.0.2"), card(2, 2, "10.0.0.1")}, nil, "10.0.0.1,10.0.0.2", ""},
		{"both families", []ionostest.NIC{{ID: nicID(1), LAN: 2, IPs: []string{"10.0.0.1"}, IPv6s: []string{"fd00::1"}}}, nil, "10.0.0.1,fd00::1", ""},
		{"null and empty entries", []ionostest.NIC{card(1, 2, "null", "10.0.0.1", "")}, nil, "10.0.0.1", ""},
		{"an address twice", []ionostest.NIC{card(1, 2, "10.0.0.1", "10.0.0.1")}, nil, "10.0.0.1", ""},
		{"no address yet", []ionostest.NIC{card(1, 2)}, nil, "", "no address on LAN 2 yet"},
		{"a failover address", []ionostest.NIC{card(1, 2, "10.0.0.9", "10.0.0.1")}, []string{"10.0.0.9"}, "10.0.0.1", "10.0.0.9 is left out: it belongs to a failover group of LAN 2"},
		{"a failover address alone", []ionostest.NIC{card(1, 2, "10.0.0.9")}, []string{"10.0.0.9"}, "", "10.0.0.9 is left out: it belongs to a failover group of LAN 2"},
		{"an address of two cards", []ionostest.NIC{card(1, 2, "10.0.0.1", "10.0.0.5")}, nil, "10.0.0.1", "10.0.0.5 is left out: 2 network cards of LAN 2 have it"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			c := newCloud(t)
			c.SetFailover(test.failover...)
			c.SetServers(
				ionostest.Server{ID: serverID(1), Name: "w1", NICs: test.cards},
				ionostest.Server{ID: serverID(2), Name: "other", NICs: []ionostest.NIC{card(9, 2, "10.0.0.5")}},
			)
			// The same from both calls: by id, and by name.
			for _, id := range []string{serverID(1), ""} {
				got := read(t, c.source(t, tell(worker(id, "w1"))))[0]
				if brief(got) != "w1 "+test.want || got.Detail != test.detail {
					t.Errorf("id %q: got %q, %q, want %q, %q", id, brief(got), got.Detail, test.want, test.detail)
				}
			}
		})
	}
}

func TestTheOrderOfAddressesDoesNotShow(t *testing.T) {
	c := newCloud(t)
	c.SetServers(machine(1, "w1", "10.0.0.3", "10.0.0.1", "10.0.0.2"))
	c.Break(ionostest.Fault{Kind: ionostest.Shuffled})
	source := c.source(t, tell(worker(serverID(1), "w1")))
	for range 10 {
		if got := brief(read(t, source)[0]); got != "w1 10.0.0.1,10.0.0.2,10.0.0.3" {
			t.Errorf("got %q, want the addresses in order", got)
		}
	}
}

// An address that joins a failover group after the start appears on a network
// card; that alone makes the LAN be read again.
func TestAFailoverAddressThatIsAddedLaterIsNeverReported(t *testing.T) {
	c := newCloud(t)
	c.SetServers(machine(1, "w1", "10.0.0.1"), machine(2, "w2", "10.0.0.2"))
	source := c.source(t, tell(worker(serverID(1), "w1"), worker(serverID(2), "w2")))
	read(t, source)
	read(t, source)
	if got := c.Counts().ByPath["/datacenters/"+datacenter+"/lans/2"]; got != 1 {
		t.Errorf("got %d reads of the LAN while nothing changed, want 1", got)
	}
	c.SetFailover("10.0.0.9")
	c.SetServers(machine(1, "w1", "10.0.0.9", "10.0.0.1"), machine(2, "w2", "10.0.0.2"))
	got := briefs(read(t, source))
	if d := cmp.Diff([]string{"w1 10.0.0.1", "w2 10.0.0.2"}, got); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	c.SetServers(machine(1, "w1", "10.0.0.9", "10.0.0.1"), machine(2, "w2", "10.0.0.2"), machine(3, "w3", "10.0.0.3"))
	read(t, source)
	if got := c.Counts().ByPath["/datacenters/"+datacenter+"/lans/2"]; got != 2 {
		t.Errorf("got %d reads of the LAN, want 2: a new server is no reason", got)
	}
}

// A network card that does not belong to a server is no node, and no reason to ask
// for the servers. A card whose link names no owner is such a reason if a node is
// missing.
func TestLinksOfNetworkCardsSayWhoseTheyAre(t *testing.T) {
	c := newCloud(t)
	balancer := "https://api.ionos.com/cloudapi/v6/datacenters/" + datacenter + "/networkloadbalancers/" + serverID(7) + "/nics/" + nicID(7)
	veiled := "https://api.ionos.com/cloudapi/v6/datacenters/" + datacenter + "/lans/2/nics/" + nicID(8)
	servers := "/datacenters/" + datacenter + "/servers"
	tests := []struct {
		name, href, id string
		asked          int
	}{
		{"a load balancer, all found", balancer, serverID(1), 0},
		{"a load balancer, one missing", balancer, serverID(3), 0},
		{"not said, all found", veiled, serverID(1), 0},
		{"not said, one missing", veiled, serverID(3), 1},
	}
	for _, test := range tests {
		c.Forget()
		c.SetServers(machine(1, "w1", "10.0.0.1"),
			ionostest.Server{ID: serverID(2), Name: "x", NICs: []ionostest.NIC{{ID: nicID(2), LAN: lan, ForeignHref: test.href}}})
		read(t, c.source(t, tell(worker(test.id, "w1"))))
		if got := c.Counts().ByPath[servers]; got != test.asked {
			t.Errorf("%s: got %d requests for servers, want %d", test.name, got, test.asked)
		}
	}
}

// recorded serves documents as the API gave them, by the end of the path.
func recorded(t *testing.T, documents map[string]string) ionos.Options {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for end, document := range documents {
			if strings.HasSuffix(r.URL.Path, end) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = w.Write([]byte(document))
				return
			}
		}
		http.NotFound(w, r)
	}))
	t.Cleanup(server.Close)
	return ionos.Options{
		Credentials: bearer(text("token")), APIURL: server.URL, DatacenterID: datacenter, LANID: lan,
	}
}

func documentOf(t testing.TB, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

const bareLAN = `{"id": "2", "type": "lan", "properties": {"public": false, "ipFailover": null}}`

func TestRecordedDocumentsYieldTheSameNodesByEitherCall(t *testing.T) {
	options := recorded(t, map[string]string{
		"/lans/2": bareLAN, "/lans/2/nics": documentOf(t, "lan-nics-depth1.json"), "/servers": documentOf(t, "servers-depth3.json"),
	})
	want := []string{"pool-a-paka7v2imr 10.7.222.11", "pool-a-wypldyeewy 10.7.222.12"}
	for _, ids := range [][]string{{"b501942c-4e08-43e6-8ec1-00e59c64e0e4", "523415e6-ff8c-4dc0-86d3-09c256039b30"}, {"", ""}} {
		options.Nodes = tell(worker(ids[0], "pool-a-paka7v2imr"), worker(ids[1], "pool-a-wypldyeewy"))
		source, err := ionos.New(options)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(want, briefs(read(t, source))); d != "" {
			t.Errorf("ids %q (-want +got):\n%s", ids, d)
		}
	}
}

func TestOddDocuments(t *testing.T) {
	card := func(properties string) string {
		return `{"items": [{"id": "n1", "href": "/datacenters/d/servers/` + serverID(1) + `/nics/n1", "properties": ` + properties + `}]}`
	}
	tests := []struct{ name, nics, lan, want string }{
		{"the LAN as text", card(`{"lan": "2", "ips": ["10.0.0.1"]}`), bareLAN, "w1 10.0.0.1"},
		{"another LAN", card(`{"lan": 3, "ips": ["10.0.0.1"]}`), bareLAN, "w1 "},
		{"no LAN", card(`{"ips": ["10.0.0.1"]}`), bareLAN, "w1 10.0.0.1"},
		{"null everywhere", card(`{"lan": null, "ips": null, "ipv6Ips": null}`), bareLAN, "w1 "},
		{"no properties", card(`null`), bareLAN, "error: network card n1 has no properties"},
		{"an address that is none", card(`{"ips": ["10.0.0.1/24"]}`), bareLAN, `error: network card n1 has the address "10.0.0.1/24", which is no IP address`},
		{"addresses that are no list", card(`{"ips": "10.0.0.1"}`), bareLAN, `error: the answer has a wrong type at "items.properties.ips"`},
		{"an item without id", `{"items": [{}]}`, bareLAN, "error: item 1 of the answer has no id"},
		{"a null item", `{"items": [null]}`, bareLAN, "error: item 1 of the answer has no id"},
		{"null items", `{"items": null}`, bareLAN, `error: the answer has no "items"`},
		{"a second document", `{"items": []}{"items": []}`, bareLAN, "error: the answer is not JSON"},
		{"no nodes at all", `{"items": []}`, bareLAN, "w1 "},
		{"a LAN without properties", `{"items": []}`, `{"id": "2"}`, "error: the answer has no properties"},
		{"a failover address that is none", `{"items": []}`, `{"properties": {"ipFailover": [{"ip": "x"}]}}`, `error: read LAN 2: the failover address "x" is no IP address`},
		{"a failover entry without its address", `{"items": []}`, `{"properties": {"ipFailover": [{}]}}`, "error: read LAN 2: the answer has no properties.ipFailover.ip, so the answer is incomplete"},
		{"null in the failover group", card(`{"ips": ["10.0.0.1"]}`), `{"properties": {"ipFailover": [{"ip": null}, null]}}`, "w1 10.0.0.1"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			options := recorded(t, map[string]string{"/lans/2": test.lan, "/lans/2/nics": test.nics})
			options.Nodes = tell(worker(serverID(1), "w1"))
			source, err := ionos.New(options)
			if err != nil {
				t.Fatal(err)
			}
			if message, ok := strings.CutPrefix(test.want, "error: "); ok {
				if err := readError(t, source); !strings.Contains(err.Error(), message) {
					t.Errorf("got error %v, want %q", err, message)
				}
				return
			}
			if got := brief(read(t, source)[0]); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}
