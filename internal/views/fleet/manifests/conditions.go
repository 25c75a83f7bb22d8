package manifests

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

// longestWords bounds what is quoted of others, and longestMistakes the mistakes of a spec. The
// API server refuses a status with a longer condition.
const (
	longestWords    = 1000
	longestMistakes = 8000
)

// Quoted is what others say, as it may be shown.
func Quoted(text string) string { return transport.Cut(transport.Printable(text), longestWords) }

func condition(of string, status metav1.ConditionStatus, reason, format string, args ...any) metav1.Condition {
	return metav1.Condition{Type: of, Status: status, Reason: reason, Message: fmt.Sprintf(format, args...)}
}

// accepted says whether the spec is in effect.
func accepted(s FleetState) metav1.Condition {
	const of = v1alpha1.ConditionAccepted
	const text = "generation %d is not in effect, and the last accepted generation stays in effect: %s"
	if s.Mistake != nil {
		return condition(of, metav1.ConditionFalse, v1alpha1.ReasonInvalid, text, s.Envoy.Generation, transport.Cut(transport.Printable(s.Mistake.Error()), longestMistakes))
	}
	for _, one := range s.served() {
		if one.Problem != "" {
			return condition(of, metav1.ConditionFalse, v1alpha1.ReasonNotInEffect, text, s.Envoy.Generation, Quoted(one.Problem))
		}
	}
	// While no replica says anything, what one said of this generation is still so.
	before := meta.FindStatusCondition(s.Envoy.Status.Conditions, of)
	if s.Envoy.Spec.XDS == nil && s.Streams.Answered == 0 && before != nil && before.Reason == v1alpha1.ReasonNotInEffect && before.ObservedGeneration == s.Envoy.Generation {
		return *before
	}
	return condition(of, metav1.ConditionTrue, v1alpha1.ReasonAccepted, "the spec has no mistake")
}

// resolved says whether all listeners and routes lead somewhere. Of several replicas the one
// counts that says most: a Pod has its stream to any of them.
func resolved(s FleetState) metav1.Condition {
	const of = v1alpha1.ConditionResolvedRefs
	if accepted(s).Status != metav1.ConditionTrue {
		return condition(of, metav1.ConditionUnknown, v1alpha1.ReasonNotAccepted, "generation %d is not in effect; see the condition %s", s.Envoy.Generation, v1alpha1.ConditionAccepted)
	}
	if c := unknown(s, of); c != nil {
		return *c
	}
	said := s.served()
	if len(said) == 0 {
		return condition(of, metav1.ConditionUnknown, v1alpha1.ReasonPending, "endpoint-views serve does not know generation %d yet; if that lasts, look whether XDS_WATCH_FLEETS is true there, and whether it watches this namespace", s.Envoy.Generation)
	}
	most := slices.MaxFunc(said, func(a, b envoyconfig.ObjectState) int {
		return cmp.Compare(len(a.Unresolved)+a.More, len(b.Unresolved)+b.More)
	})
	if len(most.Unresolved) == 0 {
		text := "every listener and route leads to a port of a Service"
		for _, note := range most.Notes {
			text += "; " + Quoted(note)
		}
		return condition(of, metav1.ConditionTrue, v1alpha1.ReasonResolvedRefs, "%s", text)
	}
	return condition(of, metav1.ConditionFalse, most.Unresolved[0].Reason, "%s", nowhere(s.Envoy, most))
}

// nowhere names what leads nowhere, as the spec names it.
func nowhere(e *v1alpha1.Envoy, all envoyconfig.ObjectState) string {
	var texts []string
	for _, one := range all.Unresolved {
		what := fmt.Sprintf("the listener of port %d in the Pods", one.Port)
		for i := range e.Spec.Listeners {
			if l := &e.Spec.Listeners[i]; l.PodPort() == one.Port {
				what = fmt.Sprintf("listener %q", l.Name)
			}
		}
		if one.Route > 0 {
			what += fmt.Sprintf(", route %d", one.Route)
		}
		texts = append(texts, what+": "+Quoted(one.Text))
	}
	if all.More > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", all.More))
	}
	return strings.Join(texts, "; ")
}

// served is what replicas say of this generation, or of all those of the namespace.
func (s FleetState) served() []envoyconfig.ObjectState {
	if s.Envoy.Spec.XDS != nil {
		return nil
	}
	return slices.DeleteFunc(slices.Clone(s.Streams.Served), func(one envoyconfig.ObjectState) bool {
		return one.Generation != s.Envoy.Generation && one.Generation != 0
	})
}

// ready says whether as many Pods take traffic as are wanted.
func ready(s FleetState) metav1.Condition {
	const of = v1alpha1.ConditionReady
	if s.Problem != nil {
		return condition(of, metav1.ConditionFalse, s.Problem.Reason, "%s", transport.Cut(transport.Printable(s.Problem.Message), longestMistakes))
	}
	if s.Mistake != nil && s.Deployment == nil {
		return condition(of, metav1.ConditionFalse, v1alpha1.ReasonInvalid, "the spec has a mistake, so no object is made of it; see the condition %s", v1alpha1.ConditionAccepted)
	}
	wanted := Replicas(s.Envoy)
	var have int32
	if s.Deployment != nil {
		have = s.Deployment.Status.AvailableReplicas
	}
	switch {
	case wanted == 0:
		return condition(of, metav1.ConditionFalse, v1alpha1.ReasonPodsNotReady, "spec.replicas is 0: no Pod takes traffic; raise it")
	case have < wanted:
		return condition(of, metav1.ConditionFalse, v1alpha1.ReasonPodsNotReady, "%d of %d Pods are ready%s", have, wanted, why(s))
	}
	return condition(of, metav1.ConditionTrue, v1alpha1.ReasonPodsReady, "%d of %d Pods are ready", have, wanted)
}

