package e2e_test

import (
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/ionos/ionostest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// datacenter is that of the fake IONOS Cloud API.
const datacenter = "8feda53f-15f0-447f-badf-ebe32dad2fc0"

// TestContract236ARestoredRemoteAPIServerTakesNothingAway: its backup knows one Pod of three, and
// versions of objects are given a second time.
func TestContract236ARestoredRemoteAPIServerTakesNothingAway(t *testing.T) {
	t.Parallel()
	netns.Require(t)
	r := restorable(t)
	s := newSurfaces(r.start())
	all := r.all()
	r.wantPublished(all)
	isTold(t, r, s, "the remote cluster is restored from before two of its Pods", "PlacementRejected", all, r.cp.Restore)
	isOver(t, r, s, all, func() { r.place(0, 1, 2) })
}

// TestContract236TheCloudAPIRefusesWhileTheRemoteClusterIsRestored: the nodes come from the Cloud
// API, which answers 429, and the placement from the API server.
func TestContract236TheCloudAPIRefusesWhileTheRemoteClusterIsRestored(t *testing.T) {
	t.Parallel()
	netns.Require(t)
	r := restorable(t)
	cloud := ionostest.New(ionostest.Options{Datacenter: datacenter, LAN: 2})
	cloud.SetServers(r.servers()...)
	server := httptest.NewServer(cloud)
	t.Cleanup(server.Close)
	r.env["SOURCE_KIND"], r.env["SOURCE_POLL_INTERVAL"] = "ionos", "10s"
	r.env["IONOS_API_URL"], r.env["IONOS_TOKEN"] = server.URL, "token"
	r.env["IONOS_DATACENTER_ID"], r.env["IONOS_PRIVATE_LAN_ID"] = datacenter, "2"
	s := newSurfaces(r.start())
	all := r.all()
	r.wantPublished(all)
	inTime(t, "that the Cloud API refuses", func() {
		cloud.Break(ionostest.Fault{Kind: ionostest.RateLimited, RetryAfter: "20"})
		r.awaitEvent("SourceUnavailable", 1)
	})
	isTold(t, r, s, "the remote cluster is restored meanwhile", "PlacementRejected", all, r.cp.Restore)
	cloud.Heal()
	isOver(t, r, s, all, func() { r.place(0, 1, 2) })
	r.awaitEvent("SourceRecovered", 1)
	r.wantPublished(all)
}

// restorable is a remote cluster whose backup has the Service far/web with one Pod. Two more came
// after it, and so many changes that all versions are higher.
func restorable(t *testing.T) *remote {
	t.Helper()
	local := controlplane.Start(t, controlplane.Options{})
	r := newRemote(t, controlplane.Start(t, controlplane.Options{Audit: true}), newWorld(t, local, "client-go"))
	r.makeFar()
	r.place(0)
	r.cp.Backup()
	for range 5 {
		r.place(0, 1)
		r.place(0, 1, 2)
	}
	r.env["REMOTE_SERVICE"], r.env["DRAIN_PERIOD"] = "far/web", "5s"
	return r
}

// servers are those of the nodes, as the Cloud API has them.
func (r *remote) servers() (all []ionostest.Server) {
	for _, n := range r.nodes {
		id := "6f1d2c3b-0000-4000-8000-" + strings.ReplaceAll(n.Name, "worker-10-0-0-", "0000000000")
		all = append(all, ionostest.Server{ID: id, Name: n.Name, NICs: []ionostest.NIC{{ID: "bbbbbbbb" + id[8:], LAN: 2, IPs: []string{n.IP}}}})
	}
	return all
}
