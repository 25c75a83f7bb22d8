// Package fleettest has what the tests of several packages need to know of the operator.
// Nothing goes in; out come the names of its metrics.
package fleettest

import "github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"

// MetricFamilies are the metrics of the operator itself, with the values of their labels; nil
// where these are open.
func MetricFamilies() map[string]map[string][]string {
	return map[string]map[string][]string{
		"endpoint_views_fleet_leader": {},
		"endpoint_views_fleet_condition": {
			"fleet_namespace": nil, "fleet": nil,
			"condition": {v1alpha1.ConditionAccepted, v1alpha1.ConditionResolvedRefs, v1alpha1.ConditionReady, v1alpha1.ConditionProgressing, v1alpha1.ConditionSynced, v1alpha1.ConditionRejected},
			"status":    {"True", "False", "Unknown"},
		},
		"endpoint_views_fleet_replicas": {"fleet_namespace": nil, "fleet": nil, "state": {"wanted", "available", "connected"}},
	}
}
