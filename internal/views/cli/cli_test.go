package cli_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/cli"
)

// carryOut runs a command line and returns its exit status and what it printed.
func carryOut(t *testing.T, environ []string, args ...string) (code int, stdout, stderr string) {
	t.Helper()
	var out, err bytes.Buffer
	program := cli.Program{Version: "v1.2.3", Environ: environ, Stdout: &out, Stderr: &err}
	code = program.Run(t.Context(), args)
	return code, out.String(), err.String()
}

func TestAWrongCommandLineSaysWhatToWrite(t *testing.T) {
	for line, want := range map[string]string{
		"gte":                         `unknown command "gte" for "endpoint-views"; did you mean get?`,
		"bogus":                       "`endpoint-views --help` lists the commands",
		"get a b":                     "give one, or none",
		"get -o xml":                  "has to be text, wide, json, yaml or name",
		"get --server endpoint-views": "https://endpoint-views:8443",
		"get --server http://x:1 --token-file /nowhere":                "a token is not sent without TLS",
		"get --server http://127.x.com:1 --token-file /nowhere":        "a token is not sent without TLS",
		"get --server https://x:1 --ca /nowhere":                       "read --ca",
		"get --server https://x:1 --certificate /nowhere --key /there": "read --certificate and --key",
		"explain":           "give one",
		"explain web":       "no IP address",
		"explain fe80::1%1": "no IP address",
		"serve now":         "unknown command",
	} {
		code, _, stderr := carryOut(t, nil, strings.Fields(line)...)
		if code != 2 || !strings.Contains(stderr, want) {
			t.Errorf("%s: got %d %s, want 2 and %q", line, code, stderr, want)
		}
	}
}

func TestEveryMistakeOfTheConfigurationIsReportedAtOnce(t *testing.T) {
	code, _, stderr := carryOut(t, []string{"VIEWS_ADDRESS=0.0.0.0:1", "VIEWS_MAX_CLIENTS=0"}, "serve")
	if code != 2 || !strings.Contains(stderr, "VIEWS_ADDRESS") || !strings.Contains(stderr, "VIEWS_MAX_CLIENTS") {
		t.Errorf("got %d %s", code, stderr)
	}
}

func TestConfigShowsValidatesAndExplainsTheConfiguration(t *testing.T) {
	environ := []string{"VIEWS_NAMESPACES=shop", "VIEWS_MAX_STREAMS=3"}
	for line, want := range map[string][]string{
		"config":                 {"show", "validate", "docs"},
		"config show":            {"VIEWS_NAMESPACES", "shop", "environment", "127.0.0.1:8082", "default", "(no TLS)"},
		"config show -o json":    {`"variable": "VIEWS_NAMESPACES",`, `"value": "shop",`, `"origin": "environment",`},
		"config show -o yaml":    {"- origin: environment", "variable: VIEWS_NAMESPACES"},
		"config validate":        {"The configuration is valid.", "warning: VIEWS_MAX_STREAMS"},
		"config docs":            {settings.ViewsReference()},
		"config validate --help": {"exit status 2"},
	} {
		code, stdout, stderr := carryOut(t, environ, strings.Fields(line)...)
		for _, one := range want {
			if code != 0 || !strings.Contains(stdout+stderr, one) {
				t.Errorf("%s: got %d\n%s%s\nwant %q in it", line, code, stdout, stderr, one)
			}
		}
	}
	code, _, stderr := carryOut(t, []string{"VIEWS_ADDRESS=0.0.0.0:1", "VIEWS_MAX_CLIENTS=0"}, "config", "validate")
	if code != 2 || !strings.Contains(stderr, "VIEWS_ADDRESS") || !strings.Contains(stderr, "VIEWS_MAX_CLIENTS") {
		t.Errorf("got %d %s, want 2 and both mistakes", code, stderr)
	}
	if code, _, stderr := carryOut(t, nil, "config", "shwo"); code != 2 || !strings.Contains(stderr, "did you mean show?") {
		t.Errorf("got %d %s, want 2 and what was meant", code, stderr)
	}
}

func TestVersion(t *testing.T) {
	if code, stdout, _ := carryOut(t, nil, "--version"); code != 0 || !strings.HasPrefix(stdout, "endpoint-views v1.2.3 (go") {
		t.Errorf("got %d %s", code, stdout)
	}
}

const view = `{"apiVersion":"endpoints.ablmnzde.github.io/v1alpha1","kind":"EndpointView","metadata":{"name":"web.http.10-0-0-1.8080","namespace":"shop"},` +
	`"spec":{"serviceName":"web","type":"ClusterIP","portName":"http","port":80,"protocol":"TCP","address":"10.0.0.1","targetPort":8080,"state":"ready","zone":"z\u001b[31m"}}`

