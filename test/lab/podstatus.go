//go:build lab

package lab

import (
	"context"
	"encoding/json"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// unschedulable is the status of a Pod that no node has room for.
func unschedulable(why string) corev1.PodStatus {
	return corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{{
		Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: why, LastTransitionTime: metav1.Now(),
	}}}
}

// ready tells the API server whether the Pod is ready.
func (p *pod) ready(ctx context.Context, is bool) {
	status := corev1.ConditionFalse
	if is {
		status = corev1.ConditionTrue
	}
	now := metav1.Now()
	all := corev1.PodStatus{
		Phase: corev1.PodRunning, PodIP: p.address.String(), PodIPs: []corev1.PodIP{{IP: p.address.String()}}, HostIP: p.world.clientNode.String(), StartTime: &now,
		ContainerStatuses: []corev1.ContainerStatus{{
			Name: p.container().Name, Image: p.container().Image, Ready: is, Started: ptr.To(true), State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}},
		}},
	}
	for _, of := range []corev1.PodConditionType{corev1.PodInitialized, corev1.ContainersReady, corev1.PodReady} {
		condition := corev1.PodCondition{Type: of, Status: status, LastTransitionTime: now}
		if of == corev1.PodInitialized {
			condition.Status = corev1.ConditionTrue
		}
		all.Conditions = append(all.Conditions, condition)
	}
	p.tell(ctx, all)
}

// tell writes the status.
func (p *pod) tell(ctx context.Context, status corev1.PodStatus) {
	patch, err := json.Marshal(map[string]any{"status": status})
	if err != nil {
		p.t.Error(err)
		return
	}
	await(ctx, nil, func() error {
		_, err := p.world.local.CoreV1().Pods(p.object.Namespace).Patch(ctx, p.object.Name, types.StrategicMergePatchType, patch, metav1.PatchOptions{}, "status")
		if apierrors.IsNotFound(err) {
			return nil
		}
		return err
	})
}

// gone takes the object away.
func (p *pod) gone(ctx context.Context) {
	options := metav1.DeleteOptions{GracePeriodSeconds: ptr.To(int64(0)), Preconditions: metav1.NewUIDPreconditions(string(p.object.UID))}
	await(ctx, nil, func() error {
		err := p.world.local.CoreV1().Pods(p.object.Namespace).Delete(ctx, p.object.Name, options)
		if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
			return nil
		}
		return err
	})
}
