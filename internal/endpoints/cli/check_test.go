package cli_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/preflight"
)

// checked runs check and returns its report.
func checked(t *testing.T, environ []string, args ...string) (int, preflight.Report) {
	t.Helper()
	code, stdout, stderr := run(t, environ, append([]string{"check", "-o", "json"}, args...)...)
	var report preflight.Report
	if err := json.Unmarshal([]byte(stdout), &report); err != nil {
		t.Fatalf("%v: %s%s", err, stdout, stderr)
	}
	return code, report
}

func TestCheckSaysForEachNodeWhatIsMissingAndTheRemedy(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "inventory.json")
	text := `[
		{"name": "good", "private_ips": ["127.0.0.11", "192.168.1.1"], "ready": true, "worker": true},
		{"name": "empty", "private_ips": [], "ready": true, "worker": true},
		{"name": "outside", "private_ip": "192.168.1.2", "ready": true, "worker": true},
		{"name": "resting", "private_ip": "127.0.0.12", "ready": false, "worker": true}]`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	environ := append([]string{"INVENTORY_FILE_PATH=" + path}, replaced("SOURCE_KIND=file")...)
	code, report := checked(t, environ)
	if code != 1 || report.OK || report.Counts[preflight.Fail] != 2 {
		t.Errorf("got status %d and %+v, want 1, and two failures", code, report.Counts)
	}
	want := map[string]preflight.Result{
		"good 127.0.0.11": "ok", "good 192.168.1.1": "skip", "empty": "fail", "outside 192.168.1.2": "fail", "resting": "skip",
	}
	for _, c := range report.Checks {
		if c.ID != preflight.NodesNode {
			continue
		}
		if want[c.Subject] != c.Result {
			t.Errorf("%s: got %s, want %s", c.Subject, c.Result, want[c.Subject])
		}
		delete(want, c.Subject)
		if c.Result == preflight.Fail && (c.Message == "" || c.Reason == "" || c.Remedy == "" || !strings.HasSuffix(c.Link, "/docs/reference/check.md#nodes-node")) {
			t.Errorf("%s: got no message, reason, remedy or link: %+v", c.Subject, c)
		}
	}
	if len(want) > 0 {
		t.Errorf("nothing was said of %v", want)
	}
	_, stdout, _ := run(t, environ, "check")
	for _, says := range []string{"usable nodes: 1 of 4 nodes", "192.168.1.2 is outside SECURED_SUBNET_CIDR=127.0.0.0/8", "extend SECURED_SUBNET_CIDR", "2 failed, "} {
		if !strings.Contains(stdout, says) {
			t.Errorf("got no %q in\n%s", says, stdout)
		}
	}
}

func TestCheckReportsEveryMistakeOfTheConfigurationInEveryForm(t *testing.T) {
	t.Parallel()
	environ := []string{"SOURCE_KIND=file", "SECURED_SUBNET_CIDR=10.0.0.1/24", "TARGET_SERVICE_NAME=web", "TARGET_PORT=99999"}
	variables := []string{"INVENTORY_FILE_PATH", "SECURED_SUBNET_CIDR", "TARGET_PORT"}
	code, report := checked(t, environ)
	if code != 2 || report.OK || report.Counts[preflight.Fail] != len(variables) || len(report.Checks) != len(variables) {
		t.Errorf("got status %d and %+v, want 2 and nothing but %d failures", code, report, len(variables))
	}
	for i, c := range report.Checks {
		if !strings.HasPrefix(c.Subject, variables[i]) || c.Message == "" || c.Remedy == "" || !strings.HasSuffix(c.Link, "#configuration-valid") {
			t.Errorf("got %+v, want the rule, the remedy and the link for %s", c, variables[i])
		}
	}
	for _, form := range []string{"text", "yaml"} {
		code, stdout, _ := run(t, environ, "check", "-o", form)
		if code != 2 {
			t.Errorf("-o %s: got status %d, want 2", form, code)
		}
		for _, variable := range variables {
			if !strings.Contains(stdout, variable) {
				t.Errorf("-o %s: got no %s in\n%s", form, variable, stdout)
			}
		}
		var same preflight.Report
		if form == "yaml" && (yaml.Unmarshal([]byte(stdout), &same) != nil || len(same.Checks) != len(report.Checks)) {
			t.Errorf("the document in YAML is another one:\n%s", stdout)
		}
	}
}

