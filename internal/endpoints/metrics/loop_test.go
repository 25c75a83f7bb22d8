package metrics_test

import (
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controllertest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

func TestARunningDaemonCountsWhatItDoes(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := start(t, nil, 1, 2, 3)
		w.during(time.Minute)
		got := w.gather()
		want(t, got, map[string]float64{
			`endpoints{pool="remote",state="ready"}`: 3, `endpoints{pool="remote",state="draining"}`: 0, `endpoints{pool="remote",state="down"}`: 0,
			`nodes{pool="remote"}`: 3, `endpoint_changes_total{pool="remote",state="ready"}`: 3, `endpoint_changes_total{pool="remote",state="absent"}`: 0,
			`writes_total{operation="create",result="success"}`: 1, `writes_total{operation="update",result="success"}`: 0,
			`source_reads_total{pool="remote",result="error"}`: 0, `store_errors_total`: 0, `services_with_problem{kind="StoreUnavailable"}`: 0, `service_pending_slices{target_namespace="default",target_service="web"}`: 0,
			`leader`: 1, `loop_age_seconds`: 0,
		})
		if reads := got[`ionos_endpointslice_source_reads_total{pool="remote",result="success"}`]; reads < 2 || reads != got[`ionos_endpointslice_source_read_duration_seconds_count{source="static"}`] {
			t.Errorf("got %v reads and %v durations, want the same, at least 2", reads, got[`ionos_endpointslice_source_read_duration_seconds_count{source="static"}`])
		}
		passes := got[`ionos_endpointslice_health_checks_total{outcome="Pass",pool="remote"}`]
		if passes < 80 || passes > 100 {
			t.Errorf("got %v passes in a minute of 3 members and 2 s, want about 90", passes)
		}
		if count := got["ionos_endpointslice_health_check_duration_seconds_count"]; count != passes {
			t.Errorf("got %v durations of %v probes, want as many", count, passes)
		}
		if mean := got["ionos_endpointslice_health_check_duration_seconds_sum"] / passes; mean < 0.0005 || mean > 0.002 {
			t.Errorf("got %v seconds a probe, want 0.001", mean)
		}
		now := float64(time.Now().Unix())
		if at := got[`ionos_endpointslice_source_last_read_success_timestamp_seconds{pool="remote"}`]; at < now-61 || at > now {
			t.Errorf("got %v as the last read, want within the last minute before %v", at, now)
		}

		w.setNodes(1, 2)
		w.during(2 * time.Minute) // the next read, and then the drain period
		w.set(func() {
			w.outcome, w.nodes = inventory.Refused, append(w.nodes, node("outside", "192.168.0.1"))
		})
		w.during(time.Minute)
		got = w.gather()
		want(t, got, map[string]float64{`health_check_groups{mode="FailOpen",pool="remote"}`: 1, `not_eligible{pool="remote",reason="OutsideSubnet"}`: 1, `nodes{pool="remote"}`: 3})
		if got[`ionos_endpointslice_health_checks_total{outcome="Refused",pool="remote"}`] == 0 || got[`ionos_endpointslice_endpoint_changes_total{pool="remote",state="absent"}`] != 1 {
			t.Errorf("got %v refusals and %v removals, want some and 1", got[`ionos_endpointslice_health_checks_total{outcome="Refused",pool="remote"}`], got[`ionos_endpointslice_endpoint_changes_total{pool="remote",state="absent"}`])
		}
	})
}

func TestTroubleIsCountedByKind(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := start(t, nil, 1, 2, 3)
		w.during(10 * time.Second)

		w.set(func() { w.readErr = errOutage })
		w.during(time.Minute)
		got := w.gather()
		failed := got[`ionos_endpointslice_source_reads_total{pool="remote",result="error"}`]
		all := failed + got[`ionos_endpointslice_source_reads_total{pool="remote",result="success"}`]
		if durations := got[`ionos_endpointslice_source_read_duration_seconds_count{source="static"}`]; failed < 1 || durations != all {
			t.Errorf("got %v failed reads and %v durations of %v, want some, and all", failed, durations, all)
		}

		w.set(func() { w.readErr, w.writeErr, w.nodes = nil, publish.ErrConflict, w.nodes[:2] })
		w.during(20 * time.Minute)
		got = w.gather()
		w.set(func() { w.writeErr = errOutage })
		conflicts := got[`ionos_endpointslice_writes_total{operation="update",result="conflict"}`]
		if conflicts < 1 {
			t.Errorf("got %v conflicts, want some", conflicts)
		}
		want(t, got, map[string]float64{`services_with_problem{kind="Pending"}`: 1, `service_pending_slices{target_namespace="default",target_service="web"}`: 1, `writes_total{operation="update",result="error"}`: 0})

		w.during(time.Minute)
		w.set(func() { w.loadErr = errOutage })
		w.during(time.Minute)
		got = w.gather()
		if got[`ionos_endpointslice_writes_total{operation="update",result="error"}`] < 1 || got["ionos_endpointslice_store_errors_total"] < 1 {
			t.Errorf("got %v failed writes and %v failed loads, want some of both", got[`ionos_endpointslice_writes_total{operation="update",result="error"}`], got["ionos_endpointslice_store_errors_total"])
		}
		written := 0.0
		for series, value := range got {
			if strings.HasPrefix(series, "ionos_endpointslice_writes_total") {
				written += value
			}
		}
		if saw := w.writes.Load(); written != float64(saw) {
			t.Errorf("got %v writes counted, want the %d that the store saw", written, saw)
		}
	})
}

