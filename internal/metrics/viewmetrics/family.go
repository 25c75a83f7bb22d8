package viewmetrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/pkg/views"
)

// Family is one metric.
type Family struct {
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

// Families are all metrics of the program, in the order of the reference.
func Families() []Family {
	kinds := []string{string(views.Added), string(views.Modified), string(views.Deleted)}
	return []Family{
		{prefix + "build_info", gauge, map[string][]string{"version": nil, "goversion": nil}, "Always 1; the labels say what runs.", prefix + "build_info", "which versions run"},
		{prefix + "synced", gauge, nil, "1 when every watch has brought a complete list.", prefix + "synced == 0", "the replica serves nothing yet; `/readyz` says which watch is missing"},
		{prefix + "endpoints", gauge, nil, "Endpoints that are shown, of all states.", prefix + "endpoints", "replicas that watch the same show the same number"},
		{prefix + "suspects", gauge, nil, "Services and slices that a list of the API server left out and that are kept until it confirms that they are gone.", prefix + "suspects > 0", "for seconds: normal after an outage; for minutes: the API server does not answer the confirmation"},
		{prefix + "stale_seconds", gauge, nil, "Seconds since a watch of the API server was last current; 0 while all are current.", prefix + "stale_seconds > 0", "the last state is kept; see the runbook EndpointViewsNotCurrent"},
		{prefix + "identities_current", gauge, nil, "1 while the newest list of identities is in effect, 0 while it has a mistake.", prefix + "identities_current == 0", "the last good list is in effect; the log names the mistake"},
		{prefix + "clients", gauge, nil, "Streams that are open.", "sum(" + prefix + "clients)", "compare with VIEWS_MAX_CLIENTS times the replicas"},
		{prefix + "events_total", counter, map[string][]string{"type": kinds}, "Events sent, by type.", "rate(" + prefix + "events_total[5m])", "how much changes, times the clients"},
		{prefix + "refused_total", counter, map[string][]string{"code": nil}, "Requests that were refused, by HTTP status.", "rate(" + prefix + `refused_total{code="403"}[5m])`, "a client asks for what it may not see"},
		{prefix + "expired_total", counter, nil, "Streams that ended with 410.", "rate(" + prefix + "expired_total[5m])", "clients that had to read everything again: too slow, away too long, or rights that changed"},
		{prefix + "resumed_total", counter, nil, "Streams that went on from a token.", "rate(" + prefix + "resumed_total[5m])", "clients that connect again and miss nothing"},
		{prefix + "lists_total", counter, nil, "Lists sent.", "rate(" + prefix + "lists_total[5m])", "clients that poll; a stream is cheaper"},
	}
}

// descriptions are the families as the registry knows them, by their names without
// the prefix, each with the names of its labels.
func descriptions() map[string]description {
	all := make(map[string]description)
	for _, f := range Families() {
		kind := prometheus.GaugeValue
		if f.Type == counter {
			kind = prometheus.CounterValue
		}
		all[f.Name[len(prefix):]] = description{prometheus.NewDesc(f.Name, f.Help, f.labelNames(), nil), kind}
	}
	return all
}

type description struct {
	desc *prometheus.Desc
	kind prometheus.ValueType
}