func TestCheckWarnsOfTheTokenAndOfNoneThatLastsLonger(t *testing.T) {
	t.Parallel()
	api, environ := cloud(t, 2)
	for left, want := range map[time.Duration]preflight.Result{20 * 24 * time.Hour: "ok", 13 * 24 * time.Hour: "warn"} {
		token := tokenUntil(time.Now().Add(left))
		api.Accept("Bearer " + token)
		code, report := checked(t, append([]string{"IONOS_TOKEN=" + token}, environ...))
		if code != 0 {
			t.Errorf("%s left: got status %d, want 0: %+v", left, code, report)
		}
		for _, c := range report.Checks {
			if c.ID == preflight.SourceExpiry && c.Result != want {
				t.Errorf("%s left: got %+v, want %s", left, c, want)
			}
		}
	}
}

func TestCheckGivesUpInTimeAndSaysWhatIsKnown(t *testing.T) {
	t.Parallel()
	environ := append([]string{"INVENTORY_COMMAND=sleep", "INVENTORY_COMMAND_ARGS=60", "PATH=/usr/bin:/bin"}, replaced("SOURCE_KIND=command")...)
	code, report := checked(t, environ, "--timeout", "100ms")
	if code != 124 || !report.Failed(preflight.SourceRead) {
		t.Errorf("got status %d and %+v, want 124 and a source that could not be read", code, report)
	}
}

// tokenUntil is a token that says when it expires.
func tokenUntil(at time.Time) string {
	part := base64.RawURLEncoding.EncodeToString
	return part([]byte(`{"alg":"RS256"}`)) + "." + part(fmt.Appendf(nil, `{"exp":%d}`, at.Unix())) + "." + part([]byte("signature"))
}

// kubeconfig writes one with a token for a server and returns it as an entry of
// the environment.
func kubeconfig(t *testing.T, server, token string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: c, user: u}}],
clusters: [{name: c, cluster: {server: %q, insecure-skip-tls-verify: true}}], users: [{name: u, user: {token: %s}}]}`, server, token)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return "KUBECONFIG=" + path
}

// clustered is the base with the store client-go. Its nodes are loopback
// addresses, which are refused there.
func clustered(changes ...string) []string {
	return append(append(changes, "STORE_KIND=client-go", "STATIC_NODES=w1=10.255.255.1", "SECURED_SUBNET_CIDR=10.0.0.0/8"), base...)
}

// apiServer is one that answers everything with the status, a reason and the credentials it was sent.
func apiServer(t *testing.T, status int, reason string) string {
	t.Helper()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": %q, "code": %d, "message": "seen %s"}`,
			reason, status, r.Header.Get("Authorization"))
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestContract35AnAPIServerThatRepeatsTheTokenDoesNotBringItIntoTheReport(t *testing.T) {
	t.Parallel()
	environ := clustered(kubeconfig(t, apiServer(t, http.StatusInternalServerError, "InternalError"), tokenCanary))
	for _, form := range []string{"text", "json", "yaml"} {
		_, stdout, stderr := run(t, environ, "check", "-o", form)
		if strings.Contains(stdout+stderr, tokenCanary[7:]) || !strings.Contains(stdout, "seen Bearer ********") {
			t.Errorf("-o %s: got the token, or nothing of the answer, in\n%s%s", form, stdout, stderr)
		}
	}
}

func TestWhatAnAPIServerDoesNotAnswerHasNotPassed(t *testing.T) {
	t.Parallel()
	code, report := checked(t, clustered(kubeconfig(t, apiServer(t, http.StatusInternalServerError, "InternalError"), tokenCanary)))
	if code != 1 || !report.Failed(preflight.APIReachable) {
		t.Errorf("got status %d and %+v, want 1, and that the server does not answer", code, report)
	}
	// A user who may not ask for rights learns nothing about them.
	code, report = checked(t, clustered(kubeconfig(t, apiServer(t, http.StatusForbidden, "Forbidden"), tokenCanary)))
	if code != 1 || report.Failed(preflight.APIReachable) || report.Failed(preflight.RightsGranted) || !report.Failed(preflight.ServiceValid) || !report.Failed(preflight.SlicesOurs) {
		t.Errorf("got status %d and %+v, want 1, and that neither Service nor slices can be read", code, report)
	}
}

func TestCheckIsDoneInTimeWhenTheAPIServerHangs(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close() // connections wait in its queue until then
	environ := clustered(kubeconfig(t, "https://"+listener.Addr().String(), "some-token"))
	code, report := checked(t, environ, "--timeout", "500ms")
	if code != 124 || !report.Failed(preflight.APIReachable) || report.Failed(preflight.SourceRead) || report.Failed(preflight.NodesUsable) {
		t.Errorf("got status %d and %+v, want 124, and everything else", code, report)
	}
}
