package metrics

import "github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"

// writeFamilies tell how loading and writing slices goes.
func writeFamilies() []Family {
	return []Family{
		{
			Name: writesTotal, Type: Counter,
			Labels: []Label{
				{Name: "operation", Values: texts([]plan.Operation{plan.Create, plan.Update})},
				{Name: "result", Values: []string{success, conflict, failure}},
			},
			Help: "Writes of slices, by result.",
			Use:  `rate(ionos_endpointslice_writes_total{result="error"}[5m]) > 0`, Advice: "the slices are not what was decided; the log names the error",
		},
		{
			Name: writeDuration, Type: Histogram,
			buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},
			Help:    "Seconds that writes of slices took, failed ones included.",
			Use:     `histogram_quantile(0.99, rate(ionos_endpointslice_write_duration_seconds_bucket[10m]))`, Advice: "the local API server is slow if it stays above a second",
		},
		{
			Name: conflictsTotal, Type: Counter,
			Help: "Writes that were refused because the slice had changed; they are decided again.",
			Use:  `increase(ionos_endpointslice_write_conflicts_total[1h])`, Advice: "a few are harmless; many mean that another client writes the slices",
		},
		{
			Name: storeErrorsTotal, Type: Counter,
			Help: "Loads of the slices and the Service that failed or may be out of date.",
			Use:  `rate(ionos_endpointslice_store_errors_total[5m]) > 0`, Advice: "the local API server does not answer, or refuses",
		},
	}
}
