package cli_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/cli"
)

// cluster is a local cluster that a fake kubectl shows: one Service and at most
// one slice, which a write replaces.
type cluster struct{ dir string }

// kubectl answers the store from the files of its folder. If the file failure exists,
// it prints that text instead of a write.
const kubectl = `#!/bin/sh
cd "$(dirname "$0")" || exit 1
case "$1 $2" in
"get services") cat service ;;
"get endpointslices"*)
	case "$3" in
	--output=json) echo '{"items":['; cat slice; echo ']}' ;;
	esac ;;
"create "*|"replace "*)
	[ -s failure ] && { cat failure >&2; exit 1; }
	sed 's/"resourceVersion":"[^"]*",//; s/"metadata":{/"metadata":{"resourceVersion":"7",/' >slice
	cat slice ;;
esac
`

// newCluster is one whose Service is filled and right: three nodes are published.
func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{dir: t.TempDir()}
	c.put(t, "kubectl", kubectl)
	if err := os.Chmod(filepath.Join(c.dir, "kubectl"), 0o700); err != nil {
		t.Fatal(err)
	}
	c.put(t, "service", `{"metadata":{"name":"web","uid":"u"},"spec":{"ports":[{"port":8080,"targetPort":8080,"protocol":"TCP"}]}}`)
	c.put(t, "slice", "")
	c.nodes(t, "10.0.0.1", "10.0.0.2", "10.0.0.3")
	if code, _, stderr := run(t, c.environ(), "run", "--once"); code != 0 {
		t.Fatalf("got exit status %d while the slices were filled: %s", code, stderr)
	}
	return c
}

