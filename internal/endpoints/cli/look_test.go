package cli_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/cli"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
)

// says checks the exit status of a command, and the parts of what it prints, in this
// order.
func says(t *testing.T, environ []string, command string, code int, parts ...string) (stdout, stderr string) {
	t.Helper()
	got, stdout, stderr := run(t, environ, strings.Fields(command)...)
	if got != code {
		t.Errorf("%s: got status %d, want %d; it says\n%s%s", command, got, code, stdout, stderr)
	}
	rest := strings.Join(strings.Fields(stdout+stderr), " ")
	for _, part := range parts {
		_, after, found := strings.Cut(rest, part)
		if !found {
			t.Errorf("%s: got no %q after what was said before, in\n%s%s", command, part, stdout, stderr)
		}
		rest = after
	}
	return stdout, stderr
}

func TestDiffShowsWhatOneRunWouldChangeInEachService(t *testing.T) {
	t.Parallel()
	s := newShops(t)
	stdout, _ := says(t, s.environ(t), "diff -A", 1, "desired/blog/shop.green", "desired/shop/both.blue", "desired/shop/both.green", "desired/shop/web.blue")
	if strings.Count(stdout, "+++ ") != 4 || s.writes != 0 {
		t.Errorf("got %d writes and %s", s.writes, stdout)
	}
	stdout, _ = says(t, s.environ(t), "diff -n shop web -o json", 1)
	var document struct {
		Writes []struct{ Operation, Slice, Namespace, Service, Pool, Diff string }
	}
	err := json.Unmarshal([]byte(stdout), &document)
	if all := document.Writes; err != nil || len(all) != 1 || all[0].Service != "web" || all[0].Namespace != "shop" || all[0].Pool != "blue" || all[0].Slice != "web.blue" {
		t.Errorf("got %v and %s", err, stdout)
	}
	s.filled(t)
	for _, command := range []string{"diff -A", "diff -n shop", "diff -n shop web"} {
		if stdout, stderr := says(t, s.environ(t), command, 0); stdout+stderr != "" {
			t.Errorf("%s: got %s%s, want nothing", command, stdout, stderr)
		}
	}
	s.green(t, `[`)
	says(t, s.environ(t), "diff -A", cli.ExitSource, "blog/shop, pool green: read source", "not every Service could be compared: 1 of 3 Services")
	says(t, s.environ(t), "diff -n shop web", 0)
	says(t, s.environ(t), "diff -n shop none", 1, "Service shop/none is not known")
}

func TestStatusShowsPoolsThenServicesWorstFirst(t *testing.T) {
	t.Parallel()
	s := newShops(t)
	s.filled(t)
	s.service("blog", "greedy", 8080, map[string]string{"endpoints.ablmnzde.github.io/pool": "secret"})
	stdout, stderr := says(t, s.environ(t), "status -A", 1, "3 of 4 Services healthy: 1 Refused",
		"POOL STATE NODES READY DOWN DRAINING SERVICES READ MESSAGE", "blue Healthy 2 2 0 0 2", "green Healthy 1 1 0 0 2",
		"NAMESPACE SERVICE STATE READY POOLS MESSAGE", "blog greedy Refused 0/0 secret(refused) PoolNotAllowed: namespace blog may not use a pool secret",
		"blog shop Healthy 1/1 green", "shop both Healthy 3/3 blue,green", "shop web Healthy 2/2 blue")
	if !strings.Contains(stderr, "No answer from the daemon") || s.writes != 4 {
		t.Errorf("got %d writes, stdout %s and stderr %s", s.writes, stdout, stderr)
	}
	says(t, s.environ(t), "status -A -o wide --compute", 1, "POOL STATE SOURCE NODES", "blue Healthy static", "green Healthy file", "no check", "LEAVES")
	says(t, s.environ(t), "status -n shop web --compute", 0, "2 of 2 nodes ready in shop/web", "b1", "10.0.0.11", "ready")
	says(t, s.environ(t), "status -n blog greedy --compute", 1, "no endpoint is published for Service blog/greedy", "may not use a pool secret")
	says(t, s.environ(t), "status -n shop none --compute", 1, "Service shop/none is not known")
	stdout, _ = says(t, s.environ(t), "status -n shop --compute -o json", 1)
	var shown report.Services
	if err := json.Unmarshal([]byte(stdout), &shown); err != nil || len(shown.Services) != 2 || len(shown.Pools) != 2 {
		t.Errorf("got %v and %s, want the Services of the namespace", err, stdout)
	}
}

