package monitoring_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/built"
)

// The files under test.
const (
	dashboardPath = "../../deploy/monitoring/dashboard.json"
	runbooksPath  = "../../docs/runbooks"
)

// rulesPaths are the files of alert rules, ruleTestsPaths their tests.
func rulesPaths() []string {
	return []string{"../../deploy/monitoring/alerts.yaml", "../../deploy/monitoring/endpoint-views-alerts.yaml"}
}

func ruleTestsPaths() []string {
	return []string{"../../deploy/monitoring/alerts_test.yaml", "../../deploy/monitoring/endpoint-views-alerts_test.yaml"}
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

// board returns the dashboard, with a duration in place of Grafana's interval:
// that one is no string, so PromQL would not know it.
func board(t *testing.T) dashboard {
	t.Helper()
	var d dashboard
	if err := json.Unmarshal([]byte(read(t, dashboardPath)), &d); err != nil {
		t.Fatalf("%s: %v", dashboardPath, err)
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
