//go:build lab

package lab

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/ionos/ionostest"
)

// Sources are every SOURCE_KIND.
var Sources = []string{"static", "file", "command", "kubernetes", "ionos"}

// lister gives the daemon the list of nodes, in the way of one source.
type lister interface {
	// list makes these the nodes. Workers that leave are marked so.
	list(workers []*Worker)
}

// useSource makes the source and adds its settings to the environment.
func (x *Target) useSource(kind string) {
	x.t.Helper()
	settings := map[string]string{}
	switch kind {
	case "static":
		x.source = staticNodes{x}
	case "", "file":
		kind = "file"
		path := filepath.Join(x.t.TempDir(), "inventory.json")
		x.source = file{x.t, path}
		settings["INVENTORY_FILE_PATH"] = path
	case "kubernetes":
		x.source = newNodes(x.t, x.world, x.Name)
		settings["SECURED_KUBECONFIG"] = x.world.grantNodes(x.t)
	case "ionos":
		x.Cloud = newCloud()
		settings = x.serveCloud()
		settings["IONOS_CLUSTER_ID"] = cluster
		x.source = machines{x.Cloud}
	case "command":
		script, err := filepath.Abs("../../scripts/render_inventory.py")
		if err != nil {
			x.t.Fatal(err)
		}
		x.Cloud = newCloud()
		settings = x.serveCloud()
		maps.Copy(settings, map[string]string{
			"INVENTORY_COMMAND": script, "INVENTORY_COMMAND_ARGS": "--all --kubectl " + x.world.Local.KubectlPath(),
			"SECURED_KUBECONFIG": x.world.grantNodes(x.t), "SECURED_SUBNET_PREFIX": "10.77.",
		})
		x.source = both{machines{x.Cloud}, newNodes(x.t, x.world, x.Name)}
	default:
		x.t.Fatalf("no source %q", kind)
	}
	settings["SOURCE_KIND"] = kind
	if _, remote := settings["SECURED_KUBECONFIG"]; remote {
		settings["SECURED_NODE_SELECTOR"] = targetLabel + "=" + x.Name
	}
	maps.Copy(x.env, settings)
}

// staticNodes is STATIC_NODES: it changes by a restart, and cannot announce anything.
type staticNodes struct{ x *Target }

func (s staticNodes) list(workers []*Worker) {
	s.x.t.Helper()
	var staying []string
	for _, w := range workers {
		if !w.leaving {
			staying = append(staying, w.Name+"="+w.Address.String())
		}
	}
	d, nodes := s.x.Daemon, strings.Join(staying, ",")
	if d.Env["STATIC_NODES"] == nodes {
		return // the one that leaves was not listed before
	}
	d.Env["STATIC_NODES"] = nodes
	if d.process != nil {
		d.Stop()
		d.Start()
	}
}

// file is the inventory as a file, replaced by a rename.
type file struct {
	t    testing.TB
	path string
}

func (s file) list(workers []*Worker) {
	s.t.Helper()
	type node struct {
		Name    string `json:"name"`
		ID      string `json:"id"`
		IP      string `json:"private_ip"`
		Ready   bool   `json:"ready"`
		Worker  bool   `json:"worker"`
		Leaving bool   `json:"leaving,omitempty"`
	}
	nodes := []node{}
	for _, w := range workers {
		nodes = append(nodes, node{w.Name, w.ID, w.Address.String(), true, true, w.leaving})
	}
	text, err := json.Marshal(nodes)
	if err != nil {
		s.t.Fatal(err)
	}
	if err := os.WriteFile(s.path+".next", text, 0o600); err != nil {
		s.t.Fatal(err)
	}
	if err := os.Rename(s.path+".next", s.path); err != nil {
		s.t.Fatal(err)
	}
}

// The ids that the fake of the IONOS API knows.
const (
	datacenter = "8feda53f-15f0-447f-badf-ebe32dad2fc0"
	cluster    = "2b7ca7c7-6c73-4a9c-8d8b-0f7f4b1f5c11"
	lan        = 2
)

func newCloud() *ionostest.API {
	return ionostest.New(ionostest.Options{Datacenter: datacenter, Cluster: cluster, LAN: lan})
}

// serveCloud listens where the daemon can reach it.
func (x *Target) serveCloud() map[string]string {
	x.t.Helper()
	address := listen(x.t, netip.MustParseAddr(gateway), &http.Server{Handler: x.Cloud})
	return map[string]string{
		"IONOS_API_URL": "http://" + address, "IONOS_TOKEN": "any",
		"IONOS_DATACENTER_ID": datacenter, "IONOS_PRIVATE_LAN_ID": fmt.Sprint(lan),
	}
}

// machines are the servers of the cloud, each a node of its managed cluster.
type machines struct{ cloud *ionostest.API }

func (s machines) list(workers []*Worker) {
	var servers []ionostest.Server
	var nodes []ionostest.Node
	for _, w := range workers {
		state := "READY"
		if w.leaving {
			state = "TERMINATING"
		}
		servers = append(servers, ionostest.Server{ID: w.ID, Name: w.Name, NICs: []ionostest.NIC{{
			ID: strings.Replace(w.ID, "6f1d2c3b", "0c0c0c0c", 1), LAN: lan, IPs: []string{w.Address.String()},
		}}})
		nodes = append(nodes, ionostest.Node{ID: w.ID, Name: w.Name, State: state})
	}
	s.cloud.SetServers(servers...)
	s.cloud.SetNodes(nodes...)
}

// both lists in two ways, for a source that asks two.
type both [2]lister

func (s both) list(workers []*Worker) {
	for _, one := range s {
		one.list(workers)
	}
}
