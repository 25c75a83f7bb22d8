package cli_test

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// streams are two clients of xDS: one has acknowledged, and one rejects.
const streams = `{"streams":[
 {"client":"shop/edge","protocol":"envoy","node":"edge-1","address":"10.9.0.1:4","since":"2026-01-02T03:04:05Z","fleet":{"carrier":"object","problem":"listener has no port"},"sent":[
  {"type":"EDS","resources":[{"name":"web.shop:80","version":"v","sentAt":"2026-01-02T03:04:06Z","acknowledgedAt":"2026-01-02T03:04:07Z"}]}]},
 {"client":"shop/old","protocol":"envoy","node":"old-1","address":"10.9.0.3:4","since":"2026-01-02T03:04:05Z","fleet":{"kept":true},"sent":[
  {"type":"EDS","resources":[{"name":"web.shop:80:tls","version":"v","sentAt":"2026-01-02T03:04:06Z"}]}]},
 {"client":"shop/by-hand","protocol":"envoy","node":"hand-1","address":"10.9.0.4:4","since":"2026-01-02T03:04:05Z","fleet":{},"sent":[]},
 {"client":"shop/filed","protocol":"envoy","node":"filed-1","address":"10.9.0.5:4","since":"2026-01-02T03:04:05Z","fleet":{"carrier":"file"},"sent":[]},
 {"client":"shop/caller","protocol":"grpc","node":"caller-1","address":"10.9.0.2:4","since":"2026-01-02T03:04:05Z","sent":[
  {"type":"EDS","rejected":{"at":"2026-01-02T03:04:08Z","text":"no such zone","resources":["web.shop:80"]},
   "resources":[{"name":"web.shop:80","version":"v","sentAt":"2026-01-02T03:04:06Z"}]},
  {"type":"CDS","resources":[{"name":"web.shop:80","version":"v","sentAt":"2026-01-02T03:04:06Z"}]}]}]}`

// withClients is a server that has clients of xDS.
func withClients(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/api/v1/xds" {
			fmt.Fprint(w, streams)
		}
	}))
	t.Cleanup(server.Close)
	return server.URL
}

func TestContract70ExplainSaysOfAClientWhatItWasSentAndWhatItSaidToThat(t *testing.T) {
	server := withClients(t)
	for args, want := range map[string][]string{
		"--client shop/old":     {"no file or object names it any more, so it keeps its listeners"},
		"--client shop/by-hand": {"no file or object names it, so it gets clusters of every Service"},
		"--client shop/filed":   {"fleet: the file is in effect"},
		"--client shop/edge":    {"shop/edge (envoy, node edge-1 at 10.9.0.1:4)", "the newest version of the object is not in effect: listener has no port", "EDS web.shop:80: sent at 2026-01-02T03:04:06Z, acknowledged at 2026-01-02T03:04:07Z"},
		"--client caller-1":     {"EDS web.shop:80: sent at 2026-01-02T03:04:06Z, rejected, so the client keeps the previous version: no such zone", "CDS web.shop:80: sent at 2026-01-02T03:04:06Z, not acknowledged"},
		"--client shop/other":   {"no stream of a client or node shop/other", "ask the others"},
	} {
		code, stdout, stderr := carryOut(t, nil, append([]string{"explain", "--server", server}, strings.Fields(args)...)...)
		if (code == 1) != strings.Contains(args, "shop/other") {
			t.Errorf("%s: got %d %s", args, code, stderr)
		}
		for _, text := range want {
			if !strings.Contains(stdout, text) {
				t.Errorf("%s: %q is missing in\n%s", args, text, stdout)
			}
		}
	}
	if code, _, stderr := carryOut(t, nil, "explain", "--client", "shop/edge"); code != 2 || !strings.Contains(stderr, "--client needs --server") {
		t.Errorf("got %d %s", code, stderr)
	}
}

func TestBootstrapPrintsOneFileOrWritesAll(t *testing.T) {
	code, stdout, stderr := carryOut(t, nil, "bootstrap", "shop/edge", "--server", "views.infra:18000", "--node", "edge-1")
	if code != 0 || !strings.Contains(stdout, "cluster: shop/edge") || !strings.Contains(stdout, "id: edge-1") || !strings.Contains(stdout, `max_active_downstream_connections: "50000"`) {
		t.Errorf("got %d\n%s%s", code, stdout, stderr)
	}
	out := filepath.Join(t.TempDir(), "etc", "envoy")
	if code, _, stderr := carryOut(t, nil, "bootstrap", "shop/edge", "--certificates", "/tls", "--listener-certificate", "shop=/tls/shop", "--health", "0.0.0.0:9902", "--max-heap-bytes", "500000000", "--out", out); code != 0 {
		t.Fatalf("got %d %s", code, stderr)
	}
	for _, name := range []string{"envoy.yaml", "certificate.yaml", "authority.yaml", "secret-shop.yaml"} {
		if _, err := os.Stat(filepath.Join(out, name)); err != nil {
			t.Error(err)
		}
	}
	file := filepath.Join(out, "envoy.yaml")
	for args, want := range map[string]string{
		"":                              "give the name of one",
		"edge":                          "NAMESPACE/NAME",
		"shop/edge --server views":      "HOST:PORT",
		"shop/edge --server views:http": "number of a port",
		"shop/edge --admin 9901":        "IP address with a port",
		"shop/edge --certificates /tls": "say with --out",
		"shop/edge --certificates /t --out " + file:          "name a folder that you may make or write to",
		"shop/edge --health 9902":                            "--health=9902 is no IP address",
		"shop/edge --max-connections -1":                     "is below 0",
		"shop/edge --listener-certificate a=/b":              "say with --out",
		"shop/edge --out /no --listener-certificate ../a=/b": "no name of a certificate",
	} {
		code, _, stderr := carryOut(t, nil, append([]string{"bootstrap"}, strings.Fields(args)...)...)
		if code == 0 || !strings.Contains(stderr, want) {
			t.Errorf("%s: got %d %s, want %q", args, code, stderr, want)
		}
	}
}

// TestBootstrapReplacesAFileAsAWhole: an Envoy that starts meanwhile reads the old file or
// the new one, and what it has open does not change.
func TestBootstrapReplacesAFileAsAWhole(t *testing.T) {
	out := t.TempDir()
	write := func(node string) {
		t.Helper()
		if code, _, stderr := carryOut(t, nil, "bootstrap", "shop/edge", "--node", node, "--out", out); code != 0 {
			t.Fatalf("got %d %s", code, stderr)
		}
	}
	write("first")
	opened, err := os.Open(filepath.Join(out, "envoy.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	write("second")
	if text, err := io.ReadAll(opened); err != nil || !strings.Contains(string(text), "id: first") {
		t.Errorf("the file changed while it was read: got %v\n%s", err, text)
	}
	if text, err := os.ReadFile(filepath.Join(out, "envoy.yaml")); err != nil || !strings.Contains(string(text), "id: second") {
		t.Errorf("got %v\n%s", err, text)
	}
	if left, err := os.ReadDir(out); err != nil || len(left) != 1 {
		t.Errorf("got %v and files %v, want envoy.yaml alone", err, left)
	}
}
