package metrics

// sourceFamilies tell of reads of the inventory.
func sourceFamilies() []Family {
	source := Label{Name: "source", Note: "the value of `SOURCE_KIND`"}
	return []Family{
		{
			Name: readsTotal, Type: Counter, Labels: []Label{source, {Name: "result", Values: []string{success, failure}}},
			Help: "Reads of the source, by result.",
			Use:  `rate(ionos_endpointslice_reads_total{result="error"}[10m]) > 0`, Advice: "a failed read changes no endpoint; the log and `status` name the error",
		},
		{
			Name: readDuration, Type: Histogram, Labels: []Label{source},
			buckets: []float64{.001, .005, .025, .1, .25, .5, 1, 2.5, 5, 10, 20, 30, 60},
			Help:    "Seconds that reads of the source took, failed ones included.",
			Use:     `histogram_quantile(0.99, rate(ionos_endpointslice_source_read_duration_seconds_bucket[30m]))`, Advice: "keep it well below `SOURCE_TIMEOUT`",
		},
		{
			Name: prefix + "last_read_success_timestamp_seconds", Type: Gauge,
			Help: "Unix time at which the last successful read began; 0 before the first.",
			Use:  `time() - ionos_endpointslice_last_read_success_timestamp_seconds`, Advice: "the age of what is known of the nodes; the timestamp of a standby is 0, so ask only the leader",
			sample: func(m snapshot, emit emit) { emit(unix(m.status.Source.LastSuccess)) },
		},
		{
			Name: prefix + "suspect_reads", Type: Gauge,
			Help: "Scheduled inventories in a row that were rejected, because they would take too many endpoints away.",
			Use:  `ionos_endpointslice_suspect_reads > 0`, Advice: "endpoints that they leave out stay as long as they pass; find out whether the source is right before `EMPTY_RESULT_THRESHOLD` of them remove those that are down, or with `HEALTH_CHECK_MODE=off` all",
			sample: func(m snapshot, emit emit) { emit(float64(m.status.Verdict.Memory.Rejected())) },
		},
		{
			Name: prefix + "pending_removals", Type: Gauge,
			Help: "Endpoints that further rejected inventories will remove.",
			Use:  `ionos_endpointslice_pending_removals > 0`, Advice: "repair the source before `ionos_endpointslice_pending_removal_inventories` more of them have come; `status` says when",
			sample: func(m snapshot, emit emit) { emit(float64(m.status.Verdict.Removal.Endpoints)) },
		},
		{
			Name: prefix + "pending_removal_inventories", Type: Gauge,
			Help: "Scheduled rejected inventories after which the first endpoint is removed, at the earliest; 0 if none will be.",
			Use:  `ionos_endpointslice_pending_removal_inventories and ionos_endpointslice_pending_removals > 0`, Advice: "times `SOURCE_POLL_INTERVAL`, the time that is left",
			sample: func(m snapshot, emit emit) { emit(float64(m.status.Verdict.Removal.Inventories)) },
		},
		{
			Name: prefix + "accepted_removals_total", Type: Counter,
			Help: "Endpoints that were removed although the inventories that left them out were rejected.",
			Use:  `increase(ionos_endpointslice_accepted_removals_total[1d]) > 0`, Advice: "the Event `RemovalAccepted` on the Service and the log name them; check whether these nodes are really gone",
			sample: func(m snapshot, emit emit) { emit(float64(m.status.Counts.Accepted)) },
		},
	}
}
