package ionos_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/ionos/ionostest"
)

// A server that goes between two pages moves the first of the second page to the
// end of the first, which was read before: also at the first read of all, where nodes
// are found by name, and once more while the list is read again.
func TestContract02AServerThatMovesToAReadPageIsNotLost(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		first, named bool
		times        int64
	}{{times: 1}, {first: true, times: 1}, {first: true, named: true, times: 1}, {named: true, times: 2}} {
		t.Run(fmt.Sprintf("%+v", c), func(t *testing.T) {
			t.Parallel()
			serverMoves(t, c.first, c.named, c.times)
		})
	}
}

// Where the second look fails, the read does.
func TestContract02ASecondLookThatFailsIsNoRead(t *testing.T) {
	t.Parallel()
	c := newCloud(t)
	c.Populate(7)
	var lists atomic.Int64
	c.server.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/servers") && lists.Add(1) == 3 {
			c.Break(ionostest.Fault{Kind: ionostest.Failed})
		}
		query := r.URL.Query()
		query.Set("limit", "4")
		r.URL.RawQuery = query.Encode()
		c.ServeHTTP(w, r)
	})
	_ = readError(t, c.source(t, tell(worker("", "gone"))))
	if got := lists.Load(); got != 3 {
		t.Errorf("got %d pages, want that the third failed", got)
	}
}

// Nor is the second network card of a server whose first one is found.
func TestContract02ANetworkCardThatMovesToAReadPageIsNotLost(t *testing.T) {
	t.Parallel()
	c, moves := movingCloud(t)
	var servers []ionostest.Server
	for n := range 7 {
		servers = append(servers, machine(n, fmt.Sprint("worker-", n), fmt.Sprint("10.0.0.", n)))
	}
	servers[3].NICs = append(servers[3].NICs, ionostest.NIC{ID: nicID(30), LAN: lan, IPs: []string{"10.0.1.3"}})
	c.SetServers(servers...)
	source := c.source(t, tell(worker(serverID(3), "worker-3"), worker(serverID(4), "worker-4")))
	for _, times := range []int64{0, 1} {
		moves.Store(times)
		if got := read(t, source)[0].Addresses; len(got) != 2 || moves.Load() > 0 {
			t.Errorf("got the addresses %v, and %d servers have not moved; want both addresses", got, moves.Load())
		}
	}
}

// movingCloud has seven servers, and pages of four items. While a second page is asked for, the
// oldest server goes, as often as is said.
func movingCloud(t *testing.T) (*cloud, *atomic.Int64) {
	t.Helper()
	api := ionostest.New(ionostest.Options{Datacenter: datacenter, Cluster: cluster, LAN: lan})
	api.Populate(7)
	moves := new(atomic.Int64)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		query := r.URL.Query()
		if query.Get("offset") == "4" && moves.Add(-1) >= 0 {
			api.Churn(1)
		}
		query.Set("limit", "4") // as an API that caps its pages
		r.URL.RawQuery = query.Encode()
		api.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	return &cloud{API: api, url: server.URL}, moves
}

func serverMoves(t *testing.T, first, named bool, times int64) {
	c, moves := movingCloud(t)
	var nodes []inventory.Node
	for n := 3; n <= 6; n++ {
		id := serverID(n)
		if named {
			id = ""
		}
		nodes = append(nodes, worker(id, fmt.Sprint("worker-", n)))
	}
	source := c.source(t, tell(nodes...))
	if !first {
		read(t, source)
	}
	moves.Store(times)
	for _, n := range read(t, source) {
		if len(n.Addresses) != 1 {
			t.Errorf("got %+v, want its address", n)
		}
	}
	if got := moves.Load(); got > 0 {
		t.Errorf("%d times no server moved", got)
	}
}

func TestTheNumberOfServersOnAPageDoesNotMatter(t *testing.T) {
	for _, kind := range []ionostest.Kind{"", ionostest.NoLinks} {
		for _, count := range []int{1, 999, 1000, 1001, 2000} {
			c := newCloud(t)
			c.Populate(count)
			c.Break(ionostest.Fault{Kind: kind})
			source := c.source(t, tell(worker(serverID(0), "first"), worker(serverID(count-1), "last")))
			for _, n := range read(t, source) {
				if len(n.Addresses) != 1 {
					t.Errorf("%d servers, %q: got %+v, want its address", count, kind, n)
				}
			}
		}
	}
}
