package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func diffAndExplain(t *testing.T, w *world) {
	filtered := node{Name: "elsewhere", IP: "192.168.7.7", Ready: true, Worker: true}
	w.writeInventory(append(w.nodes, filtered))
	if got := w.command(nil, "diff"); got.code != 1 || !strings.Contains(got.stdout, "+  - "+w.nodes[0].IP) {
		t.Errorf("diff before the first write: got %+v, want status 1 and the addresses", got)
	}
	if got := w.command(nil, "run", "--once", "--dry-run"); got.code != 0 || len(w.slices()) != 0 {
		t.Errorf("a dry run: got %+v and %d slices, want status 0 and none", got, len(w.slices()))
	}
	if got := w.command(nil, "run", "--once"); got.code != 0 {
		t.Errorf("run --once: got %+v, want status 0", got)
	}
	w.wantPublished(w.all())
	if got := w.command(nil, "diff"); got.code != 0 || got.stdout != "" {
		t.Errorf("diff without a difference: got %+v, want status 0 and nothing", got)
	}
	w.nodes[2].backends[0].kill()
	for _, c := range []struct {
		subject string
		code    int
		says    []string
	}{
		{w.nodes[0].Name, 0, []string{"filter", "SECURED_SUBNET_CIDR", w.nodes[0].IP, "health", "guard", "Ready"}},
		{w.nodes[0].IP, 0, []string{w.nodes[0].Name, "Ready"}},
		{"elsewhere", 1, []string{"filter", "OutsideSubnet", "192.168.7.7", "SECURED_SUBNET_CIDR=10.0.0.0/16"}},
		{w.nodes[2].Name, 1, []string{"health", "ProbeRefused", "refused", w.nodes[2].IP, "guard", "down"}},
		{"absent", 1, []string{"source", "unknown", "4 nodes"}},
	} {
		got := w.command(nil, "explain", c.subject)
		if got.code != c.code {
			t.Errorf("explain %s: got status %d, want %d: %s", c.subject, got.code, c.code, got.stderr)
		}
		for _, says := range c.says {
			if !strings.Contains(got.stdout, says) {
				t.Errorf("explain %s: got no %q in\n%s", c.subject, says, got.stdout)
			}
		}
	}
	var explained map[string]any
	if err := json.Unmarshal([]byte(w.command(nil, "explain", "absent", "-o", "json").stdout), &explained); err != nil || explained["total"] != 0.0 {
		t.Errorf("explain -o json: got %v, %v", explained, err)
	}
}

func once(t *testing.T, w *world) {
	if got := w.command(nil, "run", "--once"); got.code != 0 {
		t.Fatalf("got %+v, want status 0", got)
	}
	for name, c := range map[string]struct {
		inventory string
		changes   []string
		code      int
		says      string
	}{
		"a broken source":               {"{", nil, 3, "read source"},
		"an empty inventory":            {"[]", nil, 5, "Inventory rejected"},
		"every node outside the subnet": {marshal(t, w.nodes), []string{"SECURED_SUBNET_CIDR=192.168.0.0/24"}, 5, fmt.Sprintf("OutsideSubnet=%d", len(w.nodes))},
		"an API server away":            {marshal(t, w.nodes), []string{"KUBECONFIG=" + w.unreachable(t)}, 4, "slices are unchanged"},
		"a Service that is gone":        {marshal(t, w.nodes), []string{"TARGET_SERVICE_NAME=nothing"}, 4, "ServiceMissing"},
	} {
		w.writeFile(c.inventory)
		if got := w.command(c.changes, "run", "--once", "--timeout=30s"); got.code != c.code || !strings.Contains(got.stderr, c.says) {
			t.Errorf("%s: got %+v, want status %d and %q", name, got, c.code, c.says)
		}
	}
	w.writeInventory(w.nodes)
	silent := []string{"SOURCE_KIND=command", "INVENTORY_COMMAND=sleep", "INVENTORY_COMMAND_ARGS=60"}
	if got := w.command(silent, "run", "--once", "--timeout=1s"); got.code != 124 {
		t.Errorf("a source that hangs: got %+v, want status 124", got)
	}
	w.wantPublished(w.all())
	for _, n := range w.nodes {
		for _, b := range n.backends {
			b.kill()
		}
	}
	if got := w.command(nil, "run", "--once"); got.code != 1 || !strings.Contains(got.stderr, "Failing open") {
		t.Errorf("nothing that passes: got %+v, want status 1 and that it fails open", got)
	}
	w.wantPublished(w.all())
}