// why says what keeps Pods away: the words of the API server that refuses them, and of the
// first Pod that is not ready what it waits for.
func why(s FleetState) string {
	var text string
	if c := said(s.Deployment, appsv1.DeploymentReplicaFailure); c.Status == corev1.ConditionTrue {
		text = "; Pods cannot be created: " + Quoted(c.Message)
	}
	for _, pod := range s.Pods {
		if !pod.Ready && pod.Why != "" {
			return text + fmt.Sprintf("; Pod %s: %s", pod.Name, pod.Why)
		}
	}
	return text
}

// said is a condition of a Deployment, without a status where there is none.
func said(d *appsv1.Deployment, which appsv1.DeploymentConditionType) appsv1.DeploymentCondition {
	if d != nil {
		for _, c := range d.Status.Conditions {
			if c.Type == which {
				return c
			}
		}
	}
	return appsv1.DeploymentCondition{}
}

// progressing says whether Pods are being replaced.
func progressing(s FleetState) metav1.Condition {
	const of = v1alpha1.ConditionProgressing
	d, goes := s.Deployment, said(s.Deployment, appsv1.DeploymentProgressing)
	switch {
	case d == nil:
		return condition(of, metav1.ConditionFalse, v1alpha1.ReasonReplacing, "there is no Deployment yet")
	case goes.Status == corev1.ConditionFalse && goes.Reason == "ProgressDeadlineExceeded":
		return condition(of, metav1.ConditionFalse, v1alpha1.ReasonDeadlineExceeded, "Deployment %s has made no progress for its progressDeadlineSeconds%s", d.Name, why(s))
	case d.Status.ObservedGeneration < d.Generation || d.Status.UpdatedReplicas < d.Status.Replicas || d.Status.UpdatedReplicas < Replicas(s.Envoy) || d.Status.UnavailableReplicas > 0:
		return condition(of, metav1.ConditionTrue, v1alpha1.ReasonReplacing, "%d of %d Pods are of this version%s", d.Status.UpdatedReplicas, Replicas(s.Envoy), why(s))
	}
	return condition(of, metav1.ConditionFalse, v1alpha1.ReasonComplete, "all Pods are of this version")
}

// unknown is what is said where endpoint-views says nothing of a fleet; nil where it does.
func unknown(s FleetState, of string) *metav1.Condition {
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
		c = condition(of, metav1.ConditionUnknown, v1alpha1.ReasonControlPlaneUnreachable, "no replica of endpoint-views answers the operator: %s; look at FLEET_SERVE_URL and at the Pods of endpoint-views", Quoted(s.Streams.Missing))
	default:
		return nil
	}
	return &c
}

// synced says whether every ready Pod has acknowledged this generation.
func synced(s FleetState) metav1.Condition {
	const of = v1alpha1.ConditionSynced
	if s.Envoy.Spec.XDS == nil && accepted(s).Status != metav1.ConditionTrue {
		return condition(of, metav1.ConditionFalse, v1alpha1.ReasonNotAccepted, "no Pod gets generation %d, because it is not in effect; see the condition %s", s.Envoy.Generation, v1alpha1.ConditionAccepted)
	}
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
		case stream.Generation != s.Envoy.Generation: // a restored Envoy has a lower one than before
			late = append(late, pod.Name)
		}
	}
	switch {
	case count == 0:
		return condition(of, metav1.ConditionFalse, v1alpha1.ReasonNoReadyPod, "no Pod is ready")
	case len(absent) > 0:
		message := fmt.Sprintf("%d of %d ready Pods have no stream to endpoint-views and keep their last configuration: %s", len(absent), count, first(absent))
		if s.Streams.Missing != "" {
			message += "; a replica does not answer the operator: " + Quoted(s.Streams.Missing)
		}
		return condition(of, metav1.ConditionFalse, v1alpha1.ReasonNotConnected, "%s", message)
	case len(late) > 0:
		return condition(of, metav1.ConditionFalse, v1alpha1.ReasonNotAcknowledged, "%d of %d ready Pods have not acknowledged generation %d: %s", len(late), count, s.Envoy.Generation, first(late))
	}
	return condition(of, metav1.ConditionTrue, v1alpha1.ReasonAcknowledged, "every ready Pod has acknowledged clusters, listeners and routes of generation %d", s.Envoy.Generation)
}

// rejected has the words of the first Pod that rejects something.
func rejected(s FleetState) metav1.Condition {
	const of = v1alpha1.ConditionRejected
	if c := unknown(s, of); c != nil {
		return *c
	}
	newest := s.Streams.newest()
	for _, pod := range s.Pods {
		var words []string
		for _, r := range newest[pod.Name].Rejected {
			words = append(words, r.Type+": "+r.Text)
		}
		if len(words) > 0 {
			return condition(of, metav1.ConditionTrue, v1alpha1.ReasonRejected, "Pod %s keeps its last good configuration, because it rejects %s", pod.Name, Quoted(strings.Join(words, "; ")))
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
