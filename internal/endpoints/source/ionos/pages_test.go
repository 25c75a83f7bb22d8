package ionos_test

import (
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/ionos/ionostest"
)

// A server that goes between two pages moves the first of the second page to the
// end of the first, which was read before.
func TestContract02AServerThatMovesToAReadPageIsNotLost(t *testing.T) {
	api := ionostest.New(ionostest.Options{Datacenter: datacenter, Cluster: cluster, LAN: lan})
	api.Populate(1500)
	var moves atomic.Int64
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("offset") == "1000" && moves.Add(-1) == 0 {
			api.Churn(1)
		}
		api.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	reader := tell(worker(serverID(999), "before"), worker(serverID(1000), "moved"), worker(serverID(1001), "behind"))
	source := (&cloud{API: api, url: server.URL}).source(t, reader)
	read(t, source)
	moves.Store(1)
	for _, n := range read(t, source) {
		if len(n.Addresses) != 1 {
			t.Errorf("got %+v, want its address", n)
		}
	}
	if got := moves.Load(); got > 0 {
		t.Error("no server moved")
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
