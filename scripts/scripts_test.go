// Package scripts_test runs the tests of the scripts, and the scripts as the
// daemon runs them.
package scripts_test

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/ionos/ionostest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/sourcetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	datacenter = "8feda53f-15f0-447f-badf-ebe32dad2fc0"
	lan        = 2
	canary     = "eyJhbGciOiJSUzI1NiJ9.Y2FuYXJ5LW9mLXRoZS1nby10ZXN0.c2lnbmF0dXJl"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// python returns the path of Python. With CI=true the machine must have every
// program.
func python(t testing.TB) string {
	t.Helper()
	path, err := exec.LookPath("python3")
	if err == nil {
		return path
	}
	if os.Getenv("CI") == "true" {
		t.Fatal("no python3; CI=true forbids to skip for that: run hack/install-test-packages.sh")
	}
	t.Skip("no python3; run hack/install-test-packages.sh")
	return ""
}

var testClass = regexp.MustCompile(`(?m)^class (\w+Test)\(Case\):`)

func TestRenderInventoryPassesItsOwnTests(t *testing.T) {
	path := python(t)
	const file = "render_inventory_test.py"
	source, err := os.ReadFile(file)
	must(t, err)
	classes := testClass.FindAllStringSubmatch(string(source), -1)
	if len(classes) == 0 {
		t.Fatalf("%s: got no class of tests, want some", file)
	}
	for _, class := range classes {
		t.Run(class[1], func(t *testing.T) {
			t.Parallel()
			output, err := exec.CommandContext(t.Context(), path, file, class[1]).CombinedOutput()
			if err != nil {
				t.Errorf("%v\n%s", err, output)
			}
		})
	}
}

// world is a fake cloud and a fake kubectl that lists nodes.
type world struct {
	*ionostest.API
	folder string
	url    string
	env    []string
}

func newWorld(t testing.TB) *world {
	t.Helper()
	api := ionostest.New(ionostest.Options{Datacenter: datacenter, LAN: lan})
	api.Accept("Bearer " + canary)
	server := httptest.NewServer(api)
	t.Cleanup(func() {
		api.Heal()
		server.CloseClientConnections()
		server.Close()
	})
	w := &world{API: api, folder: t.TempDir(), url: server.URL}
	w.kubectl(t, `cat "${0%/*}/nodes.json"`)
	w.env = []string{
		"PATH=" + w.folder + ":" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "SECURED_KUBECONFIG=/remote/kubeconfig",
		"SECURED_SUBNET_PREFIX=10.", "IONOS_TOKEN=" + canary, "IONOS_API_URL=" + server.URL,
		"IONOS_DATACENTER_ID=" + datacenter, fmt.Sprintf("IONOS_PRIVATE_LAN_ID=%d", lan),
	}
	return w
}

// kubectl makes kubectl do that.
func (w *world) kubectl(t testing.TB, script string) {
	t.Helper()
	must(t, os.WriteFile(filepath.Join(w.folder, "kubectl"), []byte("#!/bin/sh\n"+script+"\n"), 0o755))
}

// source runs the script as the daemon does.
func (w *world) source(t testing.TB, args ...string) *source.Command {
	t.Helper()
	python(t)
	path, err := filepath.Abs("render_inventory.py")
	must(t, err)
	return &source.Command{Path: path, Args: args, Environ: func() ([]string, error) { return w.env, nil }}
}

// put makes both sides whole and lets them hold these nodes.
func (w *world) put(t testing.TB, nodes []inventory.Node) {
	t.Helper()
	w.Heal()
	w.kubectl(t, `cat "${0%/*}/nodes.json"`)
	objects := []any{}
	var servers []ionostest.Server
	for i, node := range nodes {
		nic := ionostest.NIC{ID: fmt.Sprintf("0c0c0c0c-0000-4000-8000-%012d", i), LAN: lan}
		for _, addr := range node.Addresses {
			nic.IPs = append(nic.IPs, addr.String())
		}
		servers = append(servers, ionostest.Server{ID: node.ID, Name: "server-" + node.Name, NICs: []ionostest.NIC{nic}})
		objects = append(objects, object(node))
	}
	w.SetServers(servers...)
	data, err := json.Marshal(map[string]any{"kind": "List", "items": objects})
	must(t, err)
	must(t, os.WriteFile(filepath.Join(w.folder, "nodes.json"), data, 0o600))
}

