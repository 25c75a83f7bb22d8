package conditions

import (
	"fmt"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/fleet/children"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/redact"
)

// longestWords bounds what is quoted of others.
const longestWords = 1000

func condition(of string, status metav1.ConditionStatus, reason, format string, args ...any) metav1.Condition {
	return metav1.Condition{Type: of, Status: status, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// ready says whether as many Pods take traffic as are wanted.
func ready(s Seen) metav1.Condition {
	const of = v1alpha1.ConditionReady
	if s.Problem != nil {
		return condition(of, metav1.ConditionFalse, s.Problem.Reason, "%s", s.Problem.Message)
	}
	wanted := children.Replicas(s.Envoy)
	var have int32
	if s.Deployment != nil {
		have = s.Deployment.Status.AvailableReplicas
	}
	switch {
	case wanted == 0:
		return condition(of, metav1.ConditionFalse, v1alpha1.ReasonPodsNotReady, "spec.replicas is 0: nothing takes traffic; raise it")
	case have < wanted:
		return condition(of, metav1.ConditionFalse, v1alpha1.ReasonPodsNotReady, "%d of %d Pods are ready%s", have, wanted, why(s))
	}
	return condition(of, metav1.ConditionTrue, v1alpha1.ReasonPodsReady, "%d of %d Pods are ready", have, wanted)
}

// why says what keeps Pods away: the words of the API server that refuses them, and of the
// first Pod that is not ready what it waits for.
func why(s Seen) string {
	var text string
	if c := said(s.Deployment, appsv1.DeploymentReplicaFailure); c != nil && c.Status == corev1.ConditionTrue {
		text = "; Pods cannot be created: " + redact.Cut(redact.Printable(c.Message), longestWords)
	}
	for _, pod := range s.Pods {
		if !pod.Ready && pod.Why != "" {
			return text + fmt.Sprintf("; Pod %s: %s", pod.Name, pod.Why)
		}
	}
	return text
}

// said is a condition of a Deployment, nil where there is none.
func said(d *appsv1.Deployment, which appsv1.DeploymentConditionType) *appsv1.DeploymentCondition {
	if d == nil {
		return nil
	}
	for i := range d.Status.Conditions {
		if d.Status.Conditions[i].Type == which {
			return &d.Status.Conditions[i]
		}
	}
	return nil
}

// progressing says whether Pods are being replaced.
func progressing(s Seen) metav1.Condition {
	const of = v1alpha1.ConditionProgressing
	d := s.Deployment
	switch {
	case d == nil:
		return condition(of, metav1.ConditionFalse, v1alpha1.ReasonReplacing, "there is no Deployment yet")
	case overdue(d):
		return condition(of, metav1.ConditionFalse, v1alpha1.ReasonDeadlineExceeded, "Deployment %s has made no progress for its progressDeadlineSeconds%s", d.Name, why(s))
	case d.Status.ObservedGeneration < d.Generation || d.Status.UpdatedReplicas < d.Status.Replicas || d.Status.UpdatedReplicas < children.Replicas(s.Envoy) || d.Status.UnavailableReplicas > 0:
		return condition(of, metav1.ConditionTrue, v1alpha1.ReasonReplacing, "%d of %d Pods are of this version%s", d.Status.UpdatedReplicas, children.Replicas(s.Envoy), why(s))
	}
	return condition(of, metav1.ConditionFalse, v1alpha1.ReasonComplete, "all Pods are of this version")
}

// overdue reports whether a Deployment has given up.
func overdue(d *appsv1.Deployment) bool {
	c := said(d, appsv1.DeploymentProgressing)
	return c != nil && c.Status == corev1.ConditionFalse && c.Reason == "ProgressDeadlineExceeded"
}

// unknown is what is said where endpoint-views says nothing of a fleet; nil where it does.
func unknown(s Seen, of string) *metav1.Condition {
	var c metav1.Condition
	switch {
	case s.Envoy.Spec.XDS != nil:
		c = condition(of, metav1.ConditionUnknown, v1alpha1.ReasonExternalControlPlane, "spec.xds names another control plane, which does not say whether the Envoys follow")
	case !s.Streams.Asked:
		if before := meta.FindStatusCondition(s.Envoy.Status.Conditions, of); before != nil && before.ObservedGeneration == s.Envoy.Generation {
			return before
		}
		c = condition(of, metav1.ConditionUnknown, v1alpha1.ReasonControlPlaneUnreachable, "endpoint-views was not asked yet")
	case s.Streams.Answered == 0:
		c = condition(of, metav1.ConditionUnknown, v1alpha1.ReasonControlPlaneUnreachable, "no replica of endpoint-views answers the operator: %s; look at FLEET_SERVE_URL and at the Pods of endpoint-views", s.Streams.Missing)
	default:
		return nil
	}
	return &c
}

// synced says whether every ready Pod has acknowledged this generation.
func synced(s Seen) metav1.Condition {
	const of = v1alpha1.ConditionSynced
	if c := unknown(s, of); c != nil {
		return *c
	}
	newest := s.Streams.newest()
	var absent, late []string
	count := 0
	for _, pod := range s.Pods {
		if !pod.Ready {
			continue
		}
		count++
		stream, there := newest[pod.Name]
		switch {
		case !there:
			absent = append(absent, pod.Name)
		case stream.Generation < s.Envoy.Generation:
			late = append(late, pod.Name)
		}
	}
	switch {
	case count == 0:
		return condition(of, metav1.ConditionFalse, v1alpha1.ReasonNoReadyPod, "no Pod is ready")
	case len(absent) > 0:
		message := fmt.Sprintf("%d of %d ready Pods have no stream to endpoint-views and keep what they have: %s", len(absent), count, first(absent))
		if s.Streams.Missing != "" {
			message += "; a replica does not answer the operator: " + s.Streams.Missing
		}
		return condition(of, metav1.ConditionFalse, v1alpha1.ReasonNotConnected, "%s", message)
	case len(late) > 0:
		return condition(of, metav1.ConditionFalse, v1alpha1.ReasonNotAcknowledged, "%d of %d ready Pods have not acknowledged generation %d: %s", len(late), count, s.Envoy.Generation, first(late))
	}
	return condition(of, metav1.ConditionTrue, v1alpha1.ReasonAcknowledged, "every ready Pod has acknowledged clusters, listeners and routes of generation %d", s.Envoy.Generation)
}

// rejected has the words of the first Pod that rejects something.
func rejected(s Seen) metav1.Condition {
	const of = v1alpha1.ConditionRejected
	if c := unknown(s, of); c != nil {
		return *c
	}
	newest := s.Streams.newest()
	for _, pod := range s.Pods {
		if text := newest[pod.Name].Rejected; text != "" {
			return condition(of, metav1.ConditionTrue, v1alpha1.ReasonRejected, "Pod %s keeps what it had, because it rejects %s", pod.Name, text)
		}
	}
	return condition(of, metav1.ConditionFalse, v1alpha1.ReasonNotRejected, "no Pod rejects anything")
}

// most is how many names a message has.
const most = 3

// first are the first names.
func first(names []string) string {
	if len(names) <= most {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}
