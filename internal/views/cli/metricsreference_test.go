package cli_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/cli"
)

// reference returns the part of docs/reference/endpoint-views-configuration.md about metrics.
func reference() string {
	var b strings.Builder
	b.WriteString(`## Metrics

They are served at ` + "`/metrics` of `METRICS_ADDRESS`" + `, as text or OpenMetrics. No metric names a Service, an address or a client. Every replica serves, so every replica has figures of its own.

| metric | type | labels | meaning |
|---|---|---|---|
`)
	for _, f := range cli.MetricFamilies() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s |\n", f.Name, f.Type, describe(f), f.Help)
	}
	b.WriteString(`
### Queries to begin with

| query | its answer |
|---|---|
`)
	for _, f := range cli.MetricFamilies() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", f.Use, f.Advice)
	}
	b.WriteString(`
` + "`endpoint_views_requests_denied_total` and `endpoint_views_api_requests_total`" + ` have a value for each status that there was since the start. Go and the process report themselves in addition: ` + "`go_*`, `process_*`" + ` (memory, goroutines, processor time, open files).

[Alerts](../runbooks/README.md#alerts-of-endpoint-views) ask for some of them.
`)
	return b.String()
}

// describe says what labels there are, with their values.
func describe(f cli.MetricFamily) string {
	var words []string
	for _, name := range slices.Sorted(maps.Keys(f.Labels)) {
		word := "`" + name + "`"
		if values := f.Labels[name]; len(values) > 0 {
			word += ": `" + strings.Join(values, "`, `") + "`"
		}
		words = append(words, word)
	}
	return strings.Join(words, "; ")
}
