package e2e_test

import (
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/ionos/ionostest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// TestTheSourceIONOSAndTheScriptYieldTheSameSlice runs the built program on the
// nodes of a real API server and on a fake IONOS Cloud API, once with the source
// ionos and once with the inventory script, which runs a real kubectl.
func TestTheSourceIONOSAndTheScriptYieldTheSameSlice(t *testing.T) {
	t.Parallel()
	netns.Require(t)
	const token = "canary-token-5e1f"
	w := newWorld(t, controlplane.Start(t, controlplane.Options{}), "client-go")
	r := newRemote(t, w.cp, w)
	api := ionostest.New(ionostest.Options{Datacenter: datacenter, LAN: 2})
	var servers []ionostest.Server
	for i, n := range w.nodes {
		id := "6f1d2c3b-0000-4000-8000-" + strings.ReplaceAll(n.Name, "worker-10-0-0-", "0000000000")
		addresses := []string{n.IP, "10.0.0.200"} // the LAN's failover address
		servers = append(servers, ionostest.Server{ID: id, Name: n.Name, NICs: []ionostest.NIC{
			{ID: "aaaaaaaa" + id[8:], LAN: 1, IPs: []string{"192.168.7.7"}},
			{ID: "bbbbbbbb" + id[8:], LAN: 2, IPs: addresses[:1+i%2]},
		}})
		// What the node says of itself is not the address on the private LAN.
		r.report(n.Name, func(node *corev1.Node) { node.Status.Addresses[1].Address = "192.168.9.9" })
		r.edit(n.Name, func(node *corev1.Node) {
			node.Labels = map[string]string{"topology.kubernetes.io/zone": "de-fra"}
		})
	}
	api.SetServers(servers...)
	api.SetFailover("10.0.0.200")
	api.Accept("Bearer " + token)
	server := httptest.NewServer(api)
	t.Cleanup(server.Close)

	path := filepath.Dir(w.cp.KubectlPath()) + string(os.PathListSeparator) + os.Getenv("PATH")
	common := []string{
		"PATH=" + path, "STORE_KIND=memory", "IONOS_API_URL=" + server.URL, "IONOS_TOKEN=" + token,
		"IONOS_DATACENTER_ID=" + datacenter, "IONOS_PRIVATE_LAN_ID=2", "SOURCE_POLL_INTERVAL=10s",
	}
	slice := func(source ...string) string {
		got := w.command(append(source, common...), "run", "--once")
		if got.code != 0 {
			t.Fatalf("%v: got status %d: %s", source, got.code, got.stderr)
		}
		if strings.Contains(got.stdout+got.stderr, token) {
			t.Errorf("%v: the token is in the output", source)
		}
		var lines []string
		for line := range strings.Lines(got.stdout) {
			// The time of the change differs between any two runs.
			if !strings.Contains(line, corev1.EndpointsLastChangeTriggerTime) {
				lines = append(lines, line)
			}
		}
		return strings.Join(lines, "")
	}
	ionos := slice("SOURCE_KIND=ionos")
	script := slice("SOURCE_KIND=command", "INVENTORY_COMMAND=python3", "INVENTORY_COMMAND_ARGS=../../scripts/render_inventory.py")
	if diff := cmp.Diff(ionos, script); diff != "" {
		t.Errorf("slice (-source ionos +script):\n%s", diff)
	}
	for _, n := range w.nodes {
		if !strings.Contains(ionos, n.IP+"\n") {
			t.Errorf("got no %s in\n%s", n.IP, ionos)
		}
	}
	if strings.Contains(ionos, "10.0.0.200") || strings.Contains(ionos, "192.168") {
		t.Errorf("got an address that is not a node's own on the private LAN in\n%s", ionos)
	}
	if got := w.command(append([]string{"SOURCE_KIND=ionos"}, common...), "check"); got.code != 0 || strings.Contains(got.stdout+got.stderr, token) ||
		!strings.Contains(got.stdout, "the Nodes have other addresses in the remote cluster than "+w.nodes[0].Name) {
		t.Errorf("check: got %+v, want status 0, no token, and what kube-proxy does with the addresses", got)
	}
}