// unreachable is a kubeconfig of an API server that does not exist.
func (w *world) unreachable(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(w.env["KUBECONFIG"])
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	moved := strings.ReplaceAll(string(text), w.cp.Address().String(), freeAddress())
	if err := os.WriteFile(path, []byte(moved), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestContract34AWrongConfigurationEndsTheProgramBeforeItAsksAnybody(t *testing.T) {
	got := runProgram(t, []string{"SOURCE_KIND=file", "TARGET_PORT=http", "HEALTH_CHECK_FALLL=3"}, "run")
	if got.code != 2 || got.stdout != "" {
		t.Errorf("got %+v, want status 2 and no output", got)
	}
	for _, says := range []string{"INVENTORY_FILE_PATH", "SECURED_SUBNET_CIDR", "TARGET_SERVICE_NAME", "TARGET_PORT", "HEALTH_CHECK_FALL"} {
		if !strings.Contains(got.stderr, says) {
			t.Errorf("got no %q in\n%s", says, got.stderr)
		}
	}
}

func TestContract35ASecretIsNowhere(t *testing.T) {
	const canary = "canary-7f3a9c"
	base := []string{
		"PATH=" + os.Getenv("PATH"), "IONOS_TOKEN=" + canary, "LOG_LEVEL=debug", "SECURED_SUBNET_CIDR=127.0.0.0/8",
		"TARGET_SERVICE_NAME=web", "TARGET_PORT=8080", "HEALTH_CHECK_MODE=off",
		"SOURCE_KIND=command", "INVENTORY_COMMAND=sh",
	}
	for name, c := range map[string]struct {
		env  []string
		args []string
	}{
		"the command prints it and fails": {[]string{`INVENTORY_COMMAND_ARGS=-c 'echo "$IONOS_TOKEN" >&2; exit 1'`}, []string{"run", "--once"}},
		"the command lists it as a name":  {[]string{`INVENTORY_COMMAND_ARGS=-c 'echo "[{\"$IONOS_TOKEN\":1}]"'`}, []string{"diff"}},
		"config show":                     {[]string{"INVENTORY_COMMAND_ARGS=-c true"}, []string{"config", "show", "-o", "json"}},
		"a mistake beside it":             {[]string{"IONOS_TOKEN_FILE=/nowhere"}, []string{"config", "validate"}},
	} {
		got := runProgram(t, append(append([]string{}, base...), c.env...), c.args...)
		if strings.Contains(got.stdout+got.stderr, canary) {
			t.Errorf("%s: the secret is in the output:\n%s%s", name, got.stdout, got.stderr)
		}
	}
}

func TestTheLocalDryRunPrintsTheSlicesWheneverTheyChange(t *testing.T) {
	got := runProgram(t, []string{
		"STATIC_NODES=worker-1=127.0.0.11,worker-2=127.0.0.12", "SECURED_SUBNET_CIDR=127.0.0.0/8",
		"TARGET_SERVICE_NAME=web", "TARGET_PORT=8080", "HEALTH_CHECK_MODE=off",
	}, "run", "--once")
	if got.code != 0 {
		t.Fatalf("got %+v, want status 0", got)
	}
	for _, says := range []string{"kind: EndpointSlice", "127.0.0.11", "127.0.0.12", "kubernetes.io/service-name: web"} {
		if !strings.Contains(got.stdout, says) {
			t.Errorf("got no %q in\n%s", says, got.stdout)
		}
	}
}
