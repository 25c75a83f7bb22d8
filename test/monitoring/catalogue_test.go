package monitoring_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/metrics"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/cli"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/fleet/fleettest"
)

// targetLabels are the labels that Prometheus adds. Rules may group by the first
// three; an instance passes.
var targetLabels = []string{"cluster", "namespace", "job", "instance"}

// catalogue has for each metric its labels, and for each label its values, nil
// where they are open.
type catalogue map[string]map[string][]string

// known returns the metrics of a target: those of the program as its families declare
// them, those of Go and the process as they are gathered.
func known(t *testing.T) catalogue {
	t.Helper()
	all := catalogue{"up": {}}
	for _, f := range metrics.Families() {
		labels := make(map[string][]string)
		for _, l := range f.Labels {
			labels[l.Name] = l.Values
		}
		if f.Type != metrics.Histogram {
			all[f.Name] = labels
			continue
		}
		all[f.Name+"_count"], all[f.Name+"_sum"] = labels, labels
		buckets := maps.Clone(labels)
		buckets["le"] = nil
		all[f.Name+"_bucket"] = buckets
	}
	for _, f := range cli.MetricFamilies() {
		all[f.Name] = f.Labels
		if f.Labels == nil {
			all[f.Name] = map[string][]string{}
		}
	}
	maps.Copy(all, fleettest.MetricFamilies())
	maps.Copy(all, envoyMetrics(t))
	registry := prometheus.NewRegistry()
	if _, err := metrics.New(metrics.Options{Registry: registry}); err != nil {
		t.Fatal(err)
	}
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		_, declared := all[f.GetName()]
		if _, histogram := all[f.GetName()+"_bucket"]; !declared && !histogram {
			all[f.GetName()] = map[string][]string{}
		}
	}
	return all
}

// mistakes says which parts of an expression do not exist.
func (c catalogue) mistakes(q query) []string {
	var found []string
	labels := slices.Concat(targetLabels, q.made)
	for _, s := range q.selectors {
		declared, ok := c[s.metric]
		if !ok {
			found = append(found, "there is no metric "+s.metric)
			continue
		}
		labels = slices.AppendSeq(labels, maps.Keys(declared))
		for _, m := range s.matchers {
			found = append(found, c.mismatch(s.metric, m)...)
		}
	}
	for _, label := range q.grouped {
		if !slices.Contains(labels, label) {
			found = append(found, "no metric of it has a label "+label)
		}
	}
	return found
}

// mismatch says why a matcher can never match, or always does.
func (c catalogue) mismatch(metric string, m matcher) []string {
	if slices.Contains(targetLabels, m.label) {
		return nil
	}
	values, ok := c[metric][m.label]
	switch {
	case !ok:
		return []string{fmt.Sprintf("%s has no label %s", metric, m.label)}
	case values == nil:
		return nil
	}
	alternatives := []string{m.value}
	if strings.HasSuffix(m.operator, "~") {
		alternatives = strings.Split(m.value, "|")
	}
	var found []string
	for _, a := range alternatives {
		match := func(value string) bool { return value == a }
		if strings.HasSuffix(m.operator, "~") {
			match = regexp.MustCompile("^(?:" + a + ")$").MatchString
		}
		if !slices.ContainsFunc(values, match) {
			found = append(found, fmt.Sprintf("%s has %s=%q never, only %q", metric, m.label, a, values))
		}
	}
	return found
}

func TestTheCatalogueFindsWhatThereIsNot(t *testing.T) {
	c := known(t)
	for expr, want := range map[string]string{
		`sum(ionos_endpointslice_leader)`: "",
		`sum by (state) (increase(ionos_endpointslice_endpoint_changes_total{state=~"down|draining"}[30m])) > 10 and up == 0`:      "",
		`histogram_quantile(0.9, sum by (le) (rate(ionos_endpointslice_source_read_duration_seconds_bucket{source="ionos"}[5m])))`: "",
		`label_replace(max by (job) (ionos_endpointslice_health_check_groups{mode="Hold"}) == 1, "cause", "x", "", "")`:            "",
		`ionos_endpointslice_leaders`: "no metric",
		`foo or up`:                   "no metric foo",
		`ionos_endpointslice_health_check_groups{mode="hold"}`:         "never",
		`ionos_endpointslice_endpoints{state=~"ready|dead"}`:           "never",
		`ionos_endpointslice_endpoints{mode="Hold"}`:                   "no label mode",
		`sum by (source) (ionos_endpointslice_leader)`:                 "label source",
		`ionos_endpointslice_source_read_duration_seconds > 1`:         "no metric",
		`go_goroutines{namespace="a"} + on (jobs) process_open_fds`:    "label jobs",
		`sum by (cause) (label_replace(up, "reason", "x", "job", ""))`: "label cause",
	} {
		got := strings.Join(c.mistakes(dissect(expr)), "; ")
		if want == "" && got != "" || !strings.Contains(got, want) {
			t.Errorf("%s: got %q, want %q", expr, got, want)
		}
	}
}
