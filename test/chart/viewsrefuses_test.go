package chart_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
)

// triedOfViews are variables of endpoint-views, right and wrong ones, as [tried] are.
var triedOfViews = map[string][]string{
	"viewsAddress":               {"0.0.0.0:8443", "[::]:8443", "0.0.0.0:70000", "localhost:8443", ":8443", "10.0.0.256:8443", "0.0.0.0:08443x"},
	"metricsAddress":             {"0.0.0.0:8083", "0.0.0.0:65536", "metrics:8083"},
	"xdsAddress":                 {"0.0.0.0:18000", "[::]:18000", "0.0.0.0:99999"},
	"viewsAnnotation":            {"example.com/shown", "shown", "a b", "example.com/", "Example.com/a", "-a"},
	"viewsTrustDomain":           {"cluster.local", "a..b", "a.-b", "Cluster.local", strings.Repeat("a.", 126) + "aa"},
	"viewsMaxClients":            {"1", "10000", "10001", "0"},
	"viewsMaxClientsPerIdentity": {"10001"},
	"xdsMaxClients":              {"10001"},
	"xdsMaxClientsPerIdentity":   {"0"},
	"xdsRetries":                 {"0", "20", "21"},
	"xdsRetryBufferBytes":        {"16383", "16384", "67108865"},
	"xdsTryTimeout":              {"0s", "1h", "61m", "1.2.3s", "250ms", ".s"},
	"xdsRequestTimeout":          {"24h", "24h1s"},
	"xdsStreamIdleTimeout":       {"1s", "999ms"},
	"xdsConnectTimeout":          {"10ms", "9ms", "1m1s", "500000us"},
	"xdsUpstreamIdleTimeout":     {"100ms", "99ms"},
	"xdsEjectAfter":              {"0", "101"},
	"xdsEjectionTime":            {"1h", "2h"},
	"xdsMaxEjectionPercent":      {"101"},
	"xdsPanicPercent":            {"0", "100"},
	"xdsMaxRequests":             {"1000000000", "1000000001"},
}

// TestContract163HelmRefusesWhatEndpointViewsRefuses: as of the other chart.
func TestContract163HelmRefusesWhatEndpointViewsRefuses(t *testing.T) {
	program, bare := built.Views(t), withoutRules(t, viewsDir, "views")
	for key, values := range triedOfViews {
		for _, value := range values {
			t.Run(key+"="+value, func(t *testing.T) {
				t.Parallel()
				args := slices.Concat(complete, xdsOn("--set-string", "views."+key+"="+value))
				helmSays := helm(t, helms[1], append([]string{"template", "edge", viewsDir, "--namespace", "edge"}, args...)...)
				skipped := helm(t, helms[1], append([]string{"template", "edge", bare, "--namespace", "edge", "--skip-schema-validation"}, args...)...)
				if skipped.failed {
					t.Fatalf("without its rules: %s", skipped.stderr)
				}
				var env []string
				for name, value := range environment(daemonPod(t, documents(t, skipped.stdout)).Containers[0]) {
					env = append(env, name+"="+value)
				}
				programSays := run(t, env, program, "config", "validate")
				if helmSays.failed != programSays.failed {
					t.Fatalf("Helm fails: %v, the program fails: %v\n%s\n%s%s", helmSays.failed, programSays.failed, helmSays.stderr, programSays.stdout, programSays.stderr)
				}
				if helmSays.failed && !strings.Contains(helmSays.stderr, key) {
					t.Errorf("got no %q in\n%s", key, helmSays.stderr)
				}
			})
		}
	}
}

