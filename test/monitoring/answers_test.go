package monitoring_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestEveryQueryOfTheDashboardAnswers evaluates each query, by promtool, where
// every metric has every label value: one that compares or joins what does not
// fit answers nothing.
func TestEveryQueryOfTheDashboardAnswers(t *testing.T) {
	eachBoard(t, func(t *testing.T, of program, d dashboard) {
		var asked, checks []any
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				name := fmt.Sprintf("panel %d %s: %s", p.ID, target.RefID, p.Title)
				asked = append(asked, map[string]any{"alert": name, "expr": fmt.Sprintf("count(%s) > 0", substitutes.Replace(target.Expr))})
				checks = append(checks, map[string]any{"eval_time": "5m", "alertname": name, "exp_alerts": []any{map[string]any{}}})
			}
		}
		dir := t.TempDir()
		write(t, dir, "rules.yaml", map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": asked}}})
		tests := write(t, dir, "test.yaml", map[string]any{"rule_files": []string{"rules.yaml"}, "evaluation_interval": "15s", "tests": []any{
			map[string]any{"interval": "15s", "input_series": everything(of.own(known(t))), "alert_rule_test": checks},
		}})
		promtool(t, "test", "rules", tests)
	})
}

// everything returns each metric of one target with each value of its labels, with
// buckets that end at a second and at infinity. Counters rise.
func everything(c catalogue) []map[string]string {
	var all []map[string]string
	for _, name := range slices.Sorted(maps.Keys(c)) {
		values := "1x40"
		if strings.HasSuffix(name, "_total") || strings.HasSuffix(name, "_bucket") {
			values = "0+3x40"
		}
		for _, labels := range combinations(c[name]) {
			// The names of the fleet are those that the dashboard is asked for.
			labels = strings.NewReplacer(`fleet_namespace="any"`, `fleet_namespace="edge"`, `fleet="any"`, `fleet="controller"`).Replace(labels)
			series := name + "{" + labels + `namespace="edge",job="controller",instance="10.1.2.3:8081"}`
			all = append(all, map[string]string{"series": series, "values": values})
		}
	}
	return all
}

// combinations spells every combination of label values.
func combinations(labels map[string][]string) []string {
	all := []string{""}
	for _, label := range slices.Sorted(maps.Keys(labels)) {
		values := labels[label]
		switch {
		case label == "le":
			values = []string{"1", "+Inf"}
		case values == nil:
			values = []string{"any"}
		}
		var longer []string
		for _, before := range all {
			for _, value := range values {
				longer = append(longer, fmt.Sprintf("%s%s=%q,", before, label, value))
			}
		}
		all = longer
	}
	return all
}

// write puts a value into a YAML file and returns its path.
func write(t *testing.T, dir, name string, value any) string {
	t.Helper()
	text, err := yaml.Marshal(value)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
