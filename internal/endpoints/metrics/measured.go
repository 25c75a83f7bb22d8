package metrics

import "github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"

// The metrics that are counted as things happen.
const (
	readDuration     = prefix + "source_read_duration_seconds"
	probeDuration    = prefix + "health_check_duration_seconds"
	writesTotal      = prefix + "writes_total"
	writeDuration    = prefix + "write_duration_seconds"
	storeErrorsTotal = prefix + "store_errors_total"
	requestsTotal    = "rest_client_requests_total"
)

// measuredFamilies tell how reads and health checks of all pools, and loading and writing
// slices go.
func measuredFamilies() []Family {
	return []Family{
		{
			Name: readDuration, Type: Histogram, Labels: []Label{{Name: "source", Note: "the value of `SOURCE_KIND`"}},
			buckets: []float64{.001, .005, .025, .1, .25, .5, 1, 2.5, 5, 10, 20, 30, 60},
			Help:    "Seconds that reads of sources took, failed ones included.",
		},
		{
			Name: probeDuration, Type: Histogram,
			buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
			Help:    "Seconds that health checks took, without those of outcome LocalError.",
		},
		{
			Name: writesTotal, Type: Counter,
			Labels: []Label{
				{Name: "operation", Values: []string{string(publish.Create), string(publish.Update)}},
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

// requestFamilies tell of HTTP requests, under the name that client-go gives them.
func requestFamilies() []Family {
	return []Family{{
		Name: requestsTotal, Type: Counter,
		Labels: []Label{
			label[Client]{"client", []Client{ClientStore, ClientSource, ClientLease, ClientEvents, ClientDocuments}}.closed(),
			{Name: "code", Note: "the status of the answer, `4xx` and the like for one that HTTP does not define, `<error>` where there was no answer"},
			{Name: "method", Note: "the method of HTTP"},
		},
		Help: "HTTP requests, by the part of the program that sent them, by status and method; a watch is one request.",
	}}
}