// put writes a file that kubectl shows.
func (c *cluster) put(t *testing.T, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// slice reads the slice as it is.
func (c *cluster) slice(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(c.dir, "slice"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// nodes writes the inventory: a ready worker for each address.
func (c *cluster) nodes(t *testing.T, addresses ...string) {
	t.Helper()
	nodes := make([]map[string]any, len(addresses))
	for i, addr := range addresses {
		nodes[i] = map[string]any{"name": "node-" + addr, "private_ip": addr, "ready": true, "worker": true}
	}
	text, err := json.Marshal(nodes)
	if err != nil {
		t.Fatal(err)
	}
	c.put(t, "inventory", string(text))
}

// environ is the configuration of a run in the cluster.
func (c *cluster) environ() []string {
	return []string{
		"SOURCE_KIND=file", "INVENTORY_FILE_PATH=" + filepath.Join(c.dir, "inventory"), "STORE_KIND=kubectl", "KUBECTL_PATH=" + filepath.Join(c.dir, "kubectl"),
		"SECURED_SUBNET_CIDR=10.0.0.0/16", "TARGET_SERVICE_NAME=web", "TARGET_PORT=8080", "HEALTH_CHECK_MODE=off", "PATH=" + os.Getenv("PATH"),
	}
}

// ending is what one run says of its end.
type ending struct {
	code    int
	outcome string
	// message is that of the log's last line, or the error.
	message string
}

// once carries out a single run and reads how it ended.
func once(t *testing.T, environ []string, args ...string) ending {
	t.Helper()
	code, _, stderr := run(t, environ, append([]string{"run", "--once"}, args...)...)
	e := ending{code: code}
	for line := range strings.Lines(stderr) {
		if said, ok := strings.CutPrefix(line, "Error: "); ok {
			e.message += said
			continue
		}
		var entry struct{ Msg, Outcome, Message string }
		if err := json.Unmarshal([]byte(line), &entry); err == nil && entry.Msg == "run ended" {
			e.outcome, e.message = entry.Outcome, e.message+entry.Message
		}
	}
	return e
}

// want compares the end with what the reference promises, and checks the parts of the
// message, in this order.
func (e ending) want(t *testing.T, outcome cli.Outcome, says ...string) {
	t.Helper()
	i := slices.IndexFunc(cli.Outcomes(), func(doc cli.OutcomeDoc) bool { return doc.Outcome == outcome })
	if status := cli.Outcomes()[i].Status; e.outcome != string(outcome) || e.code != status {
		t.Errorf("got outcome %q with exit status %d, want %s with %d; it says %s", e.outcome, e.code, outcome, status, e.message)
	}
	rest := e.message
	for _, word := range says {
		_, after, ok := strings.Cut(rest, word)
		if !ok {
			t.Errorf("%s: got no %q in %q, after what was said before", outcome, word, e.message)
			continue
		}
		rest = after
	}
}

func TestASingleRunSaysWhatItDid(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	once(t, c.environ()).want(t, cli.Unchanged, "right already", "3 endpoints ready")

	c.nodes(t, "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4", "192.168.0.1")
	before := c.slice(t)
	once(t, c.environ(), "--dry-run").want(t, cli.WouldWrite, "Dry run", "1 slice would be written", "4 endpoints ready", "Not eligible: 1 of 5 nodes (OutsideSubnet=1)")
	if c.slice(t) != before {
		t.Error("a dry run wrote")
	}
	once(t, c.environ()).want(t, cli.Written, "1 slice was written", "4 endpoints ready", "192.168.0.1 is outside SECURED_SUBNET_CIDR=10.0.0.0/16")
	if !strings.Contains(c.slice(t), "10.0.0.4") {
		t.Error("nothing was written")
	}
}

// A node of which one address passes the filter is eligible.
func TestASingleRunCountsNodesAndNotAddresses(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.put(t, "inventory", `[
		{"name": "a", "private_ips": ["10.0.0.1", "192.168.0.1"], "ready": true, "worker": true},
		{"name": "b", "private_ips": ["10.0.0.2", "192.168.0.2"], "ready": true, "worker": true},
		{"name": "c", "private_ips": ["10.0.0.3"], "ready": true, "worker": true},
		{"name": "d", "private_ips": ["192.168.0.4", "192.168.0.5"], "ready": true, "worker": true}]`)
	once(t, c.environ()).want(t, cli.Unchanged, "3 endpoints ready", "Not eligible: 1 of 4 nodes (OutsideSubnet=1), for example d:")
}

// An inventory that is rejected keeps what it leaves out, and what it adds is
// written all the same.
func TestASingleRunSaysThatItRejectsAnInventoryAndStillAdds(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.nodes(t, "10.0.0.9")
	once(t, c.environ()).want(t, cli.InventoryRejected, "rejected", "3 of 3", "MAX_REMOVAL_PERCENT=50", "1 slice was written", "4 endpoints ready", "If the removal is meant")
	if text := c.slice(t); !strings.Contains(text, "10.0.0.9") || !strings.Contains(text, "10.0.0.1") {
		t.Errorf("got %s, want the new endpoint beside those that are kept", text)
	}
	c = newCluster(t)
	c.nodes(t)
	e := once(t, c.environ())
	e.want(t, cli.InventoryRejected, "lists no node", "No slice was written", "3 endpoints ready")
	if strings.Contains(e.message, "MAX_REMOVAL_PERCENT") {
		t.Errorf("got %q, although no share makes an empty inventory right", e.message)
	}
	c.nodes(t, "192.168.0.1", "192.168.0.2")
	once(t, c.environ()).want(t, cli.InventoryRejected, "No slice was written", "3 endpoints ready", "Not eligible: 2 of 2 nodes (OutsideSubnet=2)")
}

// Failing open refuses nothing: everything present is published.
func TestASingleRunThatFailsOpenSaysThatItPublishedAll(t *testing.T) {
	t.Parallel()
	e := once(t, deaf("STATIC_NODES=w1=127.0.0.11,w2=127.0.0.12"))
	e.want(t, cli.FailingOpen, "Failing open", "HEALTH_CHECK_FAIL_OPEN=true", "1 slice was written", "2 endpoints ready", "connection refused by 127.0.0.11:1", "Find out why")
	if strings.Contains(e.message, "refused by the guard") {
		t.Errorf("got %q of a run that refused nothing", e.message)
	}
}

func TestASingleRunWithNothingReadySaysWhy(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		environ []string
		want    cli.Outcome
		says    []string
	}{
		"every node outside the subnet": {
			deaf("STATIC_NODES=w1=192.168.0.1,w2=192.168.0.2"),
			cli.NoEligibleNode,
			[]string{"Not eligible: 2 of 2 nodes (OutsideSubnet=2)", "w1: 192.168.0.1 is outside SECURED_SUBNET_CIDR=127.0.0.0/8", "no endpoint is published", "extend SECURED_SUBNET_CIDR"},
		},
		"nodes left out for two reasons": {
			deaf("STATIC_NODES=w1=192.168.0.1,w2=192.168.0.2,w3=169.254.0.1"),
			cli.NoEligibleNode, []string{"3 of 3 nodes (OutsideSubnet=2, ForbiddenAddress=1)"},
		},
		"nothing passes and it may not fail open": {
			deaf("STATIC_NODES=w1=127.0.0.11", "HEALTH_CHECK_FAIL_OPEN=false"),
			cli.NoEndpointReady, []string{"No endpoint is ready (ProbeRefused=1)", "no endpoint ready", "connection refused", "Start the workload"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			once(t, c.environ).want(t, c.want, c.says...)
		})
	}
	empty := newCluster(t)
	empty.put(t, "slice", "")
	empty.nodes(t)
	once(t, empty.environ()).want(t, cli.NoNode, "The source lists no node", "no endpoint is published", "Check what the source reads")
}

// deaf is a configuration whose checks find no listener.
func deaf(more ...string) []string {
	return append([]string{
		"SOURCE_KIND=static", "SECURED_SUBNET_CIDR=127.0.0.0/8", "TARGET_SERVICE_NAME=web", "TARGET_PORT=1", "HEALTH_CHECK_INTERVAL=1s", "HEALTH_CHECK_TIMEOUT=1s",
	}, more...)
}

func TestASingleRunThatFailsSaysWhatFailedAndWhatWasWritten(t *testing.T) {
	t.Parallel()
	const conflict = "Error from server (Conflict): the object has been modified"
	for name, c := range map[string]struct {
		file, text string
		more       []string
		want       cli.Outcome
		says       []string
	}{
		"source": {"inventory", "{", nil, cli.SourceFailed, []string{"read source", "no slice was written", "slices are unchanged"}},
		"slices that cannot be loaded": {"service", "{", nil, cli.StoreFailed, []string{
			"store: read Service default/web", "no slice was written", "slices are unchanged",
		}},
		"a write that is forbidden":            {"failure", "Error from server (Forbidden): no right", nil, cli.StoreFailed, []string{"slice web-remote", "no right", "no slice was written", "run the command again"}},
		"a slice that changes at each attempt": {"failure", conflict, nil, cli.Conflict, []string{"slice web-remote", "before each of 3 attempts", "managedFields"}},
		"a Service that is missing":            {"service", "", nil, cli.ServiceProblem, []string{"ServiceMissing", "there is no Service default/web", "create it", "No slice was written"}},
		"a Service whose ports do not fit":     {"inventory", "", []string{"SOURCE_KIND=static", "TARGET_PORT=", "TARGET_PORTS=admin=9", "STATIC_NODES=w1=10.0.0.1,w2=10.0.0.2,w3=10.0.0.3"}, cli.ServiceProblem, []string{"PortMismatch", "correct TARGET_PORTS or the Service"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			world := newCluster(t)
			world.nodes(t, "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4")
			world.put(t, c.file, c.text)
			once(t, override(world.environ(), c.more)).want(t, c.want, c.says...)
		})
	}
}

// override replaces variables of an environment.
func override(environ, by []string) []string {
	for _, entry := range by {
		name, _, _ := strings.Cut(entry, "=")
		environ = slices.DeleteFunc(environ, func(old string) bool { return strings.HasPrefix(old, name+"=") })
	}
	return append(environ, by...)
}

func TestDiffSaysWhatTheDifferencesDoNot(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	code, stdout, stderr := run(t, c.environ(), "diff")
	if code != 0 || stdout != "" || stderr != "" {
		t.Errorf("got %d, %q and %q of slices that are right, want 0 and nothing", code, stdout, stderr)
	}
	c.nodes(t)
	if code, stdout, stderr = run(t, c.environ(), "diff"); code != 0 || stdout != "" || !strings.Contains(stderr, "Inventory rejected") {
		t.Errorf("got %d, %q and %q of an empty inventory, want 0, no difference and that it is rejected", code, stdout, stderr)
	}
	code, stdout, stderr = run(t, deaf("STATIC_NODES=w1=192.168.0.1"), "diff")
	if code != 0 || stdout != "" || !strings.Contains(stderr, "OutsideSubnet=1") || !strings.Contains(stderr, "No slice would be written") && !strings.Contains(stderr, "no slice would be written") {
		t.Errorf("got %d, %q and %q of a node outside the subnet, want 0, no difference and the reason", code, stdout, stderr)
	}
}
