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
func ofVariables() []preflight.Section {
	return slices.DeleteFunc(preflight.Sections(), func(s preflight.Section) bool { return s == preflight.Documents })
}

func TestCheckOnlyCountsWhatItLooksAt(t *testing.T) {
	t.Parallel()
	environ := mixed(t)
	for line, want := range map[string]struct {
		code     int
		sections []preflight.Section
	}{
		"":                                    {1, ofVariables()},
		"--only configuration":                {0, []preflight.Section{"configuration"}},
		"--only source,configuration":         {0, []preflight.Section{"configuration", "source"}},
		"--only source --only configuration":  {0, []preflight.Section{"configuration", "source"}},
		"--only nodes":                        {1, []preflight.Section{"nodes"}},
		"--only probes":                       {0, []preflight.Section{"probes"}},
		"--only slices,slices":                {0, []preflight.Section{"slices"}},
		"--only probes,nodes --only=nodes":    {1, []preflight.Section{"nodes", "probes"}},
		"--only probes --timeout 30s --short": {0, nil},
	} {
		code, report := checked(t, environ, strings.Fields(line)...)
		var sections []preflight.Section
		for _, c := range report.Checks {
			sections = append(sections, c.Section)
		}
		if sections = slices.Compact(sections); code != want.code || !slices.Equal(sections, want.sections) {
			t.Errorf("check %s: got status %d and %v, want %d and %v", line, code, sections, want.code, want.sections)
		}
	}
}

func TestAnUnknownAreaIsAnsweredWithTheAreas(t *testing.T) {
	t.Parallel()
	const all = "he areas are configuration, documents, source, nodes, api, rights, service, slices, probes"
	for area, meant := range map[string]string{
		"prob": "did you mean probes?", "Nodes": "did you mean nodes?", "serivce": "did you mean service?", "config": "did you mean configuration?",
		"s": "did you mean source?", "everything": `"everything" is no area; `, "": `"" is no area; `, "nodes,,": `"" is no area; `,
	} {
		code, stdout, stderr := run(t, base, "check", "--only", area)
		if code != 2 || stdout != "" || !strings.Contains(stderr, meant) || !strings.Contains(stderr, all) {
			t.Errorf("--only %q: got status %d and %s%s, want 2, %q and all areas", area, code, stdout, stderr, meant)
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
	for _, says := range []string{"fail  nodes          1 failed, 2 ok\n  fail  outside 192.168.1.2: OutsideSubnet: ", "\nok    source         1 ok\n", "skip  probes         HEALTH_CHECK_MODE=off\n"} {
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
	if code != 1 || report.Counts.OK == 0 || len(report.Areas) != len(ofVariables()) {
		t.Errorf("got status %d and %+v, want 1, and all checks counted", code, report)
	}
}

// A user without any of the rights gets one rule for each resource, ready to be put
// into a Role.
func TestRightsThatAreMissingOfOneResourceHaveOneRemedy(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Path == "/version":
			fmt.Fprint(w, `{"gitVersion": "v1.30.0"}`)
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
		`grant {apiGroups: ["discovery.k8s.io"], resources: ["endpointslices"], verbs: ["create", "list", "update", "watch"]} by a Role in default` + "\n": 1,
		`grant {apiGroups: [""], resources: ["services"], verbs: ["list", "watch"]} by a Role in default` + "\n":                                           1,
		"may not": 7,
	} {
		if got := strings.Count(stdout, rule); got != times {
			t.Errorf("got %q %d times, want %d, in\n%s", rule, got, times, stdout)
		}
	}
}