// listenersTried are listeners of a fleet, right and wrong ones.
var listenersTried = []string{
	`{"port":80,"service":"web"}`, `{"port":80,"service":"web","proxyProtocol":"Required"}`, `{"port":80,"service":"web","proxyProtocol":true}`,
	`{"port":80}`, `{"port":80,"routes":[]}`, `{"port":80,"httpsRedirectPort":443}`, `{"port":80,"service":"web","httpsRedirectPort":443}`,
	`{"port":80,"service":"web","routes":[{"service":"api"}]}`, `{"port":80,"servicePort":80,"routes":[{"service":"api"}]}`,
	`{"port":80,"protocol":"TCP","service":"web"}`, `{"port":80,"protocol":"TCP","routes":[{"service":"api"}]}`, `{"port":80,"protocol":"TCP","service":"web","trustedHops":1}`,
	`{"port":443,"httpsRedirectPort":443,"tls":{"secretNames":["a"]}}`, `{"port":443,"service":"web","tls":{"secretNames":["a..b"]}}`, `{"port":443,"service":"web","tls":{"secretNames":["a.b"]}}`,
	`{"port":80,"service":"web","address":"::1"}`, `{"port":80,"service":"web","address":"1.2.3"}`,
	`{"port":80,"routes":[{"service":"a","requestTimeout":"24h","idleTimeout":"0s"}]}`, `{"port":80,"routes":[{"service":"a","requestTimeout":"25h"}]}`,
	`{"port":80,"routes":[{"service":"a","idleTimeout":"-1s"}]}`, `{"port":80,"routes":[{"service":"a","idleTimeout":"5"}]}`,
	`{"port":80,"routes":[{"service":"a"},{"service":"b","pathPrefix":"/"}]}`, `{"port":80,"routes":[{"service":"a","pathPrefix":"/a/"},{"service":"b","pathPrefix":"/a"}]}`,
	`{"port":80,"routes":[{"service":"a","hosts":["a.example.com"]},{"service":"b"}]}`,
}

// TestContract163HelmRefusesTheListenersThatEndpointViewsRefuses: with one of them no Pod starts.
func TestContract163HelmRefusesTheListenersThatEndpointViewsRefuses(t *testing.T) {
	bare := withoutRules(t, viewsDir, "views")
	for _, listener := range listenersTried {
		t.Run(listener, func(t *testing.T) {
			t.Parallel()
			args := slices.Concat(complete, xdsOn("--set-json", `xds.fleets=[{"name":"shop/edge","listeners":[`+listener+`]}]`))
			helmSays := helm(t, helms[1], append([]string{"template", "edge", viewsDir, "--namespace", "edge"}, args...)...)
			skipped := helm(t, helms[1], append([]string{"template", "edge", bare, "--namespace", "edge", "--skip-schema-validation"}, args...)...)
			if skipped.failed {
				t.Fatalf("without its rules: %s", skipped.stderr)
			}
			var wrong error
			for _, object := range documents(t, skipped.stdout) {
				if of, is := object.(*corev1.ConfigMap); is && of.Data["fleets.yaml"] != "" {
					path := filepath.Join(t.TempDir(), "fleets.yaml")
					if err := os.WriteFile(path, []byte(of.Data["fleets.yaml"]), 0o600); err != nil {
						t.Fatal(err)
					}
					_, wrong = xds.ReadFleets(path)
				}
			}
			if helmSays.failed != (wrong != nil) {
				t.Errorf("Helm fails: %v, the program says %v\n%s", helmSays.failed, wrong, helmSays.stderr)
			}
		})
	}
}

// TestContract163TheLimitsOfTheChartOfViewsAreThoseOfTheProgram: as of the other chart.
func TestContract163TheLimitsOfTheChartOfViewsAreThoseOfTheProgram(t *testing.T) {
	rows := regexp.MustCompile("(?m)^\\| `([A-Z_]+)` .*Limits: (\\w+) to (\\w+)\\.")
	_, text, _ := strings.Cut(read(t, filepath.Join(viewsDir, "templates", "_forms.tpl")), `{{- define "views.limits" -}}`)
	text, _, _ = strings.Cut(text, "{{- end }}")
	var want strings.Builder
	for _, m := range rows.FindAllStringSubmatch(read(t, "../../docs/reference/endpoint-views-configuration.md"), -1) {
		fmt.Fprintf(&want, "%s: [%s, %s]\n", variable{name: m[1]}.key(), m[2], m[3])
	}
	if diff := cmp.Diff(strings.TrimSpace(want.String()), strings.TrimSpace(text)); diff != "" {
		t.Errorf("limits (-reference +chart):\n%s", diff)
	}
}
