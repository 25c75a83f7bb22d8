//go:build lab

package envoy_test

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/envoy"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

func TestMain(m *testing.M) {
	netns.EnterNamed()
	m.Run()
}

// answering is a configuration that answers every request by itself.
const answering = `
static_resources:
  listeners:
  - name: web
    address: {socket_address: {address: 127.0.0.1, port_value: 8080}}
    filter_chains:
    - filters:
      - name: envoy.filters.network.http_connection_manager
        typed_config:
          "@type": type.googleapis.com/envoy.extensions.filters.network.http_connection_manager.v3.HttpConnectionManager
          stat_prefix: web
          access_log:
          - name: envoy.access_loggers.stdout
            typed_config:
              "@type": type.googleapis.com/envoy.extensions.access_loggers.stream.v3.StdoutAccessLog
              log_format: {text_format_source: {inline_string: "%REQ(:METHOD)% %RESPONSE_CODE%\n"}}
          http_filters:
          - name: envoy.filters.http.router
            typed_config: {"@type": type.googleapis.com/envoy.extensions.filters.http.router.v3.Router}
          route_config:
            virtual_hosts:
            - {name: web, domains: ["*"], routes: [{match: {prefix: /}, direct_response: {status: 200, body: {inline_string: hello}}}]}
`

func TestEnvoyRunsInANamespace(t *testing.T) {
	netns.Require(t)
	const namespace = "envoy"
	netns.Add(t, namespace)
	e := envoy.Start(t, envoy.Options{Namespace: namespace, Bootstrap: answering})
	client := http.Client{Timeout: 5 * time.Second, Transport: &http.Transport{DisableKeepAlives: true,
		DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
			return netns.Dial(ctx, namespace, network, address)
		}}}
	response, err := client.Get("http://127.0.0.1:8080/")
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(response.Body)
	response.Body.Close()
	if err != nil || string(body) != "hello" {
		t.Errorf("got %q, %v", body, err)
	}
	if got := e.Stat("http.web.downstream_rq_2xx"); got != 1 {
		t.Errorf("got %d answers in the stats, want 1", got)
	}
	if dump := e.ConfigDump(); !strings.Contains(dump, `"stat_prefix": "web"`) {
		t.Errorf("got the configuration %s", dump)
	}
	e.Stop()
	// The access log is complete when Envoy has ended.
	if got, want := fmt.Sprint(e.AccessLog()), "[GET 200]"; got != want {
		t.Errorf("access log: got %s, want %s", got, want)
	}
}

func TestEnvoyJudgesAConfiguration(t *testing.T) {
	if err := envoy.Validate(t, answering); err != nil {
		t.Error(err)
	}
	wrong := strings.Replace(answering, "stat_prefix", "stat_prefiks", 1)
	if err := envoy.Validate(t, wrong); err == nil || !strings.Contains(err.Error(), "stat_prefiks") {
		t.Errorf("got %v, want what is wrong", err)
	}
}
