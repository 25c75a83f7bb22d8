package ionostest_test

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/ionos/ionostest"
)

func get(t *testing.T, api http.Handler, target string) (map[string]any, *httptest.ResponseRecorder) {
	t.Helper()
	w := httptest.NewRecorder()
	api.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "http://fake"+target, nil))
	var document map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &document); err != nil {
		t.Fatalf("%s: %v", target, err)
	}
	return document, w
}

// Facts: depth 0 has no properties, depth 1 of servers no network cards, depth 2
// no addresses.
func TestDepthsShowWhatTheRealAPIShows(t *testing.T) {
	api := ionostest.New(ionostest.Options{Datacenter: "dc", Cluster: "c", LAN: 2})
	api.Populate(2)
	tests := []struct{ target, has, lacks string }{
		{"/datacenters/dc/lans/2/nics?depth=0", `"href"`, `"properties"`},
		{"/datacenters/dc/lans/2/nics?depth=1", `"ips":["10.0.0.1"]`, ``},
		{"/datacenters/dc/servers?depth=1", `"name":"worker-1"`, `0c0c0c0c`},
		{"/datacenters/dc/servers?depth=2", `0c0c0c0c`, `"ips"`},
		{"/datacenters/dc/servers?depth=3", `"ips":["10.0.0.1"]`, ``},
		{"/k8s/c/nodepools?depth=1", `"pool-1"`, ``},
		{"/k8s/c/nodepools/pool-1/nodes?depth=1", `"state":"READY"`, `10.0.0.1`},
	}
	for _, test := range tests {
		_, w := get(t, api, "/cloudapi/v6"+test.target)
		if text := w.Body.String(); !strings.Contains(text, test.has) || test.lacks != "" && strings.Contains(text, test.lacks) {
			t.Errorf("%s: got %s, want %s and no %s", test.target, text, test.has, test.lacks)
		}
	}
}

func TestPagesEndWithoutANextLink(t *testing.T) {
	api := ionostest.New(ionostest.Options{Datacenter: "dc", LAN: 2})
	api.Populate(5)
	for offset, want := range map[string]int{"0": 2, "2": 2, "4": 1, "6": 0} {
		page, _ := get(t, api, "/cloudapi/v6/datacenters/dc/servers?limit=2&offset="+offset)
		items, _ := page["items"].([]any)
		links, _ := page["_links"].(map[string]any)
		if next := links["next"] != nil; len(items) != want || next != (offset < "4") {
			t.Errorf("offset %s: got %d items, next %t, want %d", offset, len(items), next, want)
		}
	}
}

func TestWhatDoesNotExistIs404AndWrongCredentialsAre401(t *testing.T) {
	api := ionostest.New(ionostest.Options{Datacenter: "dc", Cluster: "c", LAN: 2})
	for _, target := range []string{"/datacenters/x/servers", "/datacenters/dc/lans/3", "/k8s/x/nodepools"} {
		if _, w := get(t, api, "/cloudapi/v6"+target); w.Code != http.StatusNotFound {
			t.Errorf("%s: got status %d, want 404", target, w.Code)
		}
	}
	api.Accept("Bearer right")
	if _, w := get(t, api, "/cloudapi/v6/datacenters/dc/servers"); w.Code != http.StatusUnauthorized || api.Counts().Refused != 1 {
		t.Errorf("got status %d and %d refused, want 401 and 1", w.Code, api.Counts().Refused)
	}
}

func TestAFaultEndsAfterItsTimes(t *testing.T) {
	api := ionostest.New(ionostest.Options{Datacenter: "dc", LAN: 2})
	api.Break(ionostest.Fault{Kind: ionostest.Failed, Times: 2, On: "/servers"})
	for i, want := range []int{500, 500, 200} {
		if _, w := get(t, api, "/cloudapi/v6/datacenters/dc/lans/2"); w.Code != http.StatusOK {
			t.Errorf("got status %d for another path, want 200", w.Code)
		}
		if _, w := get(t, api, "/cloudapi/v6/datacenters/dc/servers"); w.Code != want {
			t.Errorf("request %d: got status %d, want %d", i, w.Code, want)
		}
	}
}

func TestControlBreaksAndHealsTheAPI(t *testing.T) {
	api := ionostest.New(ionostest.Options{Datacenter: "dc", LAN: 2})
	server := httptest.NewServer(api.Control())
	t.Cleanup(server.Close)
	const servers = "/cloudapi/v6/datacenters/dc/servers"
	steps := []struct {
		command         string
		status, servers int
	}{
		{`{"servers": 3}`, 200, 3},
		{`{"fault": {"kind": "failed"}}`, 500, 3},
		{`{"fault": {}}`, 200, 3},
		{`{"token": "x"}`, 401, 3},
		{`{"token": "", "churn": 2}`, 200, 3},
		{`{"failover": ["10.0.0.9"]}`, 200, 3},
	}
	for _, step := range steps {
		answer, err := http.Post(server.URL+ionostest.ControlPath, "application/json", strings.NewReader(step.command))
		if err != nil {
			t.Fatal(err)
		}
		var state struct{ Servers int }
		err = json.NewDecoder(answer.Body).Decode(&state)
		answer.Body.Close()
		if err != nil || state.Servers != step.servers {
			t.Errorf("%s: got %d servers, %v, want %d", step.command, state.Servers, err, step.servers)
		}
		if _, w := get(t, api, servers); w.Code != step.status {
			t.Errorf("%s: got status %d, want %d", step.command, w.Code, step.status)
		}
	}
	answer, err := http.Post(server.URL+ionostest.ControlPath, "application/json", strings.NewReader(`{"chrun": 1}`))
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	if answer.StatusCode != http.StatusBadRequest {
		t.Errorf("got status %d for an unknown command, want 400", answer.StatusCode)
	}
}

func TestADeletedNodeIsReplacedInItsPool(t *testing.T) {
	for _, order := range []struct{ method, suffix string }{{http.MethodDelete, ""}, {http.MethodPost, "/replace"}} {
		api := ionostest.New(ionostest.Options{Datacenter: "dc", Cluster: "c", LAN: 2})
		api.Populate(2)
		const nodes, gone = "/cloudapi/v6/k8s/c/nodepools/pool-1/nodes", "6f1d2c3b-0000-4000-8000-000000000000"
		for _, want := range []int{http.StatusAccepted, http.StatusNotFound} {
			w := httptest.NewRecorder()
			api.ServeHTTP(w, httptest.NewRequest(order.method, "http://fake"+nodes+"/"+gone+order.suffix, nil))
			if w.Code != want {
				t.Errorf("%s: got status %d, want %d", order.method, w.Code, want)
			}
		}
		for _, target := range []string{nodes + "?depth=1", "/cloudapi/v6/datacenters/dc/servers?depth=1"} {
			list, w := get(t, api, target)
			items, _ := list["items"].([]any)
			if text := w.Body.String(); len(items) != 2 || strings.Contains(text, gone) || !strings.Contains(text, "worker-2") {
				t.Errorf("%s: %s: got %s, want worker-1 and worker-2", order.method, target, text)
			}
		}
	}
}
