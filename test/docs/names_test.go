package docs_test

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes/scheme"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/metrics"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
	config "github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/cli"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/fleet/fleettest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/pkg/views"
)

var (
	setting = regexp.MustCompile(`\b[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+\b`)
	metric  = regexp.MustCompile(`\b(?:ionos_endpointslice|endpoint_views)_[a-z_]+\b`)
	alert   = regexp.MustCompile(`\b(?:IonosEndpointSlice|EndpointViews)[A-Za-z]+\b`)
	camel   = regexp.MustCompile(`^(?:[A-Z][a-z0-9]+){2,}$`)
	row     = regexp.MustCompile("(?m)^\\| `([A-Z_]+)`(?: or `([A-Z_]+)`)? \\|")
)

// read returns a file of the repository.
func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, path))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// settings are the variables of both programs, and the one that only its script
// for SOURCE_KIND=command has.
func settings(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, found := range row.FindAllStringSubmatch(says(t, "config", "docs")+config.ViewsReference(), -1) {
		names = append(names, found[1])
		if found[2] != "" {
			names = append(names, found[2])
		}
	}
	if len(names) < 40 {
		t.Fatalf("config docs: got %d variables", len(names))
	}
	const prefix = "SECURED_SUBNET_PREFIX"
	if strings.Contains(read(t, "scripts/render_inventory.py"), prefix) {
		names = append(names, prefix)
	}
	return names
}

// TestPagesNameOnlyVariablesThatThereAre looks at names that begin like ours.
func TestPagesNameOnlyVariablesThatThereAre(t *testing.T) {
	known := settings(t)
	ours := func(name string) bool {
		first, _, _ := strings.Cut(name, "_")
		return slices.ContainsFunc(known, func(k string) bool { return strings.HasPrefix(k, first+"_") })
	}
	for _, p := range current(t) {
		p.code(func(line int, text string) {
			for _, name := range setting.FindAllString(text, -1) {
				if ours(name) && !slices.Contains(known, name) {
					t.Errorf("%s:%d: there is no variable %s", p.path, line, name)
				}
			}
		})
	}
}

func TestPagesNameOnlyMetricsThatThereAre(t *testing.T) {
	eachLine(t, metric, "metric", served())
}

// served are the names of all metrics.
func served() []string {
	var known []string
	for _, f := range metrics.Families() {
		known = append(known, f.Name)
		if f.Type == metrics.Histogram {
			known = append(known, f.Name+"_bucket", f.Name+"_count", f.Name+"_sum")
		}
	}
	for _, f := range cli.MetricFamilies() {
		known = append(known, f.Name)
	}
	return slices.AppendSeq(known, maps.Keys(fleettest.MetricFamilies()))
}

func TestPagesNameOnlyAlertsThatThereAre(t *testing.T) {
	eachLine(t, alert, "alert", alerts(t))
}

// rules is the text of the alert rules of both programs.
func rules(t *testing.T) string {
	t.Helper()
	return read(t, "deploy/monitoring/alerts.yaml") + read(t, "deploy/monitoring/endpoint-views-alerts.yaml") + read(t, "deploy/monitoring/endpoint-views-fleet-alerts.yaml")
}

// alerts are the names of the rules.
func alerts(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, found := range regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(rules(t), -1) {
		names = append(names, found[1])
	}
	if len(names) < 10 {
		t.Fatalf("got %d alerts", len(names))
	}
	return names
}

// current are the pages without the list of old names: they name only what there is.
func current(t *testing.T) []page {
	t.Helper()
	all := pages(t)
	for i, p := range all {
		if p.path == renamed {
			text, _, _ := strings.Cut(read(t, renamed), oldNames)
			all[i] = newPage(renamed, text)
		}
	}
	return all
}

func eachLine(t *testing.T, name *regexp.Regexp, what string, known []string) {
	t.Helper()
	for _, p := range current(t) {
		for i, line := range p.lines {
			for _, found := range name.FindAllString(line, -1) {
				if !slices.Contains(known, found) {
					t.Errorf("%s:%d: there is no %s %s", p.path, i+1, what, found)
				}
			}
		}
	}
}

// elsewhere are words of other programs in the form of our reasons, by owner.
var elsewhere = []string{
	// Kubernetes: types of addresses and Services, values, reasons, admission.
	"InternalIP", "ExternalIP", "ClusterIP", "NodePort", "LoadBalancer", "ExternalName", "PreferDualStack",
	"NoExecute", "CrashLoopBackOff", "ContainerCreating", "DoesNotExist",
	"ToBeDeletedByClusterAutoscaler", "ClusterFirst", "ClusterFirstWithHostNet",
	// The Prometheus Operator.
	"PrometheusRule", "ServiceMonitor", "PodMonitor",
}

// TestPagesNameOnlyWordsThatThereAre: reasons, Events, causes, modes, outcomes,
// kinds of Kubernetes. A word of this form in code is one of them.
func TestPagesNameOnlyWordsThatThereAre(t *testing.T) {
	known := append(alerts(t), elsewhere...)
	known = append(known, views.KindEndpointView, views.KindServicePortView)
	known = append(known, v1alpha1.KindEndpointPool, v1alpha1.KindEndpointBinding, string(v1alpha1.BindingDryRun))
	for _, doc := range inventory.Reasons() {
		known = append(known, string(doc.Reason))
	}
	for _, found := range regexp.MustCompile(`(?m)^\t\w+ +Outcome = "(\w+)"`).FindAllStringSubmatch(read(t, "internal/endpoints/cli/exit.go"), -1) {
		known = append(known, found[1])
	}
	for _, condition := range report.ServiceConditions() {
		known = append(known, string(condition))
	}
	known = append(known, rows(read(t, "docs/reference/reasons.md"))...)
	for _, f := range metrics.Families() {
		for _, label := range f.Labels {
			known = append(known, label.Values...)
		}
	}
	for _, cause := range []guard.Cause{
		guard.NoNodes, guard.NothingPassesFilter, guard.NothingStays, guard.TooManyRemovals,
		guard.ContradictoryRead, guard.ProbesSilent, guard.NothingPasses,
	} {
		known = append(known, string(cause))
	}
	for _, found := range regexp.MustCompile(`"cause", "(\w+)"`).FindAllStringSubmatch(rules(t), -1) {
		known = append(known, found[1])
	}
	for _, file := range []string{"api/v1alpha1/status.go", "api/fleet/v1alpha1/status.go"} {
		for _, found := range regexp.MustCompile(`(?m)^\t(?:Condition|Reason)\w+ += "(\w+)"`).FindAllStringSubmatch(read(t, file), -1) {
			known = append(known, found[1])
		}
	}
	for kind := range scheme.Scheme.AllKnownTypes() {
		known = append(known, kind.Kind)
	}
	for _, p := range current(t) {
		p.prose(func(line int, text string) {
			for _, s := range span.FindAllStringSubmatch(text, -1) {
				if camel.MatchString(s[1]) && !slices.Contains(known, s[1]) {
					t.Errorf("%s:%d: nothing is called %s", p.path, line, s[1])
				}
			}
		})
	}
}