const port = `{"apiVersion":"endpoints.ablmnzde.github.io/v1alpha1","kind":"ServicePortView","metadata":{"name":"web.http","namespace":"shop"},` +
	`"spec":{"serviceName":"web","type":"ClusterIP","portName":"http","port":80,"protocol":"TCP","endpoints":[{"address":"10.0.0.1","targetPort":8080,"state":"ready"}]}}`

// answering is a server of one view. The first stream ends after the state at the
// beginning; one that resumes from there reports that the view is gone, and the next
// is refused.
func answering(t *testing.T, items string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Query().Get("namespace") == "secret":
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"kind":"Status","code":403,"reason":"Forbidden","message":"client a/b may not see namespace secret"}`)
		case r.URL.Query().Get("resourceVersion") == "7.7": // where the first stream ended
			fmt.Fprintf(w, `{"type":"DELETED","object":%s}`+"\n"+`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"8.8"}}}`+"\n", view)
		case r.URL.Query().Get("resourceVersion") == "8.8":
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, `{"kind":"Status","code":401,"reason":"Unauthorized","message":"the token is none of those"}`)
		case r.URL.Query().Get("watch") == "true":
			object := view
			if r.URL.Query().Get("gather") == "true" {
				object = port
			}
			fmt.Fprintf(w, `{"type":"ADDED","object":%s}`+"\n"+`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"7.7","annotations":{"k8s.io/initial-events-end":"true"}}}}`+"\n", object)
		default:
			fmt.Fprintf(w, `{"metadata":{"annotations":{"endpoints.ablmnzde.github.io/stale-since":"T"}},"items":[%s]}`, items)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestGetPrintsEachForm(t *testing.T) {
	server := answering(t, view)
	for args, want := range map[string]string{
		"-n shop": "SERVICE   PORT          ADDRESS    TARGETPORT   STATE   SINCE\nweb       http:80/TCP   10.0.0.1   8080         ready   -\n",
		"-A":      "NAMESPACE   SERVICE   PORT          ADDRESS    TARGETPORT   STATE   SINCE\nshop        web       http:80/TCP   10.0.0.1   8080         ready   -\n",
		"-o wide": "ZONE", "-o name": "endpointview/web.http.10-0-0-1.8080\n", "-o json": `"kind": "EndpointViewList"`, "-o yaml": "kind: EndpointViewList\n",
		"-w -o name":  "ADDED endpointview/web.http.10-0-0-1.8080\nDELETED endpointview/web.http.10-0-0-1.8080\n",
		"-w -o json":  `{"type":"DELETED","object":{"apiVersion"`,
		"-w":          "EVENT",
		"-w --gather": "1/1",
	} {
		code, stdout, stderr := carryOut(t, nil, append([]string{"get", "--server", server}, strings.Fields(args)...)...)
		if ends := strings.Contains(args, "-w"); ends != (code == 4) || !ends && code != 0 || !strings.Contains(stdout, want) {
			t.Errorf("%s: got %d\n%s%s\nwant\n%s", args, code, stdout, stderr, want)
		}
		if strings.Contains(stdout, "\x1b") {
			t.Errorf("%s: a terminal would obey %q", args, stdout)
		}
	}
}

func TestGetSaysThatThereIsNothingAndWhy(t *testing.T) {
	code, _, stderr := carryOut(t, nil, "get", "--server", answering(t, ""))
	if code != 1 || !strings.Contains(stderr, "endpoints.ablmnzde.github.io/views") || !strings.Contains(stderr, "last state") {
		t.Errorf("got %d %s, want 1, the annotation, and that the state is the last one", code, stderr)
	}
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"status":"ok"}`) }))
	t.Cleanup(other.Close)
	if code, _, stderr := carryOut(t, nil, "get", "--server", other.URL); code != 4 || !strings.Contains(stderr, "is no list") {
		t.Errorf("got %d %s of another server, want 4 and that it gave no list", code, stderr)
	}
	code, _, stderr = carryOut(t, nil, "get", "-n", "secret", "--server", answering(t, ""))
	if code != 4 || !strings.Contains(stderr, "may not see namespace secret") {
		t.Errorf("got %d %s, want 4 and why", code, stderr)
	}
}

