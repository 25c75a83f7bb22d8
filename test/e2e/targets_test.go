package e2e_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// serviceList is the part of /api/v1/services that the tests look at.
type serviceList struct {
	Condition, Summary string
	Known, Total       int
	Pools              []struct {
		Name, Condition string
		Services        int
		Source          struct{ LastError string }
	}
	Services []struct {
		Service, Condition        string
		ReadyEndpoints, Endpoints int
		Refusals                  []struct{ Pool, Reason, Message string }
	}
	Documents struct {
		StatusError string
		Mistakes    []struct{ Message string }
	}
}

// targets fetches the list, which must fit its schema.
func (s *surfaces) targets(query string) (list serviceList) {
	s.world.t.Helper()
	text := s.get(s.admin, "/api/v1/services"+query)
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join("..", "..", "docs", "reference", "services.schema.json"))
	if err != nil {
		s.world.t.Fatal(err)
	}
	value, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err == nil {
		err = schema.Validate(value)
	}
	if err == nil {
		err = json.Unmarshal([]byte(text), &list)
	}
	if err != nil {
		s.world.t.Fatalf("the list does not fit its schema: %v\n%s", err, text)
	}
	return list
}

// brief is the list in a line: each Service with its condition and its ready endpoints.
func (l serviceList) brief() string {
	var all []string
	for _, t := range l.Services {
		all = append(all, fmt.Sprintf("%s %s %d/%d", t.Service, t.Condition, t.ReadyEndpoints, t.Endpoints))
	}
	return strings.Join(all, ", ")
}

// awaitTargets waits until the list is that.
func (s *surfaces) awaitTargets(query, want string) {
	s.world.t.Helper()
	var got serviceList
	s.world.until(func() bool { got = s.targets(query); return got.brief() == want }, func() string {
		return fmt.Sprintf("services%s: got %s, want %s", query, got.brief(), want)
	})
}

// wantTargets checks what the surfaces of the platform show while one node of pool blue
// is down.
func (p *platform) wantTargets(s *surfaces, t *testing.T) {
	t.Helper()
	p.nodes[0].backends[0].kill()
	p.want("down")
	s.awaitTargets("", "greedy Refused 0/0, both Degraded 4/5, web Degraded 2/3, shop Healthy 2/2")
	s.awaitTargets("?pool=blue&condition=Unhealthy&offset=1", "web Degraded 2/3")
	list := s.targets("")
	if r := list.Services[0].Refusals; len(r) != 1 || r[0].Reason != "PoolNotAllowed" || strings.Contains(r[0].Message, "elsewhere") {
		t.Errorf("refusals: got %+v", r)
	}
	if len(list.Pools) != 3 || list.Pools[0].Name != "blue" || list.Pools[0].Condition != "Degraded" || list.Pools[0].Services != 2 || list.Pools[2].Services != 0 {
		t.Errorf("pools: got %+v", list.Pools)
	}
	dead := p.nodes[0]
	var d struct {
		Mode  string
		Pools []struct{ Name, State, Mode string }
		Nodes []struct{ Name, Pool, State, Reason string }
	}
	if err := json.Unmarshal([]byte(s.get(s.admin, "/api/v1/services/"+p.namespace+"/both")), &d); err != nil {
		t.Fatal(err)
	}
	if len(d.Pools) != 2 || d.Pools[0].State != "active" || len(d.Nodes) != 5 {
		t.Errorf("the document of both: got %+v", d)
	}
	for _, n := range d.Nodes {
		if n.Name == dead.Name && n.Pool == "blue" && (n.State != "down" || n.Reason != "ProbeRefused") {
			t.Errorf("the document of both: got %+v, want it down", n)
		}
	}
	if got := s.get(s.admin, "/api/v1/explain?subject="+dead.IP); strings.Count(got, `"reason":"ProbeRefused","message":"connection refused`) < 2 || !strings.Contains(got, `"known":3,"total":2`) {
		t.Errorf("explain %s: got %s", dead.IP, got)
	}
	for path, says := range map[string]string{
		"/":                                 "2 Degraded",
		"/services/" + p.namespace + "/web": "2 of 3 nodes ready in " + p.namespace + "/web",
	} {
		if page := s.get(s.admin, path); !strings.Contains(page, says) {
			t.Errorf("the page %s says nothing of %q:\n%s", path, says, page)
		}
	}
	for path, says := range map[string]string{
		"/api/v1/services/" + p.namespace + "/greedy": "may not use a pool secret",
	} {
		if code, text := s.refused(path); code != http.StatusNotFound || !strings.Contains(text, says) {
			t.Errorf("%s: got %d %s, want 404 and %q", path, code, text, says)
		}
	}
	p.nodes[0].backends[0].start(t)
	p.want()
	s.awaitTargets("?condition=Healthy", "both Healthy 5/5, shop Healthy 2/2, web Healthy 3/3")
}

// refused returns status and body of a path of ADMIN_ADDRESS.
func (s *surfaces) refused(path string) (int, string) {
	s.world.t.Helper()
	response, err := http.Get("http://" + s.admin + path)
	if err != nil {
		s.world.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.world.t.Fatal(err)
	}
	return response.StatusCode, string(text)
}
