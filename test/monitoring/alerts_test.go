package monitoring_test

import (
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// runbookURL is where the runbooks are read.
const runbookURL = "https://github.com/ablmnzde/ionoscloud-endpointslice-controller/blob/main/docs/runbooks/"

func TestTheRulesAreValid(t *testing.T) {
	promtool(t, append([]string{"check", "rules", "--lint=all", "--lint-fatal"}, rulesPaths()...)...)
}

func TestTheRulesFireWhenTheyShouldAndOnlyThen(t *testing.T) {
	promtool(t, append([]string{"test", "rules"}, ruleTestsPaths()...)...)
}

func TestEveryAlertIsSeenFiringAndSilent(t *testing.T) {
	fires, silent := make(map[string]bool), make(map[string]int)
	for _, s := range scenarios(t) {
		quiet := make(map[string]bool)
		for _, check := range s.Checks {
			if _, seen := quiet[check.Alertname]; !seen {
				quiet[check.Alertname] = true
			}
			for _, expected := range check.Expected {
				quiet[check.Alertname] = false
				fires[check.Alertname+" "+expected.Labels["severity"]] = true
			}
		}
		for name, all := range quiet {
			if all {
				silent[name]++
			}
		}
	}
	for _, r := range rules(t) {
		if !fires[r.Alert+" "+r.Labels["severity"]] {
			t.Errorf("%s: no test sees %s fire as %s", ruleTestsPaths(), r.Alert, r.Labels["severity"])
		}
		// One of them is the healthy pair, which everything is silent about.
		if silent[r.Alert] < 2 {
			t.Errorf("%s: got %d tests in which %s never fires, want the healthy pair and one that is like trouble", ruleTestsPaths(), silent[r.Alert], r.Alert)
		}
	}
	for name := range silent {
		if !slices.Contains(alerts(t), name) {
			t.Errorf("%s: there is no alert %s", ruleTestsPaths(), name)
		}
	}
}

func TestEveryRuleAsksForMetricsThatExist(t *testing.T) {
	c := known(t)
	for _, r := range rules(t) {
		for _, mistake := range c.mistakes(dissect(r.Expr)) {
			t.Errorf("%s: %s", r.Alert, mistake)
		}
	}
}

func TestEveryRuleKeepsInstallationsApart(t *testing.T) {
	for _, r := range rules(t) {
		q := dissect(r.Expr)
		for _, grouping := range q.groupings {
			if !strings.HasPrefix(grouping+" ", "cluster namespace job ") {
				t.Errorf("%s: grouped by %s, want cluster, namespace and job first", r.Alert, grouping)
			}
		}
		if len(q.groupings) < len(q.selectors) {
			t.Errorf("%s: %d metrics in %d groups by cluster, namespace and job", r.Alert, len(q.selectors), len(q.groupings))
		}
		for _, s := range q.selectors {
			for _, m := range s.matchers {
				// Every job has up: the name of the job selects it.
				if slices.Contains(targetLabels, m.label) && s.metric != "up" {
					t.Errorf("%s: %s is asked for one %s only", r.Alert, s.metric, m.label)
				}
			}
		}
	}
}

var labelUse = regexp.MustCompile(`\$labels\.([a-zA-Z_]+)`)

func TestEveryRuleSaysWhatItsReaderNeeds(t *testing.T) {
	for _, r := range rules(t) {
		if !strings.HasPrefix(r.Alert, "IonosEndpointSlice") && !strings.HasPrefix(r.Alert, "EndpointViews") {
			t.Errorf("%s: want the prefix IonosEndpointSlice or EndpointViews", r.Alert)
		}
		if s := r.Labels["severity"]; s != "critical" && s != "warning" {
			t.Errorf("%s: got severity %q, want critical or warning", r.Alert, s)
		}
		grouped := dissect(r.Expr).grouped
		want := map[string]string{"severity": r.Labels["severity"]}
		switch {
		case slices.Contains(grouped, "target_namespace"):
			want["scope"] = "service"
		case slices.Contains(grouped, "pool"):
			want["scope"] = "pool"
		}
		if !maps.Equal(r.Labels, want) {
			t.Errorf("%s: got labels %v, want %v", r.Alert, r.Labels, want)
		}
		// Of a store that is stale the program tells only when it has waited.
		if r.For == "" && !strings.Contains(strings.ToLower(r.Expr), "stale") {
			t.Errorf("%s: has no for, one scrape is no reason to wake anybody", r.Alert)
		}
		summary, description := r.Annotations["summary"], r.Annotations["description"]
		if !strings.Contains(summary, "$labels.namespace") || !strings.Contains(summary, "$labels.job") {
			t.Errorf("%s: the summary does not say which installation: %s", r.Alert, summary)
		}
		if !strings.Contains(description, "$value") && !strings.Contains(description, "$labels.kind") {
			t.Errorf("%s: the description has no actual value: %s", r.Alert, description)
		}
		q := dissect(r.Expr)
		for _, use := range labelUse.FindAllStringSubmatch(summary+description, -1) {
			if !slices.Contains(slices.Concat(q.grouped, q.made), use[1]) {
				t.Errorf("%s: says %s, which the alert does not have", r.Alert, use[0])
			}
		}
	}
}
