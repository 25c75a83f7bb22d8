package cli_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// listed is a configuration whose inventory is the text.
func listed(t *testing.T, text string) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "inventory.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return append([]string{"INVENTORY_FILE_PATH=" + path}, replaced("SOURCE_KIND=file")...)
}

func TestInventoryPrintsTheEligibleNodes(t *testing.T) {
	t.Parallel()
	environ := listed(t, `[
  {"name": "w3", "private_ips": ["127.0.0.13", "192.168.0.13", "127.0.1.13"], "ready": true, "worker": true, "leaving": true, "zone": "a"},
  {"name": "w1", "id": "one", "private_ip": "127.0.0.11", "ready": true, "worker": true},
  {"name": "w2", "id": "two", "private_ip": "127.0.0.11", "ready": true, "worker": true},
  {"name": "elsewhere", "private_ip": "192.168.0.14", "ready": true, "worker": true},
  {"name": "sick", "private_ip": "127.0.0.15", "ready": false, "worker": true},
  {"name": "control", "private_ip": "127.0.0.16", "ready": true, "worker": false},
  {"name": "new", "private_ips": [], "ready": true, "worker": true}
]`)
	const want = `[
{"name":"w1","id":"one","private_ip":"127.0.0.11","ready":true,"worker":true},
{"name":"w3","private_ips":["127.0.0.13","127.0.1.13"],"zone":"a","ready":true,"worker":true,"leaving":true}
]
`
	code, stdout, stderr := run(t, environ, "inventory")
	if diff := cmp.Diff(want, stdout); code != 0 || diff != "" {
		t.Errorf("got exit status %d, want 0; standard output (-want +got):\n%s", code, diff)
	}
	if !strings.HasPrefix(stderr, "Not eligible: 5 of 7 nodes (") || strings.Count(stderr, "\n") != 1 {
		t.Errorf("got %q on standard error, want one line about the five others", stderr)
	}
	// It is an inventory of the same nodes.
	if code, again, stderr := run(t, listed(t, stdout), "inventory"); code != 0 || again != stdout || stderr != "" {
		t.Errorf("read again: got exit status %d, %q and\n%s\nwant the same, and nothing on standard error", code, stderr, again)
	}
}

func TestInventoryEndsWithAnErrorWhereNoNodeIsEligible(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text, want string
	}{
		"no node":          {"[]", "the source lists no node"},
		"no eligible node": {`[{"name": "w1", "private_ip": "192.168.0.1", "ready": true, "worker": true}]`, "No node is eligible. Not eligible: 1 of 1 node (OutsideSubnet=1), for example w1: "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := run(t, listed(t, c.text), "inventory")
			if code != 1 || stdout != "[\n]\n" || !strings.Contains(stderr, c.want) {
				t.Errorf("got exit status %d, %q and on standard error %q; want 1, an empty array and %q", code, stdout, stderr, c.want)
			}
		})
	}
}

// What is printed whole or not at all can be another daemon's inventory.
func TestInventoryPrintsNothingWhereTheSourceFails(t *testing.T) {
	t.Parallel()
	slow := append([]string{"INVENTORY_COMMAND=sleep", "INVENTORY_COMMAND_ARGS=60", "PATH=/usr/bin:/bin"}, replaced("SOURCE_KIND=command")...)
	for name, c := range map[string]struct {
		environ, args []string
		code          int
		want          string
	}{
		"half an inventory":   {listed(t, `[{"name": "w1"`), nil, 3, "the document is truncated"},
		"too slow a source":   {append([]string{"SOURCE_TIMEOUT=100ms"}, slow...), nil, 3, "sleep"},
		"too slow a command":  {slow, []string{"--timeout", "100ms"}, 124, "not done within --timeout"},
		"wrong configuration": {replaced("SOURCE_KIND=file"), nil, 2, "INVENTORY_FILE_PATH"},
		"an argument":         {base, []string{"w1"}, 2, "w1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, stdout, stderr := run(t, c.environ, append([]string{"inventory"}, c.args...)...)
			if code != c.code || stdout != "" || !strings.Contains(stderr, c.want) {
				t.Errorf("got exit status %d, %q and on standard error %q; want %d, nothing and %q", code, stdout, stderr, c.code, c.want)
			}
		})
	}
}

