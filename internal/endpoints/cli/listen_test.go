package cli_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/cli"
)

// programRun is the program while it runs.
type programRun struct {
	t              *testing.T
	out, errs      buffer
	admin, metrics string
}

// start runs the program until the test ends.
func start(t *testing.T, environ []string) *programRun {
	t.Helper()
	r := &programRun{t: t}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan int, 1)
	go func() {
		p := cli.Program{Version: "v1.2.3", Environ: environ, Stdout: &r.out, Stderr: &r.errs}
		ended <- p.Run(ctx, []string{"run"})
	}()
	t.Cleanup(func() {
		http.DefaultClient.CloseIdleConnections()
		stop()
		if code := <-ended; code != 0 {
			t.Errorf("got exit status %d, want 0; log:\n%s", code, r.errs.String())
		}
	})
	for deadline := time.Now().Add(time.Minute); r.admin == ""; <-time.After(10 * time.Millisecond) {
		for line := range strings.Lines(r.errs.String()) {
			var said struct {
				Message string `json:"msg"`
				Admin   string `json:"admin_address"`
				Metrics string `json:"metrics_address"`
			}
			if json.Unmarshal([]byte(line), &said) == nil && said.Message == "listening" {
				r.admin, r.metrics = said.Admin, said.Metrics
			}
		}
		if time.Now().After(deadline) {
			t.Fatalf("it does not say where it listens:\n%s", r.errs.String())
		}
	}
	return r
}

// get fetches what is served.
func (r *programRun) get(address, path string) (int, string) {
	r.t.Helper()
	request, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		r.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

func TestTheDaemonServesWhatItKnows(t *testing.T) {
	t.Parallel()
	r := start(t, base)
	for path, test := range map[string]struct{ address, want string }{
		"/":                            {r.admin, "2 of 3 nodes ready in default/web"},
		"/api/v1/services/default/web": {r.admin, `"reason":"OutsideSubnet"`},
		"/configz":                     {r.admin, "TARGET_SERVICE_NAME"},
		"/livez":                       {r.metrics, "ok"},
		"/readyz":                      {r.metrics, "ok"},
		"/metrics":                     {r.metrics, "ionos_endpointslice_"},
	} {
		var code int
		var text string
		for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline) && !strings.Contains(text, test.want); <-time.After(10 * time.Millisecond) {
			code, text = r.get(test.address, path)
		}
		if code != http.StatusOK || !strings.Contains(text, test.want) {
			t.Errorf("%s: got %d and no %q in\n%s", path, code, test.want, text)
		}
	}
}

// Contract 73: the metrics of a Service by variables are those of pools and Services.
func TestContract73WithVariablesThePoolIsCalledRemote(t *testing.T) {
	t.Parallel()
	r := start(t, base)
	var missing []string
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-time.After(10 * time.Millisecond) {
		_, text := r.get(r.metrics, "/metrics")
		missing = nil
		for _, line := range []string{
			`pool_services{pool="remote"} 1`, `nodes{pool="remote"} 3`, `endpoints{pool="remote",state="ready"} 2`, `not_eligible{pool="remote",reason="OutsideSubnet"} 1`,
			`health_check_groups{mode="Publish",pool="remote"} 1`, `source_reads_total{pool="remote",result="success"} 1`, `pool_problem{kind="Source",pool="remote"} 0`,
			`service_ready_endpoints{target_namespace="default",target_service="web"} 2`, `service_pending_slices{target_namespace="default",target_service="web"} 0`, `services{state="active"} 1`,
		} {
			if !strings.Contains(text, "\nionos_endpointslice_"+line+"\n") {
				missing = append(missing, line)
			}
		}
		if len(missing) == 0 {
			return
		}
	}
	t.Errorf("the metrics lack %q", missing)
}

