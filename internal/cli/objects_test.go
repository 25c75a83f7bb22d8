package cli_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/preflight"
)

// withObjects returns the environment of a process whose API server has these pools and no
// bindings; without any it does not have the kind.
func withObjects(t *testing.T, pools ...string) []string {
	t.Helper()
	mux := http.NewServeMux()
	const resource = "GET /apis/endpoints.ablmnzde.github.io/v1alpha1/"
	list := func(kind string, items []json.RawMessage) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			answerJSON(w, http.StatusOK, map[string]any{
				"kind": kind + "List", "apiVersion": "endpoints.ablmnzde.github.io/v1alpha1", "metadata": map[string]string{"resourceVersion": "7"}, "items": items,
			})
		}
	}
	var items []json.RawMessage
	for _, pool := range pools {
		data, err := yaml.YAMLToJSON([]byte(pool))
		if err != nil {
			t.Fatal(err)
		}
		items = append(items, data)
	}
	if len(items) > 0 {
		mux.HandleFunc(resource+"endpointpools", list("EndpointPool", items))
	}
	mux.HandleFunc(resource+"endpointbindings", list("EndpointBinding", []json.RawMessage{}))
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		refuse(w, http.StatusNotFound, "NotFound", "the server could not find the requested resource")
	})
	server := httptest.NewTLSServer(mux)
	t.Cleanup(func() { server.CloseClientConnections(); server.Close() })
	return []string{
		kubeconfig(t, server.URL, "token"), "STORE_KIND=client-go", "DOCUMENTS_API=true", "BOUNDS_SUBNETS=10.0.0.0/16", "BOUNDS_NAMESPACES=shop", "BOUNDS_PORTS=30080",
	}
}

const poolObject = `apiVersion: endpoints.ablmnzde.github.io/v1alpha1
kind: EndpointPool
metadata: {name: blue, uid: u1, generation: 1, resourceVersion: "5"}
spec:
  source: {static: {nodes: [{name: w1, addresses: [10.0.0.11]}]}}
  subnets: [10.0.0.0/24]
  allow: [{namespaces: [shop], ports: ["30080"]}]
`

// Contract 118: check looks at objects as at files, and tells what does not count.
func TestContract118CheckLooksAtTheObjectsOfTheAPIServer(t *testing.T) {
	t.Parallel()
	file := strings.NewReplacer(", uid: u1, generation: 1, resourceVersion: \"5\"", "").Replace(poolObject)
	for name, c := range map[string]struct {
		environ []string
		id      preflight.ID
		result  preflight.Result
		words   string
	}{
		"sound":     {withObjects(t, poolObject), preflight.DocumentsValid, preflight.OK, "DOCUMENTS_API=true 1 pool, 0 bindings"},
		"a mistake": {withObjects(t, strings.Replace(poolObject, "10.0.0.0/24", "10.0.0.1/24", 1)), preflight.DocumentsValid, preflight.Fail, "API server EndpointPool blue spec.subnets[0]"},
		"beyond":    {withObjects(t, strings.Replace(poolObject, "10.0.0.0/24", "10.1.0.0/24", 1)), preflight.DocumentsValid, preflight.Fail, "is outside of BOUNDS_SUBNETS=10.0.0.0/16"},
		"no kind":   {withObjects(t), preflight.DocumentsKind, preflight.Warn, "EndpointPool the API server does not have the kind"},
		"shadowed":  {append(withObjects(t, poolObject), mounted(t, file)...), preflight.DocumentsKind, preflight.Warn, "EndpointPool blue a file in DOCUMENTS_DIR has it too"},
		"no server": {append([]string{"KUBECONFIG=/nonexistent"}, withObjects(t, poolObject)[1:]...), preflight.DocumentsValid, preflight.Fail, "/nonexistent"},
	} {
		code, report := checked(t, c.environ, "--only", "documents")
		found := false
		for _, check := range report.Checks {
			found = found || check.ID == c.id && check.Result == c.result && strings.Contains(check.Subject+" "+check.Message, c.words)
		}
		if !found || report.OK != (c.result != preflight.Fail) || report.OK != (code == 0) {
			t.Errorf("%s: got status %d and %+v, want %s %s with %q", name, code, report.Checks, c.result, c.id, c.words)
		}
	}
}

// Contract 118: what is not looked at is said; a pool of the API server can be read by its
// name.
func TestContract118CommandsSayWhatTheyDoNotLookAt(t *testing.T) {
	t.Parallel()
	environ := withObjects(t, poolObject)
	if code, stdout, stderr := run(t, environ, "config", "validate"); code != 0 || stdout != "The configuration is valid; objects in the API server were not looked at: `check` does that.\n" {
		t.Errorf("got status %d, %q and %q", code, stdout, stderr)
	}
	both := slices.Concat(environ, mounted(t, poolAndBinding))
	if code, stdout, stderr := run(t, both, "config", "validate"); code != 0 || !strings.HasPrefix(stdout, "The configuration is valid, with 1 pool and 1 binding in files; objects in the API server") {
		t.Errorf("got status %d, %q and %q", code, stdout, stderr)
	}
	if code, stdout, stderr := run(t, environ, "config", "show", "-o", "documents"); code != 0 || stdout != "" || !strings.Contains(stderr, "kubectl get endpointpools,endpointbindings") {
		t.Errorf("got status %d, %q and %q", code, stdout, stderr)
	}
	if code, stdout, stderr := run(t, environ, "inventory", "--pool", "blue"); code != 0 || !strings.Contains(stdout, "w1") {
		t.Errorf("got status %d, %q and %q", code, stdout, stderr)
	}
}
