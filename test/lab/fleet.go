//go:build lab

package lab

import (
	"fmt"
	"maps"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/envoy"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// viewer is the user of all servers of fleets at the local API server.
const viewer = "endpoint-views"

// xdsPort is where the server of a fleet serves xDS.
const xdsPort = 18000

// Fleet is the built endpoint-views and an Envoy that it feeds. Each has a machine of its
// own, and proves to the other by a certificate who it is.
type Fleet struct {
	// Server is endpoint-views.
	Server *Daemon
	Envoy  *envoy.Envoy

	t       testing.TB
	world   *World
	name    string // NAMESPACE/NAME
	file    string // with the listeners
	address netip.Addr
	// listeners are those of the file.
	listeners []string
}

// Fleet starts endpoint-views with some variables, and an Envoy that has no listener yet.
func (w *World) Fleet(t testing.TB, env map[string]string) *Fleet {
	t.Helper()
	n := numbers.Add(1)
	name := fmt.Sprintf("envoy-%d", n)
	f := &Fleet{t: t, world: w, name: "edge/" + name, file: filepath.Join(t.TempDir(), "fleets.yaml")}
	f.list()
	signs := newAuthority(t)
	server := f.serve(signs, env)

	var onMgmt netip.Addr
	onMgmt, f.address = probers(n)
	netns.Add(t, name)
	leg(t, name, mgmt, onMgmt)
	leg(t, name, data, f.address)
	w.answer(t, name)
	bootstrap := f.bootstrap(server, signs.client("spiffe://cluster.local/ns/edge/envoy/"+name))
	f.Envoy = envoy.Start(t, envoy.Options{Namespace: name, Bootstrap: bootstrap})
	return f
}

// serve starts the server on a machine of its own and returns the address of its xDS.
func (f *Fleet) serve(signs *authority, env map[string]string) netip.AddrPort {
	f.t.Helper()
	n := numbers.Add(1)
	name := fmt.Sprintf("views-%d", n)
	address, _ := probers(n)
	netns.Add(f.t, name)
	leg(f.t, name, mgmt, address)
	at, folder, identities := netip.AddrPortFrom(address, xdsPort), signs.server(address), filepath.Join(f.t.TempDir(), "identities.yaml")
	if err := os.WriteFile(identities, []byte("identities: []\n"), 0o600); err != nil {
		f.t.Fatal(err)
	}
	f.Server = &Daemon{
		Program: built.Views(f.t), t: f.t, name: name, namespace: name, args: []string{"serve"},
		Env: map[string]string{
			"KUBECONFIG": f.world.grantViews(f.t), "METRICS_ADDRESS": "127.0.0.1:8083",
			"XDS_ADDRESS": at.String(), "XDS_FLEETS_FILE": f.file,
			"VIEWS_TLS_CERT_FILE": filepath.Join(folder, "tls.crt"), "VIEWS_TLS_KEY_FILE": filepath.Join(folder, "tls.key"),
			"VIEWS_CLIENT_CA_FILE": filepath.Join(folder, "ca.crt"), "VIEWS_IDENTITIES_FILE": identities,
		},
	}
	maps.Copy(f.Server.Env, env)
	f.Server.Start()
	f.Server.AwaitReady()
	return at
}

// grantViews gives the servers of fleets their rights and returns their kubeconfig.
func (w *World) grantViews(t testing.TB) string {
	t.Helper()
	return mayWatch(t, w.Local, w.local, viewer, schema.GroupResource{Resource: "services"}, schema.GroupResource{Group: "discovery.k8s.io", Resource: "endpointslices"})
}

// bootstrap is what endpoint-views prints for an Envoy of the fleet.
func (f *Fleet) bootstrap(server netip.AddrPort, certificates string) string {
	f.t.Helper()
	out := f.t.TempDir()
	command := exec.Command(f.Server.Program, "bootstrap", f.name, "--server", server.String(), "--node", "envoy-1", "--certificates", certificates, "--out", out)
	if output, err := command.CombinedOutput(); err != nil {
		f.t.Fatalf("%v: %v\n%s", command, err, output)
	}
	text, err := os.ReadFile(filepath.Join(out, "envoy.yaml"))
	if err != nil {
		f.t.Fatal(err)
	}
	return string(text)
}

// list writes the file of the listeners. The server never reads half of it.
func (f *Fleet) list() {
	f.t.Helper()
	text := fmt.Sprintf("fleets:\n- {name: %s, listeners: [%s]}\n", f.name, strings.Join(f.listeners, ", "))
	err := os.WriteFile(f.file+".new", []byte(text), 0o600)
	if err == nil {
		err = os.Rename(f.file+".new", f.file)
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

// Before gives the Envoy a port for a target, and returns the target as the clients of
// that port see it. Requests to the target itself still go through kube-proxy.
func (f *Fleet) Before(x *Target) *Target {
	x.t.Helper()
	x.annotate(map[string]string{group + "/views": "true", group + "/fleets": f.name})
	port := uint16(Port + len(f.listeners))
	f.listeners = append(f.listeners, fmt.Sprintf("{port: %d, service: %s/web}", port, x.namespace))
	f.list()
	return x.at(netip.AddrPortFrom(f.address, port))
}

// RefusedBy makes workers reset what comes from the Envoy, as a firewall between them does.
// Their health checks pass. [Worker.Hear] ends it.
func (f *Fleet) RefusedBy(workers ...*Worker) {
	f.t.Helper()
	for _, w := range workers {
		nft(f.t, w.Name, refusing(f.address))
	}
}

// Count is a counter or gauge of the Envoy for the endpoints of a target, such as
// "upstream_rq_retry".
func (f *Fleet) Count(x *Target, name string) int64 {
	x.t.Helper()
	return f.Envoy.Stat("cluster." + clusterOf(x) + "." + name)
}

// clusterOf is the name of a target's cluster in metrics and in the access log.
func clusterOf(x *Target) string { return "web/" + x.namespace + "/80" }
