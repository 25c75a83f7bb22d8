//go:build lab

package envoy_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig/envoyconfigtest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/envoy"
)

// TestContract107EnvoyHasTheMetricsThatAlertsAndDashboardAskFor reads the list that
// test/monitoring holds rules and dashboard against.
func TestContract107EnvoyHasTheMetricsThatAlertsAndDashboardAskFor(t *testing.T) {
	list, err := os.ReadFile("../monitoring/testdata/envoy-metrics.txt")
	if err != nil {
		t.Fatal(err)
	}
	e := envoy.Start(t, envoy.Options{Bootstrap: bootstrap(t, "--server", serve(t, envoyconfigtest.Defaults()), "--health", "127.0.0.1:9902", "--max-heap-bytes", "1000000000")})
	stats := e.Get("/stats/prometheus")
	for line := range strings.Lines(string(list)) {
		words := strings.Fields(line)
		series := regexp.MustCompile(`(?m)^` + words[0] + `\{([^}]*)\} `).FindStringSubmatch(stats)
		if series == nil {
			t.Errorf("Envoy has no %s", words[0])
			continue
		}
		if len(words) > 1 && words[1] == "envoy_cluster_name" && !strings.Contains(stats, words[0]+`{envoy_cluster_name="web/shop/80"} `) {
			t.Errorf("%s: not of the port 80 of the Service shop/web", words[0])
		}
		for _, label := range words[1:] {
			if !strings.Contains(","+series[1], ","+label+"=") {
				t.Errorf("%s: no label %s in {%s}", words[0], label, series[1])
			}
		}
	}
}
