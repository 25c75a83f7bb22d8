package monitoring_test

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
)

// The files under test.
const (
	monitoringPath = "../../deploy/monitoring"
	runbooksPath   = "../../docs/runbooks"
)

// rulesPaths are the files of alert rules, ruleTestsPaths their tests.
func rulesPaths() []string {
	return []string{"../../deploy/monitoring/alerts.yaml", "../../deploy/monitoring/endpoint-views-alerts.yaml", "../../deploy/monitoring/endpoint-views-fleet-alerts.yaml"}
}

func ruleTestsPaths() []string {
	return []string{"../../deploy/monitoring/alerts_test.yaml", "../../deploy/monitoring/endpoint-views-alerts_test.yaml", "../../deploy/monitoring/endpoint-views-fleet-alerts_test.yaml"}
}

// rule is one alert rule.
type rule struct {
	Alert       string
	Expr        string
	For         string
	Labels      map[string]string
	Annotations map[string]string
}

// rules returns all alert rules.
func rules(t *testing.T) []rule {
	t.Helper()
	var all []rule
	for _, path := range rulesPaths() {
		var file struct{ Groups []struct{ Rules []rule } }
		parse(t, path, &file)
		before := len(all)
		for _, group := range file.Groups {
			all = append(all, group.Rules...)
		}
		if len(all) == before {
			t.Fatalf("%s: no rules", path)
		}
	}
	return all
}

// alerts returns the names of the alerts, sorted.
func alerts(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, r := range rules(t) {
		names = append(names, r.Alert)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// scenario is one test of the rules.
type scenario struct {
	Name   string
	Checks []struct {
		Alertname string
		Expected  []struct {
			Labels map[string]string `json:"exp_labels"`
		} `json:"exp_alerts"`
	} `json:"alert_rule_test"`
}

// scenarios returns the tests of the rules.
func scenarios(t *testing.T) []scenario {
	t.Helper()
	var all []scenario
	for _, path := range ruleTestsPaths() {
		var file struct{ Tests []scenario }
		parse(t, path, &file)
		all = append(all, file.Tests...)
	}
	return all
}

// dashboard is what the tests need of Grafana's format.
type dashboard struct {
	UID           string
	Title         string
	SchemaVersion int
	Templating    struct{ List []variable }
	Panels        []panel
}

type variable struct {
	Name, Type string
	Definition string
	Datasource datasource
}

type panel struct {
	ID                       int
	Type, Title, Description string
	Datasource               datasource
	GridPos                  struct{ X, Y, W, H int }
	FieldConfig              struct {
		Defaults struct {
			Unit, NoValue string
			Thresholds    struct{ Steps []struct{ Value *float64 } }
		}
	}
	Targets []target
}

type target struct {
	RefID, Expr, LegendFormat string
	Datasource                datasource
}

type datasource struct{ Type, UID string }

// program is one of the two, with what its dashboard has.
type program struct {
	dashboard, uid string
	rows           []string
	// prefixes are those of its metrics.
	prefixes []string
}

func programs() []program {
	return []program{
		{
			"dashboard.json", "ionos-endpointslice",
			[]string{"Now", "Why not", "Services", "Endpoints", "Inventories", "Health checks", "Writes", "API requests", "Credentials and leadership", "Documents", "Process"},
			[]string{"ionos_endpointslice_", "rest_client_"},
		},
		{"endpoint-views-dashboard.json", "endpoint-views", []string{"Now", "Endpoints", "Readers", "xDS", "API server", "Process"}, []string{"endpoint_views_"}},
		// Of Envoy's own metrics, which are hundreds, it shows some.
		{"endpoint-views-fleet-dashboard.json", "endpoint-views-fleets", []string{"Now", "Clients", "Services", "Control plane", "Bounds"}, []string{fleetPrefix}},
	}
}

// own leaves the metrics of the other program out.
func (p program) own(all catalogue) catalogue {
	own := maps.Clone(all)
	for _, other := range programs() {
		if other.uid == p.uid {
			continue
		}
		maps.DeleteFunc(own, func(name string, _ map[string][]string) bool { return other.has(name) })
	}
	return own
}

// fleetPrefix is that of the metrics of the operator of fleets.
const fleetPrefix = "endpoint_views_fleet_"

// has reports whether a metric is one of the program.
func (p program) has(metric string) bool {
	if strings.HasPrefix(metric, fleetPrefix) && !slices.Contains(p.prefixes, fleetPrefix) {
		return false
	}
	return slices.ContainsFunc(p.prefixes, func(prefix string) bool { return strings.HasPrefix(metric, prefix) })
}

// eachBoard runs a test for the dashboard of each program.
func eachBoard(t *testing.T, test func(*testing.T, program, dashboard)) {
	t.Helper()
	for _, p := range programs() {
		t.Run(p.dashboard, func(t *testing.T) { test(t, p, board(t, p.dashboard)) })
	}
}

// board returns a dashboard, with a duration in place of Grafana's interval: that one
// is no string, so PromQL would not know it.
func board(t *testing.T, file string) dashboard {
	t.Helper()
	var d dashboard
	path := filepath.Join(monitoringPath, file)
	if err := json.Unmarshal([]byte(read(t, path)), &d); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	for _, p := range d.Panels {
		for i := range p.Targets {
			p.Targets[i].Expr = strings.ReplaceAll(p.Targets[i].Expr, "$__rate_interval", "1m")
		}
	}
	return d
}

// parse decodes a YAML file.
func parse(t *testing.T, path string, into any) {
	t.Helper()
	if err := yaml.Unmarshal([]byte(read(t, path)), into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

// read returns the text of a file.
func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// promtool runs it and fails the test with what it says when it fails.
func promtool(t *testing.T, args ...string) {
	t.Helper()
	path := built.Tool(t, "promtool")
	if out, err := exec.CommandContext(t.Context(), path, args...).CombinedOutput(); err != nil {
		t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}
