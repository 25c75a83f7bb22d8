package metrics

import "github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"

// writeFamilies tell how loading and writing slices goes.
func writeFamilies() []Family {
	return []Family{
		{
			Name: writesTotal, Type: Counter,
			Labels: []Label{
				{Name: "operation", Values: texts([]publish.Operation{publish.Create, publish.Update})},
				{Name: "result", Values: []string{success, conflict, failure}},
			},
			Help: "Writes of slices, by result. A conflict says that the slice had changed; it is decided again.",
		},
		{
			Name: writeDuration, Type: Histogram,
			buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5},
			Help:    "Seconds that writes of slices took, failed ones included.",
		},
		{
			Name: storeErrorsTotal, Type: Counter,
			Help: "Loads of the slices and the Service that failed or may be out of date.",
		},
	}
}