func TestWhatIsAboutTheServiceShows(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := start(t, nil, 1)
		w.during(10 * time.Second)
		for kind, service := range map[publish.Kind]publish.Service{
			publish.ServiceMissing:      {},
			publish.ServiceDeleting:     {UID: "u", Deleting: true},
			publish.ServiceHasSelector:  {UID: "u", HasSelector: true},
			publish.ServiceExternalName: {UID: "u", ExternalName: true},
			publish.PortMismatch:        {UID: "u", Ports: []publish.ServicePort{{Name: "other", Protocol: publish.TCP, Port: 1}}},
		} {
			w.store.SetService(service)
			w.during(10 * time.Second)
			wantProblems(t, w.gather(), map[string]string{"default/web": string(kind)})
		}
	})
}

// Contract 16: a gauge shows Hold and FailOpen for as long as they last, and
// nothing else beside.
func TestContract16AGaugeShowsTheModeMeanwhile(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := start(t, nil, 1, 2, 3, 4)
		expect := func(mode string) {
			t.Helper()
			wanted := map[string]float64{}
			for _, each := range []string{"Publish", "Hold", "FailOpen"} {
				wanted[`health_check_groups{mode="`+each+`",pool="remote"}`] = 0
			}
			wanted[`health_check_groups{mode="`+mode+`",pool="remote"}`] = 1
			want(t, w.gather(), wanted)
		}
		w.during(10 * time.Second)
		expect("Publish")

		w.setNodes()
		w.during(time.Minute)
		expect("Hold")
		if reads := w.gather()[`ionos_endpointslice_rejected_inventories{pool="remote"}`]; reads < 1 || reads > 3 {
			t.Errorf("got %v rejected inventories in a minute, want 1 to 3", reads)
		}
		want(t, w.gather(), map[string]float64{`removals_pending{pool="remote"}`: 0, `endpoints{pool="remote",state="ready"}`: 4})
		w.setNodes(1, 2, 3, 4)
		w.during(time.Minute)
		expect("Publish")
		want(t, w.gather(), map[string]float64{`rejected_inventories{pool="remote"}`: 0})

		w.set(func() { w.outcome = inventory.Refused })
		w.during(time.Minute)
		expect("FailOpen")
		w.set(func() { w.outcome = inventory.Pass })
		w.during(time.Minute)
		expect("Publish")
	})
}

// Contract 12: a round that cannot finish within the interval is counted.
func TestContract12RoundsThatCannotFinishAreCounted(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := start(t, func(o *controllertest.Options) { o.Concurrency = 1 }, 1, 2, 3, 4, 5)
		w.during(10 * time.Second)
		want(t, w.gather(), map[string]float64{`health_check_round_overruns_total{pool="remote"}`: 0})
		w.set(func() { w.takes = time.Second })
		w.during(time.Minute)
		if got := w.gather()[`ionos_endpointslice_health_check_round_overruns_total{pool="remote"}`]; got < 1 || got > 30 {
			t.Errorf("got %v overruns in a minute of 5 s rounds every 2 s, want 1 to 30", got)
		}
	})
}

// Contract 35: a metric holds no secret of an error and nothing that a stranger may
// choose.
func TestContract35NoSecretAddressOrNameReachesAMetric(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := start(t, nil, 1, 2)
		w.set(func() {
			w.nodes = append(w.nodes, node("evil\"} 1\n# EOF {{<script>", "10.0.0.3"), node("\xff\xfe", "10.0.0.4"), node("twin", "10.0.0.4"), node("outside", "203.0.113.77"))
		})
		w.during(time.Minute)
		w.set(func() {
			w.readErr, w.loadErr, w.writeErr, w.outcome = errOutage, errOutage, errOutage, inventory.Refused
		})
		w.during(time.Minute)
		for _, accept := range []string{"text/plain", "application/openmetrics-text; version=1.0.0"} {
			text := serve(w.metrics.Handler(), accept)
			for _, canary := range []string{"hunter2", "10.0.0.", "10.9.8", "203.0.113", "evil", "<script", "twin", "\xff\xfe", `"w1"`} {
				if strings.Contains(text, canary) {
					t.Errorf("%s: a metric shows %q", accept, canary)
				}
			}
		}
		for series := range w.gather() {
			if len(series) > 200 {
				t.Errorf("got a series of %d bytes, want bounded ones: %s", len(series), series)
			}
		}
	})
}
