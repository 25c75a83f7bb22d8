package fleet

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/fleet/manifests"
)

// fleetOf is the fleet of a Pod.
func fleetOf(_ context.Context, pod client.Object) []reconcile.Request {
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: pod.GetNamespace(), Name: pod.GetLabels()[manifests.EnvoyLabel]}}}
}

// isOf reports whether an object is the Envoy's.
func isOf(object metav1.Object, e *v1alpha1.Envoy) bool { return metav1.IsControlledBy(object, e) }

// pods are those of the fleet, by name. A Pod that only has the labels is none: one of the
// fleet is of a ReplicaSet that the Deployment named by the hash in a label of the Pod.
func (r *reconciler) pods(ctx context.Context, e *v1alpha1.Envoy) ([]corev1.Pod, error) {
	list := &corev1.PodList{}
	if err := r.client.List(ctx, list, client.InNamespace(e.Namespace), client.MatchingLabels(manifests.Selector(e))); err != nil {
		return nil, err
	}
	made := slices.DeleteFunc(list.Items, func(pod corev1.Pod) bool {
		by := metav1.GetControllerOf(&pod)
		return by == nil || by.Kind != "ReplicaSet" || by.Name != e.Spec.Name+"-"+pod.Labels[appsv1.DefaultDeploymentUniqueLabelKey]
	})
	slices.SortFunc(made, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	return made, nil
}

// states are those of the Pods that stay.
func states(pods []corev1.Pod) []manifests.Pod {
	var all []manifests.Pod
	for i := range pods {
		if pods[i].DeletionTimestamp == nil {
			all = append(all, state(&pods[i]))
		}
	}
	return all
}

func state(pod *corev1.Pod) manifests.Pod {
	is := manifests.Pod{Name: pod.Name}
	for _, c := range pod.Status.Conditions {
		switch {
		case c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue:
			is.Ready = true
		case c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse:
			is.Why = words("", c.Message)
		}
	}
	if pod.Status.Phase == corev1.PodFailed {
		is.Why = words(pod.Status.Reason, pod.Status.Message)
	}
	// A container before which another one fails only says that it waits.
	for _, c := range pod.Status.InitContainerStatuses {
		is.Why = cmp.Or(is.Why, trouble(c, false))
	}
	for _, c := range pod.Status.ContainerStatuses {
		is.Why = cmp.Or(is.Why, trouble(c, true))
	}
	return is
}

// trouble says what a container waits for, and how it ended; empty for one that is as it
// should be. Stays says that it is not to end.
func trouble(c corev1.ContainerStatus, stays bool) string {
	ended := func(how *corev1.ContainerStateTerminated) string {
		if how == nil || how.ExitCode == 0 && !stays {
			return ""
		}
		return fmt.Sprintf("container %s ended with exit code %d: %s", c.Name, how.ExitCode, words(how.Reason, how.Message))
	}
	before := ended(c.LastTerminationState.Terminated)
	switch waits := c.State.Waiting; {
	case c.State.Terminated != nil:
		return ended(c.State.Terminated)
	case waits != nil && before != "":
		return "container " + c.Name + " waits: " + words(waits.Reason, waits.Message) + "; before, " + before
	case waits != nil:
		return "container " + c.Name + " waits: " + words(waits.Reason, waits.Message)
	case c.Ready:
		return ""
	}
	return before
}

// words are a reason and a message of Kubernetes, or of the program that ended.
func words(reason, message string) string {
	return strings.Trim(reason+": "+manifests.Quoted(strings.TrimSpace(message)), ": ")
}