func TestExplainSaysForEveryServiceWhy(t *testing.T) {
	t.Parallel()
	s := newShops(t)
	s.filled(t)
	s.service("blog", "greedy", 8080, map[string]string{"endpoints.ablmnzde.github.io/pool": "secret"})
	s.green(t, `[{"name": "g1", "private_ip": "10.0.0.31", "ready": true, "worker": true}, {"name": "g2", "private_ip": "192.168.1.1", "ready": true, "worker": true}]`)
	environ := append(s.environ(t), "EXTRA=1")
	says(t, environ, "explain -A 10.0.0.11 --compute", 0, "10.0.0.11 is known to 2 of 3 Services, and published ready by 2.",
		"NAMESPACE SERVICE POOL NODE ADDRESS STATE REASON MESSAGE", "shop both blue b1 10.0.0.11 ready Ready", "shop web blue b1 10.0.0.11 ready Ready")
	says(t, environ, "explain -A g2 --compute", 1, "g2 is known to 2 of 3 Services, and published ready by 0.", "blog shop green g2 192.168.1.1 absent OutsideSubnet", "10.0.0.0/24")
	says(t, environ, "explain -A 10.9.9.9 --compute", 1, "10.9.9.9 is unknown: no pool of 3 Services lists a node with this name, id or address.")
	says(t, environ, "explain -n shop 10.0.0.31 --compute", 0, "10.0.0.31 is known to 1 of 2 Services", "shop both green g1")
	says(t, environ, "explain -n shop web b1 --compute", 0, "b1 is published ready.")
	// Contract 117: blog/shop has an annotation for the pool and none for the check.
	says(t, environ, "explain -n blog shop g1 --compute", 0, "Means present; published ready without a check, because EndpointPool green spec.healthCheck.mode=None", "not checked, counts as passing (EndpointPool green spec.healthCheck.mode=None)")
	says(t, environ, "explain -n shop web 10.0.0.31 --compute", 1, "10.0.0.31 is unknown")
	says(t, environ, "explain -n blog greedy 10.0.0.11 --compute", 1, "may not use a pool secret")
	says(t, environ, "explain -n shop none 10.0.0.11 --compute", 1, "Service shop/none is not known")
}

func TestTheOneServiceOfVariablesIsAskedForByName(t *testing.T) {
	t.Parallel()
	environ := replacedIn(base, "STATIC_NODES=w1=127.0.0.11,w2=127.0.0.12")
	says(t, environ, "status -n default web --compute", 0, "2 of 2 nodes ready in default/web")
	says(t, environ, "status -A --compute", 0, "1 of 1 Services healthy", "remote Healthy", "default web Healthy 2/2 remote")
	says(t, environ, "explain -A w1 --compute", 0, "w1 is known to 1 of 1 Service, and published ready by 1.", "default web remote w1 127.0.0.11 ready")
	says(t, environ, "explain -n default web w1 --compute", 0, "w1 is published ready.")
	says(t, environ, "diff -n default web", 1, "desired/default/web-remote")
	says(t, environ, "diff -A", 1, "desired/default/web-remote")
}

// manyDaemon answers as a daemon with that many healthy Services does, and one that is
// refused.
func manyDaemon(t *testing.T, services int) (address string) {
	t.Helper()
	var all []report.ServiceStatus
	all = append(all, report.ServiceStatus{Namespace: "blog", Service: "greedy", Condition: report.Refused, Refusals: []report.Refusal{{Pool: "x", Reason: "PoolNotAllowed", Message: "may not"}}})
	for i := range services {
		all = append(all, report.ServiceStatus{Namespace: "shop", Service: fmt.Sprintf("web-%04d", i), Condition: report.Healthy, ReadyEndpoints: 2, Endpoints: 2, Pools: []report.PoolUse{{Name: "blue", State: report.Active}}})
	}
	return daemonOf(t, all)
}

