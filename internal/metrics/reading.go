package metrics

// sourceFamilies tell how reading the inventory goes.
func sourceFamilies() []Family {
	source := Label{Name: "source", Note: "the value of `SOURCE_KIND`"}
	return []Family{
		{
			Name: readsTotal, Type: Counter, Labels: []Label{source, {Name: "result", Values: []string{success, failure}}},
			Help: "Reads of the source, by what came of them.",
			Use:  `rate(ionos_endpointslice_reads_total{result="error"}[10m]) > 0`, Advice: "a failed read changes no member; the log and `status` name the error",
		},
		{
			Name: readDuration, Type: Histogram, Labels: []Label{source},
			buckets: []float64{.001, .005, .025, .1, .25, .5, 1, 2.5, 5, 10, 20, 30, 60},
			Help:    "How long reads of the source took, failed ones included.",
			Use:     `histogram_quantile(0.99, rate(ionos_endpointslice_read_duration_seconds_bucket[30m]))`, Advice: "keep it well below `SOURCE_TIMEOUT`",
		},
		{
			Name: prefix + "last_read_success_timestamp_seconds", Type: Gauge,
			Help: "When the last read that succeeded began, as Unix time; 0 before the first.",
			Use:  `time() - ionos_endpointslice_last_read_success_timestamp_seconds`, Advice: "the age of what is known of the nodes; the timestamp of a standby is 0, so ask only the leader",
			sample: func(m moment, emit emit) { emit(unix(m.status.Source.LastSuccess)) },
		},
		{
			Name: prefix + "suspect_reads", Type: Gauge,
			Help: "Scheduled reads in a row that would take more members away than is believed.",
			Use:  `ionos_endpointslice_suspect_reads > 0`, Advice: "at `EMPTY_RESULT_THRESHOLD` the source is believed: until then, find out whether it is right",
			sample: func(m moment, emit emit) { emit(float64(m.status.Verdict.Memory.SuspectReads())) },
		},
	}
}