// object is the node as kubectl prints it.
func object(node inventory.Node) any {
	metadata := map[string]any{"name": node.Name, "labels": map[string]string{"topology.kubernetes.io/zone": node.Zone}}
	if !node.Worker {
		metadata["labels"] = map[string]string{"node-role.kubernetes.io/control-plane": ""}
	}
	if node.Leaving {
		metadata["deletionTimestamp"] = "2026-11-20T12:00:00Z"
	}
	ready := map[bool]string{true: "True", false: "Unknown"}[node.Ready]
	return map[string]any{
		"metadata": metadata, "spec": map[string]any{"providerID": "ionos://" + node.ID},
		"status": map[string]any{"conditions": []any{map[string]string{"type": "Ready", "status": ready}}},
	}
}

func (w *world) breaks(t *testing.T) map[string]func() {
	all := map[string]func(){
		"kubectl fails after a whole list": func() { w.kubectl(t, `cat "${0%/*}/nodes.json"; exit 1`) },
		"kubectl prints half a list":       func() { w.kubectl(t, `head -c 100 "${0%/*}/nodes.json"`) },
		"kubectl prints nothing":           func() { w.kubectl(t, "exit 0") },
		"a list without end":               func() { w.Break(ionostest.Fault{Kind: ionostest.Endless, On: "/nics"}) },
		"no items of the network cards":    func() { w.Break(ionostest.Fault{Kind: ionostest.NoItems, On: "/nics"}) },
	}
	for _, kind := range []ionostest.Kind{
		ionostest.Unauthorized, ionostest.Forbidden, ionostest.NotFound, ionostest.RateLimited, ionostest.Failed,
		ionostest.BadGateway, ionostest.Unavailable, ionostest.Null, ionostest.Empty, ionostest.NoContent,
		ionostest.Truncated, ionostest.Cut, ionostest.HTML, ionostest.Huge, ionostest.Redirect, ionostest.Dropped,
	} {
		all[fmt.Sprint(kind)] = func() { w.Break(ionostest.Fault{Kind: kind}) }
	}
	return all
}

func TestConformanceOfRenderInventory(t *testing.T) {
	sourcetest.Run(t, sourcetest.Options{
		Start: func(t *testing.T, nodes []inventory.Node) sourcetest.Harness {
			w := newWorld(t)
			w.put(t, nodes)
			return sourcetest.Harness{
				Source: w.source(t),
				Put:    func(nodes []inventory.Node) { w.put(t, nodes) },
				Breaks: w.breaks(t),
				Stall:  func() { w.Break(ionostest.Fault{Kind: ionostest.Slow}) },
			}
		},
		Knows: func(node inventory.Node) (inventory.Node, bool) {
			if len(node.Addresses) > 0 && node.Addresses[0].Is6() {
				node.Addresses = nil
			}
			node.Addresses = node.Addresses[:min(1, len(node.Addresses))] // what SECURED_SUBNET_PREFIX lets pass
			return node, node.Ready && node.Worker
		},
	})
}

func TestRenderInventoryListsEveryNodeOnDemand(t *testing.T) {
	w := newWorld(t)
	w.put(t, []inventory.Node{
		{ID: "6f1d2c3b-0000-4000-8000-000000000001", Name: "silent", Worker: true},
		{ID: "6f1d2c3b-0000-4000-8000-000000000002", Name: "control", Ready: true},
	})
	nodes, err := w.source(t, "--all").Read(t.Context())
	must(t, err)
	if len(nodes) != 2 || nodes[0].Worker || !nodes[0].Ready || !nodes[1].Worker || nodes[1].Ready {
		t.Errorf("got %+v, want control, no worker, and silent, not ready", nodes)
	}
}

func TestContract35RenderInventoryKeepsTheToken(t *testing.T) {
	w := newWorld(t)
	// Add to the faults, with answers that repeat the credentials, a kubectl that
	// prints all it knows.
	breaks := w.breaks(t)
	breaks["kubectl tells its environment"] = func() { w.kubectl(t, "env >&2; exit 1") }
	for name, breakIt := range breaks {
		t.Run(name, func(t *testing.T) {
			w.put(t, []inventory.Node{{ID: "6f1d2c3b-0000-4000-8000-000000000001", Name: "w1", Ready: true, Worker: true}})
			breakIt()
			_, err := w.source(t).Read(t.Context())
			if err == nil || !strings.Contains(err.Error(), "render_inventory: ") {
				t.Fatalf("got %v, want an error in the script's words", err)
			}
			for i := range len(canary) - 8 {
				if part := canary[i : i+8]; strings.Contains(err.Error(), part) {
					t.Fatalf("got %v, want no part of the token such as %s", err, part)
				}
			}
		})
	}
}
