package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"sigs.k8s.io/yaml"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/cli"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// base is a configuration that needs nothing outside of the process.
var base = []string{
	"SOURCE_KIND=static", "STATIC_NODES=w1=127.0.0.11,w2=127.0.0.12,elsewhere=192.168.1.1",
	"SECURED_SUBNET_CIDR=127.0.0.0/8", "TARGET_SERVICE_NAME=web", "TARGET_PORT=8080", "HEALTH_CHECK_MODE=off",
	"ADMIN_ADDRESS=127.0.0.1:0", "METRICS_ADDRESS=127.0.0.1:0",
}

// buffer may be written and read at the same time.
type buffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}

// run carries out a command line.
func run(t *testing.T, environ []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, errs buffer
	p := cli.Program{Version: "v1.2.3", Environ: environ, Stdout: &out, Stderr: &errs}
	code = p.Run(t.Context(), args)
	return code, out.String(), errs.String()
}

func TestEachExitStatusMeansWhatTheHelpSays(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		environ []string
		args    []string
		want    int
	}{
		{"done", base, []string{"run", "--once"}, 0},
		{"differences", base, []string{"diff"}, 1},
		{"ready", base, []string{"explain", "w1"}, 0},
		{"not ready", base, []string{"explain", "elsewhere"}, 1},
		{"unknown node", base, []string{"explain", "absent"}, 1},
		{"a node that cannot be published", base, []string{"check"}, 1},
		{"a good source", append([]string{"STATIC_NODES=w1=127.0.0.11"}, append([]string{base[0]}, base[2:]...)...), []string{"check"}, 0},
		{"a source that cannot be read", append([]string{"INVENTORY_FILE_PATH=/nonexistent/inventory.json"}, replaced("SOURCE_KIND=file")...), []string{"check"}, 1},
		{"unknown flag", base, []string{"run", "--nonsense"}, 2},
		{"unknown command", base, []string{"nonsense"}, 2},
		{"missing argument", base, []string{"explain"}, 2},
		{"unknown output", base, []string{"config", "show", "-o", "xml"}, 2},
		{"wrong configuration", nil, []string{"run"}, 2},
		{"valid configuration", base, []string{"config", "validate"}, 0},
		{"source", append([]string{"INVENTORY_FILE_PATH=/nonexistent/inventory.json"}, replaced("SOURCE_KIND=file")...), []string{"run", "--once"}, 3},
		{"remote cluster", append([]string{"SECURED_KUBECONFIG=/nonexistent/kubeconfig"}, replaced("SOURCE_KIND=kubernetes")...), []string{"run", "--once"}, 3},
		{"store", append([]string{"STORE_KIND=client-go", "KUBECONFIG=/nonexistent/kubeconfig"}, base...), []string{"run", "--once"}, 2},
		{"time-out", append([]string{"INVENTORY_COMMAND=sleep", "INVENTORY_COMMAND_ARGS=60", "PATH=/usr/bin:/bin"}, replaced("SOURCE_KIND=command")...), []string{"run", "--once", "--timeout", "100ms"}, 124},
		{"documentation", nil, []string{"config", "docs"}, 0},
		{"completion", nil, []string{"completion", "bash"}, 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			if code, stdout, stderr := run(t, test.environ, test.args...); code != test.want {
				t.Errorf("got exit status %d, want %d; stdout:\n%s\nstderr:\n%s", code, test.want, stdout, stderr)
			}
		})
	}
}

// replaced is the base with another first variable.
func replaced(first string) []string { return append([]string{first}, base[1:]...) }

func TestDataGoesToStdoutAndMessagesToStderr(t *testing.T) {
	t.Parallel()
	_, stdout, stderr := run(t, base, "run", "--once")
	if !strings.HasPrefix(strings.TrimLeft(stdout, "-\n"), "#") && !strings.Contains(stdout, "kind: EndpointSlice") {
		t.Errorf("stdout: got no slice:\n%s", stdout)
	}
	for line := range strings.Lines(stderr) {
		if !json.Valid([]byte(line)) {
			t.Errorf("stderr: got a line that is no log line: %s", line)
		}
	}
	_, stdout, _ = run(t, base, "diff", "-o", "json")
	var differences struct{ Writes []map[string]any }
	if err := json.Unmarshal([]byte(stdout), &differences); err != nil || len(differences.Writes) != 1 {
		t.Errorf("diff -o json: got %v, %v, want one difference", differences, err)
	}
	_, stdout, _ = run(t, nil, "version", "-o", "json")
	if !strings.Contains(stdout, `"version": "v1.2.3"`) {
		t.Errorf("version: got %s", stdout)
	}
}

