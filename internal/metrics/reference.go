package metrics

import (
	"fmt"
	"strings"
)

//go:generate go test . -run TestTheReferenceOfMetricsIsUpToDate -update

// Reference returns docs/reference/metrics.md.
func Reference() string {
	var b strings.Builder
	b.WriteString(`<!-- Generated from internal/metrics by "go generate ./internal/metrics". Do not edit. -->

# Metrics

They are served at ` + "`/metrics` of `METRICS_ADDRESS`" + `, as text or OpenMetrics. The values of each label are a closed list, except for the names of pools and Services; no metric names a node or an address. A value that can occur is there from the start, with 0, unless its meaning says otherwise; the series of a pool or a Service begin when documents and Services were first read.

Where variables set up the only pool, it is called ` + "`remote`. The settings in the table are those of its document; `config show -o documents`" + ` prints it.

`)
	b.WriteString("| metric | type | labels | meaning | to begin with |\n|---|---|---|---|---|\n")
	for _, f := range Families() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | `%s`: %s |\n", f.Name, f.Type, labels(f), f.Help, f.Use, f.Advice)
	}
	b.WriteString(`
## Problems of a Service

| kind | means |
|---|---|
`)
	for _, p := range problemDocs() {
		fmt.Fprintf(&b, "| `%s` | %s |\n", p.problem, p.means)
	}
	b.WriteString(`
## Go, the process, and standbys

Go and the process report themselves in addition: ` + "`go_*`, `process_*`" + ` (memory, goroutines, processor time, open files), and ` + "`promhttp_metric_handler_errors_total{cause}`" + ` counts scrapes that could not be answered in full.

A standby of a leader election has ` + "`ionos_endpointslice_leader` 0" + `: it reads, checks and publishes nothing, so its figures of endpoints and reads are 0. Ask only the leader, for example:

` + "```promql" + `
sum by (instance, job) (ionos_endpointslice_endpoints{state="ready"}) == 0 and on (instance, job) ionos_endpointslice_leader == 1
` + "```" + `
`)
	return b.String()
}

// labels describes the labels of a family and their values.
func labels(f Family) string {
	words := make([]string, len(f.Labels))
	for i, l := range f.Labels {
		note := l.Note
		if note == "" {
			note = "`" + strings.Join(l.Values, "`, `") + "`"
		}
		words[i] = "`" + l.Name + "`: " + note
	}
	return strings.Join(words, "; ")
}
