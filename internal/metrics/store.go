package metrics

import (
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/hold"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
)

// probeFamilies tell how health checks go.
func probeFamilies() []Family {
	return []Family{
		{
			Name: probesTotal, Type: Counter, Labels: label("outcome", spell(outcomes())...),
			Help: "Health checks, by outcome.",
			Use:  `rate(ionos_endpointslice_probes_total{outcome="LocalError"}[5m]) > 0`, Advice: "this machine could not carry out the checks, so they do not count; see `ionos_endpointslice_unchecked_endpoints`",
		},
		{
			Name: prefix + "unchecked_endpoints", Type: Gauge,
			Help: "Endpoints whose health checks this machine could not carry out for longer than HEALTH_CHECK_FALL intervals.",
			Use:  `ionos_endpointslice_unchecked_endpoints > 0`, Advice: "they keep their state, dead or not; the log and `status` name the error of this machine",
			sample: func(m snapshot, emit emit) { emit(float64(m.status.Verdict.Unchecked)) },
		},
		{
			Name: probeDuration, Type: Histogram,
			buckets: []float64{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10},
			Help:    "Seconds that health checks took, without those of outcome LocalError.",
			Use:     `histogram_quantile(0.99, rate(ionos_endpointslice_health_check_duration_seconds_bucket[10m]))`, Advice: "keep it well below `HEALTH_CHECK_TIMEOUT`",
		},
		{
			Name: prefix + "probe_round_overruns_total", Type: Counter,
			Help: "Rounds of health checks that could not finish within the interval.",
			Use:  `increase(ionos_endpointslice_probe_round_overruns_total[10m]) > 0`, Advice: "raise `HEALTH_CHECK_INTERVAL` or `HEALTH_CHECK_CONCURRENCY`, or lower `HEALTH_CHECK_TIMEOUT`",
			sample: func(m snapshot, emit emit) { emit(float64(m.status.Counts.Overruns)) },
		},
	}
}

// heldFamilies tell what held connections came to.
func heldFamilies() []Family {
	return []Family{
		{
			Name: prefix + "held_connections", Type: Gauge,
			Help: "Idle connections that are held to endpoints (HEALTH_CHECK_HOLD_CONNECTION).",
			Use:  `ionos_endpointslice_held_connections < ionos_endpointslice_connections_to_hold`, Advice: "these endpoints close idle connections, or there are too few file descriptors; a crash of theirs is seen by the next regular check",
			sample: func(m snapshot, emit emit) { emit(float64(m.status.Counts.Held.Held)) },
		},
		{
			Name: prefix + "connections_to_hold", Type: Gauge,
			Help: "Endpoints to which an idle connection is to be held; 0 without HEALTH_CHECK_HOLD_CONNECTION.",
			Use:  `ionos_endpointslice_connections_to_hold`, Advice: "compare it with `ionos_endpointslice_held_connections`",
			sample: func(m snapshot, emit emit) { emit(float64(m.status.Counts.Held.Wanted)) },
		},
		{
			Name: prefix + "connection_alarms_total", Type: Counter, Labels: label("kind", spell(hold.Kinds())...),
			Help: "Held connections that were lost: closed by the peer, reset, or keep-alives not answered. Each has its endpoint checked at once.",
			Use:  `rate(ionos_endpointslice_connection_alarms_total[10m])`, Advice: "many without a confirmation: the endpoints close idle connections, which costs a check each",
			sample: func(m snapshot, emit emit) {
				for _, kind := range hold.Kinds() {
					emit(float64(m.status.Counts.Held.Alarms[kind]), kind.String())
				}
			},
		},
		{
			Name: prefix + "connection_alarms_ignored_total", Type: Counter,
			Help: "Held connections that were lost together with so many others within HEALTH_CHECK_INTERVAL that nothing was checked at once: more than HEALTH_CHECK_MAX_SILENT_PERCENT.",
			Use:  `increase(ionos_endpointslice_connection_alarms_ignored_total[1h]) > 0`, Advice: "a firewall was flushed or the network failed for a moment; the regular checks went on",
			sample: func(m snapshot, emit emit) { emit(float64(m.status.Counts.Held.Ignored)) },
		},
		{
			Name: prefix + "connection_alarms_confirmed_total", Type: Counter,
			Help: "Lost connections after which a health check failed.",
			Use:  `rate(ionos_endpointslice_connection_alarms_confirmed_total[1h])`, Advice: "crashes that were seen by the lost connection",
			sample: func(m snapshot, emit emit) { emit(float64(m.status.Counts.Held.Confirmed)) },
		},
	}
}

// writeFamilies tell how writing slices goes.
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
	}
}

// storeFamilies tell how loading slices goes, and what is left to be written.
func storeFamilies() []Family {
	return []Family{
		{
			Name: storeErrorsTotal, Type: Counter,
			Help: "Loads of the slices and the Service that failed or may be out of date.",
			Use:  `rate(ionos_endpointslice_store_errors_total[5m]) > 0`, Advice: "the local API server does not answer, or refuses",
		},
		{
			Name: prefix + "store_unavailable", Type: Gauge,
			Help: "1 while the slices and the Service cannot be read, or what is known of them may be out of date, else 0.",
			Use:  `ionos_endpointslice_store_unavailable == 1`, Advice: "the local API server does not answer, or refuses, or its watch is silent; the log and `status` name the error",
			sample: func(m snapshot, emit emit) { emit(boolValue(m.status.Store.LoadErr != nil)) },
		},
		{
			Name: prefix + "store_stale", Type: Gauge,
			Help: "1 while the watch of the Service or its slices is refused or silent, so that what is known of them may be out of date, else 0. A single read that fails does not count.",
			Use:  `ionos_endpointslice_store_stale == 1`, Advice: "the daemon lost the right to watch, or the local API server does not answer; the log and `status` name the error",
			sample: func(m snapshot, emit emit) { emit(boolValue(m.status.State.Stale != nil)) },
		},
		{
			Name: prefix + "last_write_timestamp_seconds", Type: Gauge,
			Help: "Unix time of the last successful write; 0 before the first.",
			Use:  `time() - ionos_endpointslice_last_write_timestamp_seconds`, Advice: "no alert by itself: in steady state nothing is written",
			sample: func(m snapshot, emit emit) { emit(unix(m.status.Store.LastWrite)) },
		},
		{
			Name: prefix + "pending_slices", Type: Gauge,
			Help: "Slices that still differ from what was decided; in a dry run, those that it does not write.",
			Use:  `min_over_time(ionos_endpointslice_pending_slices[2m]) > 0`, Advice: "writes do not get through",
			sample: func(m snapshot, emit emit) { emit(float64(m.status.Store.Pending)) },
		},
		{
			Name: prefix + "refused_slices", Type: Gauge,
			Help: "Slices that have a name of this daemon but belong to another manager or Service; they are left alone.",
			Use:  `ionos_endpointslice_refused_slices > 0`, Advice: "choose another `TARGET_ENDPOINTSLICE_NAME`, or remove the slice; `status` names it",
			sample: func(m snapshot, emit emit) { emit(float64(len(m.status.State.Refused))) },
		},
	}
}