// The local cluster is not asked, and no health check runs.
func TestInventoryAsksTheSourceAlone(t *testing.T) {
	t.Parallel()
	environ := append([]string{
		"STORE_KIND=client-go", "KUBECONFIG=/nonexistent/kubeconfig", "LEADER_ELECTION=true",
		"STATIC_NODES=w1=10.0.0.11", "SECURED_SUBNET_CIDR=10.0.0.0/24", "HEALTH_CHECK_MODE=tcp",
	}, base...)
	const want = "[\n{\"name\":\"w1\",\"private_ip\":\"10.0.0.11\",\"ready\":true,\"worker\":true}\n]\n"
	if code, stdout, stderr := run(t, environ, "inventory"); code != 0 || stdout != want || stderr != "" {
		t.Errorf("got exit status %d, %q and on standard error %q; want 0 and %q", code, stdout, stderr, want)
	}
}

const twoPools = `apiVersion: endpoints.ablmnzde.github.io/v1alpha1
kind: EndpointPool
metadata: {name: blue}
spec:
  source: {static: {nodes: [{name: b1, addresses: [10.0.0.11]}, {name: b2, addresses: [10.9.0.12], zone: a}]}}
  subnets: [10.0.0.0/24]
---
apiVersion: endpoints.ablmnzde.github.io/v1alpha1
kind: EndpointPool
metadata: {name: green}
spec:
  source: {static: {nodes: [{name: g1, addresses: [10.1.0.11]}]}}
  subnets: [10.1.0.0/24]
`

// With documents it needs neither the local API server nor credentials of other pools.
func TestInventoryPrintsTheNodesOfAPool(t *testing.T) {
	t.Parallel()
	_, green, _ := strings.Cut(twoPools, "---\n")
	const node = `{"name":"g1","private_ip":"10.1.0.11","ready":true,"worker":true}`
	for name, c := range map[string]struct {
		text, command string
		code          int
		says          []string
	}{
		"by name":        {twoPools, "inventory --pool green", 0, []string{node}},
		"the only one":   {green, "inventory", 0, []string{node}},
		"not eligible":   {twoPools, "inventory --pool blue", 0, []string{`"b1"`, "Not eligible: 1 of 2 nodes (OutsideSubnet=1), for example b2: ", "spec.subnets"}},
		"one of several": {twoPools, "inventory", 2, []string{"the documents have 2 pools, and a command reads one: name it with --pool, as one of blue, green"}},
		"an unknown one": {twoPools, "inventory --pool red", 2, []string{"no valid document is the pool red; the pools are blue, green"}},
		"no pool":        {"# nothing\n", "inventory", 2, []string{"the documents have no valid pool; `config validate` says what is wrong with them"}},
		"a source that cannot be made": {poolAndBinding + "---\n" + strings.Replace(green, "static: {nodes: [{name: g1, addresses: [10.1.0.11]}]}", "ionos: {datacenterID: 8feda53f-15f0-447f-badf-ebe32dad2fc0, lanID: 2}", 1) + "  credentials: blue\n",
			"inventory --pool green", 2, []string{"pool green: the folder ", "/blue has no file token, nor username and password; put it there, or correct spec.credentials=blue"}},
		"a source that fails": {poolAndBinding, "inventory", 3, []string{"pool blue: read source: "}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			says(t, append(mounted(t, c.text), "SOURCE_TIMEOUT=300ms"), c.command, c.code, c.says...)
		})
	}
	says(t, base, "inventory --pool blue", 2, "--pool names a pool of DOCUMENTS_DIR, which is not set")
	says(t, mounted(t, poolAndBinding)[:1], "inventory", 2, "pool blue: CREDENTIALS_DIR is not set, so spec.credentials=blue names no folder; set it to the folder that holds the folder blue")
}
