package monitoring_test

import (
	"slices"
	"strings"
	"testing"
)

// envoyMetrics are those of Envoy that rules and dashboards ask for, with their labels. That
// a real Envoy has them is shown in the laboratory, by test/envoy.
func envoyMetrics(t *testing.T) catalogue {
	t.Helper()
	all := catalogue{}
	for line := range strings.Lines(read(t, "testdata/envoy-metrics.txt")) {
		words := strings.Fields(line)
		labels := make(map[string][]string)
		for _, label := range words[1:] {
			labels[label] = nil
		}
		if _, there := labels["envoy_response_code_class"]; there {
			labels["envoy_response_code_class"] = []string{"1", "2", "3", "4", "5"}
		}
		all[words[0]] = labels
	}
	return all
}

// TestEachMetricOfEnvoyIsAskedFor: what nobody asks for needs no proof.
func TestEachMetricOfEnvoyIsAskedFor(t *testing.T) {
	var asked []string
	for _, r := range rules(t) {
		for _, s := range dissect(r.Expr).selectors {
			asked = append(asked, s.metric)
		}
	}
	eachBoard(t, func(_ *testing.T, _ program, d dashboard) {
		for _, p := range d.Panels {
			for _, target := range p.Targets {
				for _, s := range dissect(target.Expr).selectors {
					asked = append(asked, s.metric)
				}
			}
		}
		for _, v := range d.Templating.List {
			asked = append(asked, strings.FieldsFunc(v.Definition, func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') })...)
		}
	})
	for name := range envoyMetrics(t) {
		if !slices.Contains(asked, name) {
			t.Errorf("nothing asks for %s", name)
		}
	}
}