// daemonOf answers as a daemon with these Services does.
func daemonOf(t *testing.T, all []report.ServiceStatus) (address string) {
	t.Helper()
	now := time.Now().UTC().Truncate(time.Millisecond)
	mux := http.NewServeMux()
	mux.HandleFunc("GET /api/v1/services", func(w http.ResponseWriter, r *http.Request) {
		var limit, offset int
		_, _ = fmt.Sscan(r.FormValue("limit"), &limit)
		_, _ = fmt.Sscan(r.FormValue("offset"), &offset)
		page := report.Services{Headline: report.Headline{Head: report.Head{APIVersion: "v1", At: now, Decided: true, Leader: true}, Summary: "all but one", Condition: report.Degraded}, Known: len(all), Total: len(all), Offset: offset}
		page.Services = all[min(offset, len(all)):min(offset+limit, len(all))]
		answerJSON(w, http.StatusOK, page)
	})
	mux.HandleFunc("GET /api/v1/services/{namespace}/{service}", func(w http.ResponseWriter, r *http.Request) {
		if r.PathValue("service") != "web" {
			http.Error(w, "Service "+r.PathValue("namespace")+"/"+r.PathValue("service")+" asks for no pool", http.StatusNotFound)
			return
		}
		answerJSON(w, http.StatusOK, document(func(d *report.Document) { d.Service.Namespace = "shop"; d.Summary = "2 of 2 nodes ready in shop/web" }))
	})
	mux.HandleFunc("GET /api/v1/explain", func(w http.ResponseWriter, r *http.Request) {
		e := report.Explanation{Head: report.Head{APIVersion: "v1", At: now, Decided: true, Leader: true}, Subject: r.FormValue("subject"), Known: 3, Total: 1}
		e.Services = []report.ExplainedService{{Namespace: "shop", Service: "web-0001", Nodes: []report.Node{{Name: "b1", Address: "10.0.0.11", State: "down", Reason: "ProbeRefused", Message: "connection refused", Pool: "blue"}}}}
		answerJSON(w, http.StatusOK, e)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	return "ADMIN_ADDRESS=" + server.Listener.Addr().String()
}

func TestTheDaemonIsAskedForManyServicesPageByPage(t *testing.T) {
	t.Parallel()
	environ := append(mounted(t, poolAndBinding), manyDaemon(t, 2*report.MaxLimit))
	stdout, stderr := says(t, environ, "status -A", 1, "all but one", "blog greedy Refused 0/0 x(refused) PoolNotAllowed: may not", "shop web-1999 Healthy 2/2 blue")
	if strings.Count(stdout, "\n") < 2*report.MaxLimit || stderr != "" {
		t.Errorf("got %d lines and %q", strings.Count(stdout, "\n"), stderr)
	}
	stdout, _ = says(t, environ, "status -A -o json", 1)
	var shown report.Services
	if err := json.Unmarshal([]byte(stdout), &shown); err != nil || len(shown.Services) != 2*report.MaxLimit+1 {
		t.Errorf("got %v and %d Services", err, len(shown.Services))
	}
	says(t, environ, "status -n shop web", 0, "2 of 2 nodes ready in shop/web", "a-worker")
	says(t, environ, "status -n shop none", 1, "Service shop/none asks for no pool")
	says(t, environ, "explain -n shop web a-worker", 0, "a-worker is published ready.")
	says(t, environ, "explain -A 10.0.0.11", 1, "10.0.0.11 is known to 1 of 3 Services, and published ready by 0.", "shop web-0001 blue b1 10.0.0.11 down ProbeRefused connection refused")
}

// Contract 229: the commands are about the only Service without being told so.
func TestContract229TheOnlyServiceNeedsNoName(t *testing.T) {
	t.Parallel()
	web := report.ServiceStatus{Namespace: "shop", Service: "web", Condition: report.Healthy}
	environ := append(mounted(t, poolAndBinding), daemonOf(t, []report.ServiceStatus{web}))
	says(t, environ, "status", 0, "2 of 2 nodes ready in shop/web", "a-worker")
	says(t, environ, "status --wait", 0, "2 of 2 nodes ready in shop/web")
	says(t, environ, "explain a-worker", 0, "a-worker is published ready.")
	s := newShops(t)
	delete(s.documents, "both")
	s.service("blog", "shop", 8080, nil)
	says(t, s.environ(t), "status --compute", 1, "of 2 nodes ready in shop/web", "b1")
	says(t, s.environ(t), "explain --compute b1", 0, "b1 is published ready.")
	says(t, s.environ(t), "diff", 1, "desired/shop/web.blue")
	says(t, newShops(t).environ(t), "diff", 2, "name one with `diff -n NAMESPACE SERVICE`, or take all with `diff -A`")
	for address, environ := range map[string][]string{"--compute": newShops(t).environ(t), "": append(mounted(t, poolAndBinding), manyDaemon(t, 2))} {
		says(t, environ, "status "+address, 2, "name one with `status -n NAMESPACE SERVICE`, or take all with `status -A`")
		says(t, environ, "status --wait "+address, 2, "name one with `status -n NAMESPACE SERVICE`")
		says(t, environ, "explain 10.0.0.12 "+address, 2, "name one with `explain -n NAMESPACE SERVICE NODE|IP`, or take all with `explain -A NODE|IP`")
	}
}

// An older daemon does not know the paths for many Services.
func TestADaemonThatDoesNotKnowManyServicesIsNotBelieved(t *testing.T) {
	t.Parallel()
	environ := replacedIn(replacedIn(base, "STATIC_NODES=w1=127.0.0.11,w2=127.0.0.12"), daemon(t, unchanged)[0])
	_, stderr := says(t, environ, "status -A", 0, "1 of 1 Services healthy")
	if !strings.Contains(stderr, "the answer is 404 Not Found; evaluating locally instead.") {
		t.Errorf("got %q", stderr)
	}
}

// Expiry of the credentials of a pool, by their files.
func TestCheckSaysWhenTheCredentialsOfAPoolExpire(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		left time.Duration
		want string
	}{{20 * day, "ok"}, {13 * day, "warn"}, {-time.Minute, "fail"}} {
		token, expires := tokenOf(365*day, test.left)
		nothing := []string{"SOURCE_TIMEOUT=1s", "IONOS_API_URL=https://127.0.0.1:1"}
		environ := append(mounted(t, poolAndBinding), nothing...)
		_, dir, _ := strings.Cut(environ[1], "=")
		writeFile(t, dir+"/blue/kubeconfig", strings.Replace(remoteKubeconfig, "opaque", token, 1))
		_, report := checked(t, environ)
		found := false
		for _, c := range report.Checks {
			found = found || c.ID == "source-credential" && string(c.Result) == test.want && strings.Contains(c.Message, expires.UTC().Format(time.RFC3339)) &&
				strings.Contains(c.Remedy, "EndpointPool blue spec.credentials") == (test.want != "ok")
		}
		if !found || strings.Contains(fmt.Sprint(report), tokenCanary[:8]) {
			t.Errorf("%v left: got %+v, want one that is %s, with the date", test.left, report.Checks, test.want)
		}
		writeFile(t, dir+"/blue/token", token)
		cloudy := strings.Replace(poolAndBinding, "kubernetes: {}", "ionos: {datacenterID: 8feda53f-15f0-447f-badf-ebe32dad2fc0, lanID: 2}", 1)
		_, report = checked(t, append(append(mounted(t, cloudy)[:1], environ[1]), nothing...), "--only", "source")
		found = false
		for _, c := range report.Checks {
			found = found || c.ID == "source-credential" && string(c.Result) == test.want
		}
		if !found {
			t.Errorf("%v left: got %+v, want the token that is %s", test.left, report.Checks, test.want)
		}
	}
}

// TestContract229ASecondServiceChangesNoShape: as JSON and YAML, unless a Service is named.
func TestContract229ASecondServiceChangesNoShape(t *testing.T) {
	t.Parallel()
	several := newShops(t).environ(t)
	var named report.Explanation
	_, stdout, _ := run(t, base, "explain", "-n", "default", "web", "127.0.0.11", "--compute", "-o", "json")
	if err := json.Unmarshal([]byte(stdout), &named); err != nil || len(named.Services) != 1 || named.Services[0].Service != "web" || len(named.Services[0].Nodes) != 1 {
		t.Errorf("a Service that is named: got %v in %s, want the list", err, stdout)
	}
	for _, line := range []string{"status", "explain 127.0.0.11"} {
		for _, format := range []string{"json", "yaml"} {
			var shapes [2]struct {
				Services []struct{ Namespace, Service string }
			}
			for i, environ := range [][]string{base, several} {
				_, stdout, stderr := run(t, environ, append(strings.Fields(line), "--compute", "-o", format)...)
				if err := yaml.Unmarshal([]byte(stdout), &shapes[i]); err != nil {
					t.Errorf("%s -o %s: %v in %s%s", line, format, err, stdout, stderr)
				}
			}
			if one := shapes[0].Services; len(one) != 1 || one[0].Namespace != "default" || one[0].Service != "web" {
				t.Errorf("%s -o %s: got %v of the only Service", line, format, one)
			}
			if line == "status" && len(shapes[1].Services) < 2 {
				t.Errorf("%s -o %s: got %v of several Services", line, format, shapes[1].Services)
			}
		}
	}
}
