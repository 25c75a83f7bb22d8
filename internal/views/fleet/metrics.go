package fleet

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/fleet/manifests"
)

// The metrics of fleets, which the conditions of each Envoy say too. The label namespace is
// that of the operator, as Prometheus sets it.
var (
	leaderMetric = prometheus.NewDesc("endpoint_views_fleet_leader",
		"1 in the operator that acts, 0 in the others.", nil, nil)
	conditionMetric = prometheus.NewDesc("endpoint_views_fleet_condition",
		"1 for the status that a condition of an Envoy has.", []string{"fleet_namespace", "fleet", "condition", "status"}, nil)
	replicasMetric = prometheus.NewDesc("endpoint_views_fleet_replicas",
		"Pods of a fleet: as many as are wanted, are available, and have a stream to endpoint-views.", []string{"fleet_namespace", "fleet", "state"}, nil)
)

// Gauges say at each scrape what the status of all Envoys says.
type Gauges struct {
	// List returns all Envoys.
	List func() (v1alpha1.EnvoyList, error)
	// Elected is closed when this operator acts.
	Elected <-chan struct{}
}

// Describe implements prometheus.Collector.
func (g *Gauges) Describe(out chan<- *prometheus.Desc) {
	out <- leaderMetric
	out <- conditionMetric
	out <- replicasMetric
}

// Collect implements prometheus.Collector. Without a list of Envoys there is no metric of
// them, rather than that of an hour ago.
func (g *Gauges) Collect(out chan<- prometheus.Metric) {
	leads := 0.0
	select {
	case <-g.Elected:
		leads = 1
	default:
	}
	out <- prometheus.MustNewConstMetric(leaderMetric, prometheus.GaugeValue, leads)
	all, err := g.List()
	if err != nil {
		return
	}
	for i := range all.Items {
		e := &all.Items[i]
		for _, c := range e.Status.Conditions {
			out <- prometheus.MustNewConstMetric(conditionMetric, prometheus.GaugeValue, 1, e.Namespace, e.Name, c.Type, string(c.Status))
		}
		for state, count := range map[string]int32{
			"wanted": manifests.Replicas(e), "available": e.Status.AvailableReplicas, "connected": e.Status.ConnectedReplicas,
		} {
			out <- prometheus.MustNewConstMetric(replicasMetric, prometheus.GaugeValue, float64(count), e.Namespace, e.Name, state)
		}
	}
}
