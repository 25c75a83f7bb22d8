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
