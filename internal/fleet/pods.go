package fleet

import (
	"cmp"
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/fleet/children"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/fleet/conditions"
)

// fleetOf is the fleet of a Pod.
func fleetOf(_ context.Context, pod client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: pod.GetNamespace(), Name: pod.GetLabels()[children.EnvoyLabel]}}}
}

// isOf reports whether an object is the Envoy's.
func isOf(object metav1.Object, e *v1alpha1.Envoy) bool { return metav1.IsControlledBy(object, e) }

// pods are those of the fleet, by name. A Pod that only has the labels is none.
func (r *reconciler) pods(ctx context.Context, e *v1alpha1.Envoy) ([]corev1.Pod, error) {
	list := &corev1.PodList{}
	if err := r.client.List(ctx, list, client.InNamespace(e.Namespace), client.MatchingLabels(children.Selector(e))); err != nil {
		return nil, err
	}
	made := slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool {
		by := metav1.GetControllerOf(&pod)
		return by == nil || by.Kind != "ReplicaSet" || !strings.HasPrefix(by.Name, e.Spec.Name+"-")
	})
	slices.SortFunc(made, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return made, nil
}

// states are those of the Pods that stay.
func states(pods []corev1.Pod) []conditions.Pod {
	var all []conditions.Pod
	for i := range pods {
		if pods[i].DeletionTimestamp == nil {
			all = append(all, state(&pods[i]))
		}
	}
	return all
}

func state(pod *corev1.Pod) conditions.Pod {
	is := conditions.Pod{Name: pod.Name}
	for _, c := range pod.Status.Conditions {
		switch {
		case c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue:
			is.Ready = true
		case c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse:
			is.Why = c.Message
		}
	}
	for _, of := range [][]corev1.ContainerStatus{pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses} {
		for _, c := range of {
			if waits := c.State.Waiting; waits != nil && is.Why == "" {
				is.Why = strings.TrimSuffix("container "+c.Name+" waits: "+waits.Reason+": "+waits.Message, ": ")
			}
		}
	}
	return is
}

// find returns the condition of a type, an empty one if there is none.
func find(all []metav1.Condition, of string) metav1.Condition {
	if c := meta.FindStatusCondition(all, of); c != nil {
		return *c
	}
	return metav1.Condition{}
}
