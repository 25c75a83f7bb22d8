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

They are served at ` + "`/metrics` of `METRICS_ADDRESS`" + `, as text or OpenMetrics. The values of each label are a closed list, except for the names of pools and Services; no metric names a node or an address. A value that can occur is there from the start, with 0, unless its meaning says otherwise.

`)
	table(&b, Both)
	b.WriteString(`
## One Service, by variables

`)
	table(&b, Variables)
	b.WriteString(`
## Many Services, by documents

With ` + "`DOCUMENTS_DIR`" + ` there are these instead. ` + "`ionos_endpointslice_reads_total`, `ionos_endpointslice_probes_total`" + ` and the like count for all pools together. Which pool a series is of, the label ` + "`pool`" + ` says and not the name; ` + "`ionos_endpointslice_pool_services` and `ionos_endpointslice_pool_problem`" + ` are about the pool itself.

`)
	table(&b, Documents)
	b.WriteString(`
### Problems of a Service

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
ionos_endpointslice_members{state="ready"} == 0 and on (instance, job) ionos_endpointslice_leader == 1
` + "```" + `
`)
	return b.String()
}

// table writes the metrics that are there in a form.
func table(b *strings.Builder, of Form) {
	b.WriteString("| metric | type | labels | meaning | to begin with |\n|---|---|---|---|---|\n")
	for _, f := range Families() {
		if f.Form == of {
			fmt.Fprintf(b, "| `%s` | %s | %s | %s | `%s`: %s |\n", f.Name, f.Type, labels(f), f.Help, f.Use, f.Advice)
		}
	}
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
