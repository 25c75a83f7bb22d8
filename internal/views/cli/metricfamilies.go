package cli

import (
	"maps"
	"slices"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/pkg/views"
)

// MetricFamily is one metric.
type MetricFamily struct {
	Name string
	// Type is what Prometheus calls it: gauge or counter.
	Type string
	// Labels are the names of the labels with all their values; no values where
	// these are open.
	Labels map[string][]string
	// Help says what the value is, with its unit.
	Help string
	// Use is a query to begin with, Advice what the answer means.
	Use, Advice string
}

const (
	prefix  = "endpoint_views_"
	gauge   = "gauge"
	counter = "counter"
)

// MetricFamilies are all metrics of the program, in the order of the reference.
func MetricFamilies() []MetricFamily {
	kinds := []string{string(views.Added), string(views.Modified), string(views.Deleted)}
	states := []string{string(views.Ready), string(views.Draining), string(views.Down)}
	verbs := []string{"list", "watch", "get"}
	protocols, types := []string{string(xds.Envoy), string(xds.GRPC)}, []string{"CDS", "EDS", "LDS", "RDS"}
	return []MetricFamily{
		{prefix + "build_info", gauge, map[string][]string{"version": nil, "goversion": nil}, "Always 1; the labels say what runs.", prefix + "build_info", "which versions run"},
		{prefix + "synced", gauge, nil, "1 when every watch has brought a complete list.", prefix + "synced == 0", "the replica serves no client yet; `/readyz` says which watch is missing"},
		{prefix + "endpoints", gauge, map[string][]string{"state": states}, "Endpoints that are shown, by state.", "sum by (instance) (" + prefix + "endpoints)", "replicas that watch the same show the same number"},
		{prefix + "endpoint_changes_total", counter, nil, "Endpoints that were added, changed or removed.", "rate(" + prefix + "endpoint_changes_total[5m])", "how much changes in the cluster, also without clients"},
		{prefix + "unconfirmed_objects", gauge, nil, "Services and slices that a list left out, and that stay until the API server confirms that they are gone.", prefix + "unconfirmed_objects > 0", "for seconds: normal after an outage; for minutes: the API server does not answer the confirmation"},
		{prefix + "stale_seconds", gauge, nil, "Seconds since a watch of the API server was last current; 0 while all are current.", prefix + "stale_seconds > 0", "the last state is kept; see the runbook EndpointViewsNotCurrent"},
		{prefix + "watch_age_seconds", gauge, nil, "Seconds since the API server last accepted a request of a watch; of several watches, the largest number.", prefix + "watch_age_seconds > 45", "a watch is opened again every 30 s; this one is refused or not answered"},
		{prefix + "api_requests_total", counter, map[string][]string{"verb": verbs, "code": nil}, "Requests to the API server, by verb and HTTP status; `<error>` where there was no answer.", "sum by (verb, code) (rate(" + prefix + "api_requests_total[5m]))", "at rest only watches, two or three a minute for each kind and namespace"},
		{prefix + "identities_current", gauge, nil, "1 while the newest list of identities is in effect, 0 while it has a mistake.", prefix + "identities_current == 0", "the last good list is in effect; the log names the mistake"},
		{prefix + "streams", gauge, nil, "Streams of views that are open; those of xDS have metrics of their own.", "sum(" + prefix + "streams)", "compare with VIEWS_MAX_CLIENTS times the replicas"},
		{prefix + "stream_events_total", counter, map[string][]string{"type": kinds}, "Events sent, by type.", "rate(" + prefix + "stream_events_total[5m])", "how much changes, times the clients"},
		{prefix + "requests_denied_total", counter, map[string][]string{"code": nil}, "Requests that were denied, by HTTP status.", "rate(" + prefix + `requests_denied_total{code="403"}[5m])`, "a client asks for what it may not see"},
		{prefix + "streams_expired_total", counter, nil, "Streams that ended with 410.", "rate(" + prefix + "streams_expired_total[5m])", "clients that had to read everything again: too slow, away too long, or rights that changed"},
		{prefix + "streams_timed_out_total", counter, nil, "Streams that timed out: the client took no data for 20 s.", "rate(" + prefix + "streams_timed_out_total[5m])", "clients that hang, or whose network does"},
		{prefix + "streams_resumed_total", counter, nil, "Streams that went on from a token.", "rate(" + prefix + "streams_resumed_total[5m])", "clients that connect again and miss no event"},
		{prefix + "xds_streams", gauge, map[string][]string{"protocol": protocols}, "Streams of xDS that are open, by protocol.", "sum by (protocol) (" + prefix + "xds_streams)", "compare with XDS_MAX_CLIENTS times the replicas"},
		{prefix + "xds_streams_rejecting", gauge, nil, "Streams of xDS whose client rejects what it was sent last of a resource, and keeps what it had.", prefix + "xds_streams_rejecting > 0", "see the runbook EndpointViewsConfigurationRejected"},
		{prefix + "xds_fleets_kept", gauge, map[string][]string{"reason": {string(xds.KeptMissing), string(xds.KeptInvalid), string(xds.KeptUnread)}}, "Fleets that keep old listeners: their file or object is gone (missing), wrong (invalid) or unreadable (unread).", "max by (reason) (" + prefix + "xds_fleets_kept) > 0", "changes of the fleet have no effect; the log and `endpoint-views explain --client` name it"},
		{prefix + "xds_pushes_total", counter, map[string][]string{"protocol": protocols, "type": types}, "Answers of xDS sent, by protocol and type.", "sum by (type) (rate(" + prefix + "xds_pushes_total[5m]))", "changes times clients; EDS alone when only endpoints change"},
		{prefix + "xds_acknowledgements_total", counter, map[string][]string{"protocol": protocols, "type": types}, "Answers that a client acknowledged.", "sum(rate(" + prefix + "xds_acknowledgements_total[5m]))", "follows the pushes; the difference was rejected, or its stream ended"},
		{prefix + "xds_rejections_total", counter, map[string][]string{"protocol": protocols, "type": types}, "Answers that a client rejected.", "increase(" + prefix + "xds_rejections_total[10m])", "the log has the client's own words"},
		{prefix + "xds_denied_total", counter, nil, "Connections and streams of xDS that were denied, and streams that ended because of what the client sent.", "rate(" + prefix + "xds_denied_total[5m])", "the client's own log has the reason; see the runbook EndpointViewsClientsCutOff"},
		{prefix + "xds_steps_unacknowledged_total", counter, nil, "Steps of a fleet that were taken after 5 s without the acknowledgement of every proxy.", "increase(" + prefix + "xds_steps_unacknowledged_total[10m])", "a proxy hangs or rejects: it may miss a cluster for a moment"},
		{prefix + "lists_total", counter, nil, "Lists sent.", "rate(" + prefix + "lists_total[5m])", "clients that poll; a stream is cheaper"},
	}
}

// descriptions are the families as the registry knows them, by their names without
// the prefix, each with the names of its labels.
func descriptions() map[string]description {
	all := make(map[string]description)
	for _, f := range MetricFamilies() {
		kind := prometheus.GaugeValue
		if f.Type == counter {
			kind = prometheus.CounterValue
		}
		all[f.Name[len(prefix):]] = description{prometheus.NewDesc(f.Name, f.Help, slices.Sorted(maps.Keys(f.Labels)), nil), kind}
	}
	return all
}

type description struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}
