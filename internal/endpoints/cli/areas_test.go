package cli_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/preflight"
)

// mixed is an environment with one node that may be published, and one that is
// outside of the subnet. Health checks are off.
func mixed(t *testing.T, changes ...string) []string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "inventory.json")
	text := `[{"name": "good", "private_ip": "127.0.0.11", "ready": true, "worker": true},
		{"name": "outside", "private_ip": "192.168.1.2", "ready": true, "worker": true}]`
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return append(append(changes, "INVENTORY_FILE_PATH="+path), replaced("SOURCE_KIND=file")...)
}

// ofVariables are the areas of an installation by variables.
func ofVariables() []string {
	return slices.DeleteFunc(preflight.Areas(), func(area string) bool { return area == "documents" })
}

func TestCheckOnlyCountsWhatItLooksAt(t *testing.T) {
	t.Parallel()
	environ := mixed(t)
	for line, want := range map[string]struct {
		code  int
		areas []string
	}{
		"":                                    {1, ofVariables()},
		"--only configuration":                {0, []string{"configuration"}},
		"--only source,configuration":         {0, []string{"configuration", "source"}},
		"--only source --only configuration":  {0, []string{"configuration", "source"}},
		"--only nodes":                        {1, []string{"nodes"}},
		"--only probes":                       {0, []string{"probes"}},
		"--only slices,slices":                {0, []string{"slices"}},
		"--only probes,nodes --only=nodes":    {1, []string{"nodes", "probes"}},
		"--only probes --timeout 30s --short": {0, nil},
	} {
		code, report := checked(t, environ, strings.Fields(line)...)
		var areas []string
		for _, c := range report.Checks {
			areas = append(areas, c.Area)
		}
		if areas = slices.Compact(areas); code != want.code || !slices.Equal(areas, want.areas) {
			t.Errorf("check %s: got status %d and %v, want %d and %v", line, code, areas, want.code, want.areas)
		}
	}
}

func TestAnUnknownAreaIsAnsweredWithTheAreas(t *testing.T) {
	t.Parallel()
	const all = "the areas are configuration, documents, source, nodes, api, rights, service, slices, probes"
	for _, area := range []string{"prob", "Nodes", "everything", "", "nodes,,"} {
		code, stdout, stderr := run(t, base, "check", "--only", area)
		if code != 2 || stdout != "" || !strings.Contains(stderr, "is no area; "+all) {
			t.Errorf("--only %q: got status %d and %s%s, want 2 and all areas", area, code, stdout, stderr)
		}
	}
}

func TestAWrongConfigurationIsToldWhateverIsLookedAt(t *testing.T) {
	t.Parallel()
	for _, flags := range [][]string{{"--only", "probes"}, {"--short"}} {
		code, stdout, _ := run(t, append([]string{"TARGET_PORT=99999"}, base...), append([]string{"check"}, flags...)...)
		if code != 2 || !strings.Contains(stdout, "TARGET_PORT") {
			t.Errorf("check %v: got status %d and\n%s\nwant 2 and the variable", flags, code, stdout)
		}
	}
}

func TestCheckShortSaysWhatIsWrongAndNotWhatIsRight(t *testing.T) {
	t.Parallel()
	code, stdout, _ := run(t, mixed(t), "check", "--short")
	for _, says := range []string{"nodes\n  fail  outside 192.168.1.2: OutsideSubnet: ", "1 failed, 1 warning, "} {
		if code != 1 || !strings.Contains(stdout, says) {
			t.Errorf("got status %d and no %q in\n%s", code, says, stdout)
		}
	}
	if strings.Contains(stdout, "good") {
		t.Errorf("got a node that is as it should be in\n%s", stdout)
	}
	code, report := checked(t, mixed(t), "--short")
	for _, c := range report.Checks {
		if c.Result != preflight.Fail && c.Result != preflight.Warn {
			t.Errorf("got %+v", c)
		}
	}
	if code != 1 || report.Counts[preflight.OK] == 0 {
		t.Errorf("got status %d and %+v, want 1, and all checks counted", code, report)
	}
}

// A user without any of the rights gets the rules, ready to be put into a Role.
func TestRightsThatAreMissingAreRulesOfARole(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case strings.HasSuffix(r.URL.Path, "selfsubjectrulesreviews"):
			w.WriteHeader(http.StatusCreated)
			fmt.Fprint(w, `{"kind": "SelfSubjectRulesReview", "apiVersion": "authorization.k8s.io/v1", "status": {"incomplete": false, "resourceRules": [], "nonResourceRules": []}}`)
		default:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}`)
		}
	}))
	t.Cleanup(server.Close)
	environ := clustered(kubeconfig(t, server.URL, "some-token"))
	_, stdout, _ := run(t, environ, "check", "--only", "rights")
	for rule, times := range map[string]int{
		`grant {apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: ["list", "watch", "create"]} by a Role` + "\n": 1,
		`grant {apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: ["update"]} by a Role` + "\n":                  1,
		`grant {apiGroups: [""], resources: ["services"], verbs: ["list", "watch"]} by a Role` + "\n":                                 1,
		"may not": 4,
	} {
		if got := strings.Count(stdout, rule); got != times {
			t.Errorf("got %q %d times, want %d, in\n%s", rule, got, times, stdout)
		}
	}
}