// Contract 218: but for the inventory, whose form is that of the original.
func TestContract218EachDocumentSaysItsVersion(t *testing.T) {
	t.Parallel()
	many := newShops(t).environ(t)
	for line, environ := range map[string][]string{
		"status": base, "explain 10.0.0.11": base, "diff": base, "check": base, "check --short": base, "config show": base, "version": nil,
		"status -A": many, "explain 10.0.0.11 -A": many, "diff -A": many, "status -n shop web": many,
	} {
		for _, format := range []string{"json", "yaml"} {
			_, stdout, stderr := run(t, environ, append(strings.Fields(line), "-o", format)...)
			var document struct {
				APIVersion string `json:"apiVersion"`
			}
			if err := yaml.Unmarshal([]byte(stdout), &document); err != nil || document.APIVersion != report.APIVersion {
				t.Errorf("%s -o %s: got %v and no apiVersion %s in %s%s", line, format, err, report.APIVersion, stdout, stderr)
			}
		}
	}
}

func TestAWrongCommandLineIsAnsweredWithTheRightOne(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"stauts":        "did you mean status?",
		"config shwo":   "did you mean show?",
		"nonsense":      "--help` lists the commands",
		"explain":       "give the name or id of a node, or an address, for example `explain worker-1`",
		"explain w1 w2": "give one node or address at a time",
	} {
		if code, stdout, stderr := run(t, base, strings.Fields(line)...); code != 2 || stdout != "" || !strings.Contains(stderr, want) {
			t.Errorf("%s: got exit status %d and %q, want 2 and %q\n%s", line, code, stderr, want, stdout)
		}
	}
	_, want, _ := run(t, nil, "version")
	if code, stdout, stderr := run(t, nil, "--version"); code != 0 || stdout != want || stderr != "" {
		t.Errorf("--version: got exit status %d, %q and %q on stderr; want 0 and %q", code, stdout, stderr, want)
	}
}

func TestContract189AnErrorMovesNoCursor(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "asks for\u202e no\x1b[2J pool\nat all", http.StatusNotFound)
	}))
	t.Cleanup(server.Close)
	code, _, stderr := run(t, append(mounted(t, poolAndBinding), "ADMIN_ADDRESS="+server.Listener.Addr().String()), "status", "-n", "shop", "web")
	if code == 0 || !strings.Contains(stderr, "pool\nat all\n") || strings.ContainsAny(stderr, "\x1b\u202e") {
		t.Errorf("got %d %q, want an error of two lines, and nothing that a terminal obeys", code, stderr)
	}
	if _, _, stderr := run(t, []string{"DOCUMENTS_DIR=/no\u202ewhere"}, "diff"); !strings.Contains(stderr, "where") || strings.Contains(stderr, "\u202e") {
		t.Errorf("got %q, want that the folder is not there, and nothing that a terminal hides", stderr)
	}
}

func TestDiffSaysThatAStoreInMemoryHasNothingToCompareWith(t *testing.T) {
	t.Parallel()
	if _, _, stderr := run(t, base, "diff"); !strings.HasPrefix(stderr, "STORE_KIND=memory has no slices to compare with") || !strings.Contains(stderr, "set STORE_KIND=client-go") {
		t.Errorf("got %q on stderr, want why every slice is shown as created", stderr)
	}
}

func TestContract08ExplainNamesTheRuleAndTheValue(t *testing.T) {
	t.Parallel()
	_, stdout, _ := run(t, base, "explain", "192.168.1.1")
	for _, want := range []string{"elsewhere", "filter", "OutsideSubnet", "192.168.1.1 is outside SECURED_SUBNET_CIDR=127.0.0.0/8"} {
		if !strings.Contains(stdout, want) {
			t.Errorf("got no %q in\n%s", want, stdout)
		}
	}
}

func TestExplainClaimsNoCheckWhereThereIsNone(t *testing.T) {
	t.Parallel()
	_, stdout, _ := run(t, base, "explain", "w1")
	if want := "published ready without a check, because HEALTH_CHECK_MODE=off"; !strings.Contains(stdout, want) || strings.Contains(stdout, "passing its health check") {
		t.Errorf("got no %q, or a check that passed, in\n%s", want, stdout)
	}
}

func TestContract30TheDaemonRunsUntilItIsToldToStop(t *testing.T) {
	t.Parallel()
	var out, errs buffer
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan int, 1)
	p := cli.Program{Environ: base, Stdout: &out, Stderr: &errs}
	go func() { done <- p.Run(ctx, nil) }()
	deadline := time.After(time.Minute)
	for !strings.Contains(out.String(), "127.0.0.12") {
		select {
		case <-deadline:
			t.Fatalf("no slice was printed; log:\n%s", errs.String())
		case code := <-done:
			t.Fatalf("ended by itself with %d; log:\n%s", code, errs.String())
		case <-time.After(10 * time.Millisecond):
		}
	}
	cancel()
	if code := <-done; code != 0 {
		t.Errorf("got exit status %d, want 0", code)
	}
	if !strings.Contains(errs.String(), "stopped, the slices are left as they are") {
		t.Errorf("got no word of the end in\n%s", errs.String())
	}
}
