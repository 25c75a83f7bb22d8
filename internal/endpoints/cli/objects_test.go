package cli_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/preflight"
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

// inFile is an object as a file has it.
func inFile(object string) string {
	return strings.Replace(object, `, uid: u1, generation: 1, resourceVersion: "5"`, "", 1)
}

// Contract 118: check looks at objects as at files, and tells what does not count.
func TestContract118CheckLooksAtTheObjectsOfTheAPIServer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		environ []string
		id      preflight.ID
		result  preflight.Result
		words   string
	}{
		"sound":     {withObjects(t, poolObject), preflight.DocumentsValid, preflight.OK, "documents 1 pool, 0 bindings"},
		"a mistake": {withObjects(t, strings.Replace(poolObject, "10.0.0.0/24", "10.0.0.1/24", 1)), preflight.DocumentsValid, preflight.Fail, "API server EndpointPool blue spec.subnets[0]"},
		"beyond":    {withObjects(t, strings.Replace(poolObject, "10.0.0.0/24", "10.1.0.0/24", 1)), preflight.DocumentsValid, preflight.Fail, "is outside of BOUNDS_SUBNETS=10.0.0.0/16"},
		"no kind":   {withObjects(t), preflight.DocumentsValid, preflight.Warn, "EndpointPool the API server does not have the kind"},
		"shadowed":  {append(withObjects(t, poolObject), mounted(t, inFile(poolObject))...), preflight.DocumentsValid, preflight.Warn, "EndpointPool blue a file in DOCUMENTS_DIR has it too"},
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

// Contract 134: what config show prints is for kubectl apply, so it says what is not.
func TestContract134ConfigShowWarnsOfDocumentsThatCannotMove(t *testing.T) {
	t.Parallel()
	of := func(name, from, to string) string {
		return strings.NewReplacer("name: blue", "name: "+name, from, to).Replace(inFile(poolObject)) + "---\n"
	}
	const source, subnets = "{static: {nodes: [{name: w1, addresses: [10.0.0.11]}]}}", "subnets: [10.0.0.0/24]"
	binding := func(namespace string) string {
		return "apiVersion: endpoints.ablmnzde.github.io/v1alpha1\nkind: EndpointBinding\nmetadata: {name: web, namespace: " + namespace + "}\nspec: {pools: [{name: e}], ports: [{port: 30080}]}\n---\n"
	}
	text := of("a", source, "{command: {path: /bin/inventory}}") + of("b", source, "{file: {path: /srv/inventory.json}}") +
		of("c", subnets, "subnets: [10.0.0.0/24, 172.16.0.0/24]") + of("d", `["30080"]`, `["30080", "22"]`) + of("e", "[shop]", "[shop, blog]") +
		of("f", source, "{kubernetes: {}}\n  credentials: blue") + of("fits", "[shop]", "[shop]") + binding("blog") + binding("shop")
	mountedIn := mounted(t, text)
	ran := filepath.Join(t.TempDir(), "ran")
	writeFile(t, filepath.Join(strings.TrimPrefix(mountedIn[1], "CREDENTIALS_DIR="), "blue", "kubeconfig"), programKubeconfig("https://127.0.0.1:1", ran))
	code, plain, stderr := run(t, mountedIn, "config", "show", "-o", "documents")
	if code != 0 || strings.Contains(stderr, "cannot move") {
		t.Errorf("without DOCUMENTS_API: got status %d and %q, want no such warning", code, stderr)
	}
	code, stdout, stderr := run(t, slices.Concat(withObjects(t, poolObject), mountedIn), "config", "show", "-o", "documents")
	if code != 0 || stdout != plain || strings.Count(stdout, "kind: ") != 9 {
		t.Errorf("got status %d and %s, want what is printed without DOCUMENTS_API", code, stdout)
	}
	const keep = "; keep it in a file of DOCUMENTS_DIR"
	want := []string{
		`EndpointPool a: cannot move to the API server with spec.source.command, which is for mounted documents only: it names a path or a program of the controller's machine` + keep,
		`EndpointPool b: cannot move to the API server with spec.source.file, which is for mounted documents only: it names a path or a program of the controller's machine` + keep,
		`EndpointPool c: cannot move to the API server with spec.subnets[1]="172.16.0.0/24", which is outside of BOUNDS_SUBNETS=10.0.0.0/16` + keep + `, or widen the bounds of this installation`,
		`EndpointPool d: cannot move to the API server with spec.allow[0].ports[1]="22", which is outside of BOUNDS_PORTS=30080` + keep + `, or widen the bounds of this installation`,
		`EndpointPool e: cannot move to the API server with spec.allow[0].namespaces[1]="blog", which is outside of BOUNDS_NAMESPACES=shop` + keep + `, or widen the bounds of this installation`,
		`EndpointPool f: cannot move to the API server with spec.credentials=blue, whose kubeconfig runs a program` + keep + `, or put a token or a client certificate into the kubeconfig`,
		`EndpointBinding blog/web: cannot move to the API server with metadata.namespace="blog", which is outside of BOUNDS_NAMESPACES=shop` + keep + `, or widen the bounds of this installation`,
	}
	var got []string
	for line := range strings.Lines(stderr) {
		if place, warning, ok := strings.Cut(strings.TrimSpace(line), ": Endpoint"); ok && strings.HasPrefix(place, "warning: documents.yaml:") {
			got = append(got, "Endpoint"+warning)
		}
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("warnings (-want +got):\n%s", diff)
	}
	if exists, _ := filepath.Glob(ran); len(exists) > 0 {
		t.Error("config show ran the program of a kubeconfig")
	}
}
