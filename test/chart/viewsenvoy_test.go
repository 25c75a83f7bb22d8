//go:build lab

package chart_test

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/envoy"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/stage"
)

// TestContract121AnEnvoyOfTheChartCarriesRequests: a real Envoy starts from what the command
// in the notes of the chart writes, and nothing else. Its listener is that of the values.
func TestContract121AnEnvoyOfTheChartCarriesRequests(t *testing.T) {
	netns.Require(t)
	x := installXDS(t, newCloud(t, controlplane.Start(t, controlplane.Options{Audit: true, ControllerManager: true})))
	backends := httpBackends(t, 2)
	x.shows(t, "web", backends[0])
	first := x.serve(t, 0)
	proxy := envoy.Start(t, envoy.Options{Bootstrap: x.bootstrap(t)})
	stage.Until(t, "requests come to the first backend", func() bool { return answerOf() == backends[0].String() })
	x.moves(t, "web", backends[1])
	stage.Until(t, "requests come to the second backend", func() bool { return answerOf() == backends[1].String() })

	x.ends(t, 0, first)
	if got := answerOf(); got != backends[1].String() {
		t.Errorf("without a replica a request comes to %q, want %s", got, backends[1])
	}
	x.serve(t, 1)
	x.moves(t, "web", backends[0])
	stage.Until(t, "requests follow the other replica", func() bool { return answerOf() == backends[0].String() })
	if got := proxy.Stat("cluster_manager.cds.update_rejected"); got != 0 {
		t.Errorf("Envoy rejected %d answers", got)
	}
}

// httpBackends answer with their address.
func httpBackends(t *testing.T, count int) []netip.AddrPort {
	t.Helper()
	var all []netip.AddrPort
	for _, address := range netns.Addresses(t, count) {
		at := netip.AddrPortFrom(address, 9090)
		listener, err := net.Listen("tcp", at.String())
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, at) }))
		server.Listener.Close()
		server.Listener = listener
		server.Start()
		t.Cleanup(server.Close)
		all = append(all, at)
	}
	return all
}

// answerOf is what a request to the listener of the fleet is answered with; empty for none.
func answerOf() string {
	client := http.Client{Timeout: stage.WaitTimeout, Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Get(fmt.Sprintf("http://127.0.0.1:%d/", edgePort))
	if err != nil {
		return ""
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil || response.StatusCode != http.StatusOK {
		return ""
	}
	return string(text)
}