func TestPageDocumentAndCommandAgreeOnAFailingSource(t *testing.T) {
	t.Parallel()
	inventory := filepath.Join(t.TempDir(), "nodes.json")
	write := func(text string) {
		t.Helper()
		if err := os.WriteFile(inventory, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write(`[{"name": "w1", "private_ip": "127.0.0.11", "ready": true, "worker": true}]`)
	configured := append(replaced("SOURCE_KIND=file"), "INVENTORY_FILE_PATH="+inventory, "SOURCE_POLL_INTERVAL=1s")
	r := start(t, configured)
	environ := replacedIn(configured, "ADMIN_ADDRESS="+r.admin)
	if code, stdout, stderr := run(t, environ, "status", "--wait", "--timeout", "20s"); code != 0 {
		t.Fatalf("got exit status %d before, want 0\n%s%s", code, stdout, stderr)
	}
	write("no JSON")
	page := ""
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline) && !strings.Contains(page, "Degraded"); <-time.After(10 * time.Millisecond) {
		_, page = r.get(r.admin, "/")
	}
	if !strings.Contains(page, "Degraded") {
		t.Fatalf("the page is not Degraded:\n%s", page)
	}
	code, stdout, _ := run(t, environ, "status")
	if code != 1 || !strings.Contains(stdout, "The source cannot be read") {
		t.Errorf("status: got %d, want 1 and what is wrong:\n%s", code, stdout)
	}
	code, stdout, _ = run(t, environ, "status", "-o", "json")
	if code != 1 || !strings.Contains(stdout, `"healthy": false`) || !strings.Contains(stdout, `"condition": "Degraded"`) {
		t.Errorf("status -o json: got %d, want 1 and not healthy:\n%s", code, stdout)
	}
	if code, _, stderr := run(t, environ, "status", "--wait", "--timeout", "3s"); code != 124 || !strings.Contains(stderr, "The source cannot be read: ") {
		t.Errorf("status --wait: got %d and %q, want 124 and why it waits", code, stderr)
	}
	for _, path := range []string{"/livez", "/readyz"} { // contract 31
		if code, text := r.get(r.metrics, path); code != http.StatusOK {
			t.Errorf("%s: got %d %s, want 200", path, code, text)
		}
	}
}

func TestContract35NothingThatIsServedHoldsASecret(t *testing.T) {
	t.Parallel()
	api, environ := cloud(t, 2)
	api.Accept("Bearer another") // then there is an error to show too
	r := start(t, environ)
	for deadline := time.Now().Add(time.Minute); time.Now().Before(deadline); <-time.After(10 * time.Millisecond) {
		if _, page := r.get(r.admin, "/"); strings.Contains(page, "The source cannot be read") {
			break
		}
	}
	if _, page := r.get(r.admin, "/"); !strings.Contains(page, "401") {
		t.Error("the page does not say that the token is refused")
	}
	for _, path := range []string{"/", "/api/v1/services/default/web", "/configz", "/configz?format=json", "/livez?verbose", "/readyz?verbose", "/metrics", "/?q=" + tokenCanary[:4]} {
		for _, address := range []string{r.admin, r.metrics} {
			if _, text := r.get(address, path); strings.Contains(text, tokenCanary[:8]) {
				t.Errorf("%s: the token is in\n%s", path, text)
			}
		}
	}
	if _, text := r.get(r.admin, "/configz?format=json"); !strings.Contains(text, "IONOS_TOKEN") {
		t.Errorf("/configz does not say that there is a token:\n%s", text)
	}
}

func TestContract34ATakenPortEndsTheProgramBeforeItReadsOrWrites(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	ran := filepath.Join(t.TempDir(), "ran")
	environ := append([]string{"INVENTORY_COMMAND=touch", "INVENTORY_COMMAND_ARGS=" + ran, "PATH=/usr/bin:/bin"}, replaced("SOURCE_KIND=command")...)
	for _, variable := range []string{"ADMIN_ADDRESS", "METRICS_ADDRESS"} {
		setting := fmt.Sprintf("%s=%s", variable, taken.Addr())
		code, stdout, stderr := run(t, append([]string{setting}, environ...), "run")
		if code != 2 || stdout != "" || !strings.Contains(stderr, setting+" is taken by another program; stop that, or set it to another port") {
			t.Errorf("%s: got exit status %d and %q, want 2 and the variable with a remedy:\n%s", variable, code, stdout, stderr)
		}
		if _, err := os.Stat(ran); err == nil {
			t.Errorf("%s: the source was read", variable)
		}
	}
}

func TestOnlyTheDaemonListens(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	environ := append([]string{"ADMIN_ADDRESS=" + taken.Addr().String()}, base...)
	for _, args := range [][]string{{"run", "--once"}, {"diff"}, {"explain", "w1"}, {"config", "show"}} {
		if code, _, stderr := run(t, environ, args...); code > 1 {
			t.Errorf("%v: got exit status %d:\n%s", args, code, stderr)
		}
	}
}
