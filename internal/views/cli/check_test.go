package cli_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// refusing is an API server that refuses requests with this verb for this resource, or misses it,
// and a kubeconfig for it.
func refusing(t *testing.T, verb, resource string) (kubeconfig string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked := "list"
		switch {
		case r.URL.Query().Get("watch") != "":
			asked = "watch"
		case strings.HasSuffix(r.URL.Path, "/endpoint-views-check"):
			asked = "get"
		}
		w.Header().Set("Content-Type", "application/json")
		switch {
		case verb == "missing" && strings.Contains(r.URL.Path, "/"+resource):
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, "404 page not found")
		case asked == verb && strings.Contains(r.URL.Path, "/"+resource):
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"no"}`)
		case asked == "get":
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"message":"no"}`)
		case asked == "list" && strings.Contains(r.URL.Path, "/services"):
			fmt.Fprint(w, `{"kind":"ServiceList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[]}`)
		case asked == "list" && strings.Contains(r.URL.Path, "/envoys"):
			fmt.Fprint(w, `{"kind":"EnvoyList","apiVersion":"fleet.ablmnzde.github.io/v1alpha1","metadata":{"resourceVersion":"7"},"items":[]}`)
		case asked == "list":
			fmt.Fprint(w, `{"kind":"EndpointSliceList","apiVersion":"discovery.k8s.io/v1","metadata":{"resourceVersion":"7"},"items":[]}`)
		}
	}))
	t.Cleanup(server.Close)
	kubeconfig = filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf("apiVersion: v1\nkind: Config\ncurrent-context: a\nclusters: [{name: a, cluster: {server: %q}}]\ncontexts: [{name: a, context: {cluster: a, user: a}}]\nusers: [{name: a, user: {token: t}}]\n", server.URL)
	if err := os.WriteFile(kubeconfig, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

func TestCheckNamesEachRightThatIsMissing(t *testing.T) {
	code, stdout, _ := carryOut(t, []string{"KUBECONFIG=" + refusing(t, "", ""), "VIEWS_NAMESPACES=shop,blog"}, "check")
	if code != 0 || strings.Count(stdout, "ok    ") != 5 || strings.Contains(stdout, "FAIL") {
		t.Errorf("got %d\n%s\nwant the access and two kinds in two namespaces", code, stdout)
	}
	for _, verb := range []string{"list", "watch", "get"} {
		for _, resource := range []string{"services", "endpointslices"} {
			code, stdout, _ := carryOut(t, []string{"KUBECONFIG=" + refusing(t, verb, resource)}, "check")
			if want := verb + " is refused; give the right to " + verb + " " + resource; code != 4 || strings.Count(stdout, "FAIL") != 1 || !strings.Contains(stdout, want) {
				t.Errorf("%s %s: got %d\n%s\nwant 4 and %q alone", verb, resource, code, stdout, want)
			}
		}
	}
}

// TestContract95CheckNamesTheRightToEnvoys: serve does not listen for xDS before it can list them.
func TestContract95CheckNamesTheRightToEnvoys(t *testing.T) {
	check := func(verb string) (int, string) {
		code, stdout, _ := carryOut(t, []string{"KUBECONFIG=" + refusing(t, verb, "envoys"), "XDS_ADDRESS=127.0.0.1:0", "XDS_WATCH_FLEETS=true"}, "check")
		return code, stdout
	}
	for _, fine := range []string{"", "missing"} { // the kind may be installed later
		if code, stdout := check(fine); code != 0 || !strings.Contains(stdout, "ok    list, watch and get envoys in all namespaces") {
			t.Errorf("%q: got %d\n%s", fine, code, stdout)
		}
	}
	for _, verb := range []string{"list", "watch", "get"} {
		want := verb + " is refused; give the right to " + verb + " envoys.fleet.ablmnzde.github.io"
		if code, stdout := check(verb); code != 4 || strings.Count(stdout, "FAIL") != 1 || !strings.Contains(stdout, want) {
			t.Errorf("%s: got %d\n%s\nwant 4 and %q alone", verb, code, stdout, want)
		}
	}
}

func TestCheckReadsTheFilesAndSaysWhatIsWrong(t *testing.T) {
	list := filepath.Join(t.TempDir(), "identities.yaml")
	if err := os.WriteFile(list, []byte("identities: [{name: nobody}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	code, stdout, _ := carryOut(t, []string{
		"KUBECONFIG=/nowhere", "VIEWS_IDENTITIES_FILE=" + list, "VIEWS_TLS_CERT_FILE=/no.crt", "VIEWS_TLS_KEY_FILE=/no.key",
	}, "check")
	for _, want := range []string{"FAIL  certificates: read the certificate /no.crt", "FAIL  list of identities", "NAMESPACE/NAME", "FAIL  access to the API server", "/nowhere"} {
		if code != 4 || !strings.Contains(stdout, want) {
			t.Errorf("got %d\n%s\nwant 4 and %q", code, stdout, want)
		}
	}
}
