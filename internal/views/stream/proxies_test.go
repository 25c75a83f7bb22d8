package stream_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/stream"
)

func aStream() map[string]any { return map[string]any{"streams": []string{"a stream"}} }

func TestContract70OnlyAClientOfEveryNamespaceSeesWhatClientsOfXDSWereSent(t *testing.T) {
	s := startWith(t, newCluster(t, "shop"), `
identities:
- {name: shop/haproxy, namespaces: [shop]}
- {name: infra/all, namespaces: ["*"]}
`, stream.Options{Proxies: aStream, Fleets: aStream})
	for uri, want := range map[string]struct {
		code int
		text string
	}{
		"spiffe://cluster.local/ns/infra/client/all":    {http.StatusOK, `{"apiVersion":"v1","streams":["a stream"]}`},
		"spiffe://cluster.local/ns/shop/client/haproxy": {http.StatusForbidden, "may not see the configurations of other clients"},
		"spiffe://cluster.local/ns/shop/client/other":   {http.StatusForbidden, "may see no namespace"},
	} {
		for _, path := range []string{"/api/v1/xds", "/api/v1/fleets"} {
			code, body := get(t, s.client(t, s.ca, uri), s.url+path, "")
			if code != want.code || !strings.Contains(body, want.text) {
				t.Errorf("%s of %s: got %d %s, want %d and %q", path, uri, code, body, want.code, want.text)
			}
		}
	}
}

func TestWithoutXDSItsClientsAreNotFound(t *testing.T) {
	code, body := get(t, http.DefaultClient, loopback(t, newCluster(t, "shop"), current)+"/api/v1/xds", "")
	if code != http.StatusNotFound || !strings.Contains(body, "XDS_ADDRESS") {
		t.Errorf("got %d %s, want 404 and what to set", code, body)
	}
}

// TestContract233WhatProxiesAreToldIsNotSixTimesAsLong: a path of an Envoy may be of nothing else.
func TestContract233WhatProxiesAreToldIsNotSixTimesAsLong(t *testing.T) {
	server := run(t, stream.Options{
		Address: mustAddress("127.0.0.1:0"), Cache: newCluster(t, "shop").Cache, MostClients: 10, MostOfOne: 10, Logger: discard(), Stale: current,
		Fleets: func() map[string]any { return map[string]any{"objects": []string{"<<<&>>>"}} },
	})
	if _, body := get(t, http.DefaultClient, "http://"+server.Address().String()+"/api/v1/fleets", ""); !strings.Contains(body, `"<<<&>>>"`) {
		t.Errorf("got %s, want the text as it is", body)
	}
}