func TestAWatchThatCannotBeginOrIsRefusedEndsAndSaysWhy(t *testing.T) {
	closed := httptest.NewServer(nil)
	closed.Close()
	silent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).Flush() // a test server's can
		<-r.Context().Done()
	}))
	t.Cleanup(silent.Close)
	for args, want := range map[string]string{
		"--server " + closed.URL:                     "refused",
		"--server " + silent.URL + " --timeout 50ms": "--timeout",
		"-n secret --server " + answering(t, ""):     "may not see namespace secret",
		"--server " + answering(t, ""):               "the token is none of those",
	} {
		code, _, stderr := carryOut(t, nil, append([]string{"get", "-w"}, strings.Fields(args)...)...)
		if code != 4 || !strings.Contains(stderr, want) || strings.Contains(stderr, "asking again") {
			t.Errorf("%s: got %d %s, want 4 and %q at once", args, code, stderr, want)
		}
	}
}

// TestContract189WhatAServerSaysMovesNoCursor: its messages come from elsewhere, in a list and
// in a stream, at the beginning and later.
func TestContract189WhatAServerSaysMovesNoCursor(t *testing.T) {
	const quoted = `"\u001b]0;owned\u0007\u001b[2J"`
	var streams atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Query().Get("watch") == "":
			fmt.Fprintf(w, `{"metadata":{"annotations":{"endpoints.ablmnzde.github.io/stale-since":%s}},"items":[]}`, quoted)
		case streams.Add(1) == 1:
			fmt.Fprintln(w, `{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"7.7","annotations":{"k8s.io/initial-events-end":"true"}}}}`)
			fmt.Fprintf(w, `{"type":"ERROR","object":{"kind":"Status","code":500,"message":%s}}`+"\n", quoted)
		default:
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprintf(w, `{"kind":"Status","code":403,"message":%s}`, quoted)
		}
	}))
	t.Cleanup(server.Close)
	for args, want := range map[string]string{"": "last state", "-w": "asking again"} {
		code, _, stderr := carryOut(t, nil, append([]string{"get", "--server", server.URL}, strings.Fields(args)...)...)
		if code == 0 || !strings.Contains(stderr, want) || !strings.Contains(stderr, "owned") || strings.ContainsAny(stderr, "\x1b\x07") {
			t.Errorf("%s: got %d %q, want %q, and nothing that a terminal obeys", args, code, stderr, want)
		}
	}
}

// TestContract189NoFormOfAViewHasCharactersThatATerminalHides: neither a list nor a watch.
func TestContract189NoFormOfAViewHasCharactersThatATerminalHides(t *testing.T) {
	hidden := strings.NewReplacer("web.http", "web.\u202ehttp", `"zone":"z`, `"zone":"z`+"\u202e\x7f").Replace(view)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Query().Get("watch") == "":
			fmt.Fprintf(w, `{"items":[%s]}`, hidden)
		case r.URL.Query().Get("resourceVersion") == "":
			fmt.Fprintf(w, `{"type":"ADDED","object":%s}`+"\n"+`{"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"7.7","annotations":{"k8s.io/initial-events-end":"true"}}}}`+"\n", hidden)
		default:
			w.WriteHeader(http.StatusForbidden)
		}
	}))
	t.Cleanup(server.Close)
	for _, args := range []string{"-o json", "-o yaml", "-o name", "-o wide", "-w -o json", "-w -o yaml", "-w -o name", "-w -o wide"} {
		_, stdout, stderr := carryOut(t, nil, append([]string{"get", "--server", server.URL}, strings.Fields(args)...)...)
		if !strings.Contains(stdout, "web.") || strings.ContainsAny(stdout, "\u202e\x7f\x1b") {
			t.Errorf("%s: got %q, want a view, and nothing that a terminal hides\n%s", args, stdout, stderr)
		}
	}
}

func TestExplainOfAnAddressAsksNoServer(t *testing.T) {
	if code, _, stderr := carryOut(t, nil, "explain", "10.0.0.1", "--server", "http://127.0.0.1:1"); code != 2 || !strings.Contains(stderr, "--server needs --client") {
		t.Errorf("got %d %q, want 2 and what goes together", code, stderr)
	}
}

func TestServeSaysThatItsKubeconfigIsMissing(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out, err bytes.Buffer
	kubeconfig := t.TempDir() + "/missing"
	program := cli.Program{Environ: []string{"KUBECONFIG=" + kubeconfig}, Stdout: &out, Stderr: &err}
	if code := program.Run(ctx, []string{"serve"}); code != 2 || !strings.Contains(err.String(), kubeconfig) {
		t.Errorf("got %d %s, want that the kubeconfig is missing", code, err.String())
	}
}
