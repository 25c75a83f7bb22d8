package ionos_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/ionos"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/ionos/ionostest"
)

// faults are what the fake can do wrong, and what the source says of it. Those
// without a text are no less than a complete answer.
func faults() map[ionostest.Kind]string {
	return map[ionostest.Kind]string{
		ionostest.Unauthorized: "the IONOS API answers 401 Unauthorized; renew IONOS_TOKEN, which the API does not accept",
		ionostest.Forbidden:    "the IONOS API answers 403 Forbidden; correct IONOS_PRIVATE_LAN_ID=2 or IONOS_DATACENTER_ID=" + datacenter + ", one of which the API does not know, or give the user of IONOS_TOKEN the right to read it",
		ionostest.NotFound:     "the IONOS API answers 404 Not Found; correct IONOS_PRIVATE_LAN_ID=2 or IONOS_DATACENTER_ID=" + datacenter + ", one of which the API does not know",
		ionostest.RateLimited:  "the IONOS API answers 429 Too Many Requests; the contract's rate limit is used up: ask less often with SOURCE_POLL_INTERVAL",
		ionostest.Failed:       "the IONOS API answers 500 Internal Server Error",
		ionostest.BadGateway:   "the IONOS API answers 502 Bad Gateway",
		ionostest.Unavailable:  "the IONOS API answers 503 Service Unavailable",
		ionostest.NoContent:    "the IONOS API answers 204 No Content",
		ionostest.Redirect:     "the IONOS API answers 302 Found; redirects are not followed, because they would carry the token along: correct IONOS_API_URL",
		ionostest.NoItems:      `the answer has no "items", so it is no list`,
		ionostest.Null:         "the answer is empty: null",
		ionostest.Empty:        "the answer is empty",
		ionostest.Truncated:    "unexpected EOF",
		ionostest.Cut:          "the answer is not JSON, or truncated (byte ",
		ionostest.HTML:         "the answer is not JSON, or truncated (byte 1)",
		ionostest.Huge:         "the answer is larger than 33554432 bytes",
		ionostest.Dropped:      "EOF",
		ionostest.Slow:         "context deadline exceeded",
		ionostest.SecondPage:   "the IONOS API answers 500 Internal Server Error",
		ionostest.Incomplete:   "network card " + nicID(0) + " has no properties",
		ionostest.Endless:      "the answer announces more items, but the next page has no new item",

		ionostest.UnknownType: "",
		ionostest.IPsHoled:    "",
		ionostest.Shuffled:    "",
		ionostest.NoHref:      "",
		ionostest.NoLinks:     "",
		// Only the servers with their network cards are asked for these.
		ionostest.NICsNull:  "",
		ionostest.NICsEmpty: "",
		// Complete, and no address in it: the guard holds what is published.
		ionostest.IPsNull:  "",
		ionostest.IPsEmpty: "",
	}
}

// Contract 2 and 3: with any fault of the API there is the whole list or an error
// that names what is wrong, and nothing needs a restart.
func TestContract02EveryMisbehaviourIsAnErrorOrTheWholeList(t *testing.T) {
	for _, kind := range ionostest.Kinds() {
		t.Run(kind, func(t *testing.T) {
			want, ok := faults()[kind]
			if !ok {
				t.Fatal("the fault is not in the table")
			}
			servers := 12
			if kind == ionostest.SecondPage || kind == ionostest.NoLinks {
				servers = 1003 // two pages
			}
			c := newCloud(t)
			c.Populate(servers)
			source := c.source(t, nil)
			whole := read(t, source)
			c.Break(ionostest.Fault{Kind: kind, On: "/lans/2/nics"})
			if want == "" {
				got := read(t, source)
				if len(got) != servers {
					t.Errorf("got %d nodes, want %d", len(got), servers)
				}
				lost := kind == ionostest.IPsNull || kind == ionostest.IPsEmpty
				for i, n := range got {
					if lost && n.Detail != "no address on LAN 2 yet" || !lost && !slices.Equal(n.Addresses, whole[i].Addresses) {
						t.Fatalf("got %+v, want %+v", n, whole[i])
					}
				}
			} else {
				err := readFault(t, source, kind)
				if !strings.HasPrefix(err.Error(), "source ionos: list the network cards of LAN 2 of data centre "+datacenter+": ") || !strings.Contains(err.Error(), want) {
					t.Errorf("got error\n%v, want the call and\n%s", err, want)
				}
			}
			c.Heal()
			if d := cmp.Diff(briefs(whole), briefs(read(t, source))); d != "" {
				t.Errorf("after the API was repaired (-want +got):\n%s", d)
			}
		})
	}
}

func TestContract02AMisbehaviourInEveryCallFailsTheRead(t *testing.T) {
	c := newCloud(t)
	c.Populate(3)
	nodes := read(t, c.source(t, nil))
	nodes[0].ID = ""
	byName := func() *ionos.Source { return c.source(t, tell(nodes...)) }
	managed := func() *ionos.Source { return c.source(t, nil) }
	tests := []struct {
		source   func() *ionos.Source
		on, want string
	}{
		{managed, "/lans/2", "read LAN 2 of data centre " + datacenter + ": "},
		{managed, "/lans/2/nics", "list the network cards of LAN 2 of data centre " + datacenter + ": "},
		{managed, "/nodepools", "list the node pools of cluster " + cluster + ": "},
		{managed, "/nodepools/pool-1/nodes", "list the nodes of node pool pool-1: "},
		{byName, "/servers", "list the servers of data centre " + datacenter + ": "},
	}
	for _, test := range tests {
		for _, kind := range []ionostest.Kind{ionostest.Failed, ionostest.NotFound, ionostest.Null, ionostest.Empty, ionostest.Cut} {
			c.Break(ionostest.Fault{Kind: kind, On: test.on})
			err := readError(t, test.source())
			if !strings.HasPrefix(err.Error(), "source ionos: "+test.want) {
				t.Errorf("%s of %s: got error %v, want %q", kind, test.on, err, test.want)
			}
			if kind == ionostest.NotFound && !strings.Contains(err.Error(), "correct IONOS_") {
				t.Errorf("%s of %s: got error %v, want the variable to correct", kind, test.on, err)
			}
			c.Heal()
		}
	}
}

func TestContract02ServersWithoutTheirNetworkCardsAreNoAnswer(t *testing.T) {
	c := newCloud(t)
	c.Populate(3)
	source := c.source(t, tell(worker("", "worker-1")))
	want := briefs(read(t, source))
	c.Break(ionostest.Fault{Kind: ionostest.NICsNull, On: "/servers"})
	err := readError(t, source)
	if !strings.Contains(err.Error(), "server "+serverID(0)+" (worker-0) has no entities.nics.items") {
		t.Errorf("got error %v, want the server and its name", err)
	}
	c.Break(ionostest.Fault{Kind: ionostest.NICsEmpty, On: "/servers"})
	got := read(t, source)
	if want := "server " + serverID(1) + " has no network card on LAN 2; attach it, or correct IONOS_PRIVATE_LAN_ID"; got[0].Detail != want {
		t.Errorf("got detail %q, want %q", got[0].Detail, want)
	}
	c.Heal()
	if d := cmp.Diff(want, briefs(read(t, source))); d != "" {
		t.Errorf("after the API was repaired (-want +got):\n%s", d)
	}
}
