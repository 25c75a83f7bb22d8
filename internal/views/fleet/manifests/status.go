package manifests

import (
	appsv1 "k8s.io/api/apps/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

// FleetState is what is known of a fleet.
type FleetState struct {
	Envoy *v1alpha1.Envoy
	// Deployment is nil where there is none of the fleet.
	Deployment *appsv1.Deployment
	// Pods are those of the fleet that stay.
	Pods []Pod
	// Mistake is why nothing of the spec counts; nil if it does.
	Mistake error
	// Problem is why an object of the fleet is not as it should be; nil if all are.
	Problem *Problem
	// Streams are what the Pods said to endpoint-views.
	Streams Streams
}

// Pod is a Pod of a fleet.
type Pod struct {
	Name  string
	Ready bool
	// Why says why it is not.
	Why string
}

// Problem is why a fleet cannot be made.
type Problem struct {
	// Reason is one of those of the condition Ready.
	Reason, Message string
}

// Streams are what the Pods of a fleet said to endpoint-views.
type Streams struct {
	// Asked says that endpoint-views was asked since this program started.
	Asked bool
	// Answered is how many replicas did answer; Missing says why others did not.
	Answered int
	Missing  string
	// All are the streams of the fleet. The node of one is its Pod.
	All []envoyconfig.ProxyState
	// Served is what each replica that knows the fleet says of it.
	Served []envoyconfig.ObjectState
}

// Status returns the status of the Envoy.
func Status(s FleetState) v1alpha1.EnvoyStatus {
	e := s.Envoy
	next := v1alpha1.EnvoyStatus{
		ObservedGeneration: e.Generation,
		Selector:           labels.SelectorFromSet(Selector(e)).String(),
		Conditions:         append([]metav1.Condition(nil), e.Status.Conditions...),
	}
	if d := s.Deployment; d != nil {
		next.Replicas, next.AvailableReplicas, next.ReadyReplicas = d.Status.Replicas, d.Status.AvailableReplicas, d.Status.ReadyReplicas
	}
	next.ConnectedReplicas = connected(s)
	for _, one := range []metav1.Condition{accepted(s), resolved(s), ready(s), progressing(s), synced(s), rejected(s)} {
		one.ObservedGeneration = e.Generation
		meta.SetStatusCondition(&next.Conditions, one)
	}
	return next
}

// connected counts the ready Pods with a stream. Before endpoint-views was asked it is what
// was known before.
func connected(s FleetState) int32 {
	if !s.Streams.Asked && s.Envoy.Spec.XDS == nil {
		return s.Envoy.Status.ConnectedReplicas
	}
	newest := s.Streams.newest()
	var count int32
	for _, pod := range s.Pods {
		if _, there := newest[pod.Name]; there && pod.Ready {
			count++
		}
	}
	return count
}

// newest are the streams by Pod. Of a Pod that went to another replica the old one may
// still be there.
func (s Streams) newest() map[string]envoyconfig.ProxyState {
	of := make(map[string]envoyconfig.ProxyState, len(s.All))
	for _, one := range s.All {
		if had, there := of[one.Node]; !there || one.Since.After(had.Since) {
			of[one.Node] = one
		}
	}
	return of
}
