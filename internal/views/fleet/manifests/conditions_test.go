package manifests_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/fleet/manifests"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

// steady is a fleet of two Pods as it should be.
func steady() manifests.FleetState {
	started := time.Unix(0, 0)
	return manifests.FleetState{
		Envoy: &v1alpha1.Envoy{
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "edge", Generation: 5},
			Spec:       v1alpha1.EnvoySpec{Name: "edge", Replicas: ptr.To(int32(2))},
		},
		Deployment: &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: "edge", Generation: 3},
			Status:     appsv1.DeploymentStatus{ObservedGeneration: 3, Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2, AvailableReplicas: 2},
		},
		Pods: []manifests.Pod{{Name: "edge-1", Ready: true}, {Name: "edge-2", Ready: true}},
		Streams: manifests.Streams{Asked: true, Answered: 2, All: []envoyconfig.ProxyState{
			{Node: "edge-1", Generation: 5, Since: started}, {Node: "edge-2", Generation: 5, Since: started},
		}, Served: []envoyconfig.ObjectState{{Generation: 5}, {Generation: 5}}},
	}
}

func TestContract89TheConditionsSayWhatWasSeen(t *testing.T) {
	t.Parallel()
	const yes, no, open = metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown
	for name, c := range map[string]struct {
		change func(*manifests.FleetState)
		of     string
		status metav1.ConditionStatus
		reason string
		text   string
	}{
		"all is well":        {func(*manifests.FleetState) {}, "Synced", yes, "Acknowledged", "generation 5"},
		"ready":              {func(*manifests.FleetState) {}, "Ready", yes, "PodsReady", "2 of 2"},
		"nothing is rolling": {func(*manifests.FleetState) {}, "Progressing", no, "Complete", ""},
		"nothing rejected":   {func(*manifests.FleetState) {}, "Rejected", no, "NotRejected", ""},
		"a Pod too few": {func(s *manifests.FleetState) {
			s.Deployment.Status.AvailableReplicas = 1
			s.Pods[1] = manifests.Pod{Name: "edge-2", Why: "container envoy waits: ImagePullBackOff"}
		}, "Ready", no, "PodsNotReady", "1 of 2 Pods are ready; Pod edge-2: container envoy waits: ImagePullBackOff"},
		"no Pod is wanted": {func(s *manifests.FleetState) { s.Envoy.Spec.Replicas = ptr.To(int32(0)) }, "Ready", no, "PodsNotReady", "raise it"},
		"a name is taken": {func(s *manifests.FleetState) {
			s.Problem = &manifests.Problem{Reason: "NameTaken", Message: "Service edge exists"}
		}, "Ready", no, "NameTaken", "Service edge exists"},
		"no Deployment":    {func(s *manifests.FleetState) { s.Deployment = nil }, "Progressing", no, "Replacing", "no Deployment"},
		"a new Deployment": {func(s *manifests.FleetState) { s.Deployment.Generation++ }, "Progressing", yes, "Replacing", ""},
		"an old Pod stays": {func(s *manifests.FleetState) { s.Deployment.Status.Replicas = 3 }, "Progressing", yes, "Replacing", ""},
		"no Pod comes":     {func(s *manifests.FleetState) { s.Deployment.Status.Conditions = overdue() }, "Progressing", no, "DeadlineExceeded", "progressDeadlineSeconds"},
		"a stream is late": {func(s *manifests.FleetState) { s.Streams.All[1].Generation = 4 }, "Synced", no, "NotAcknowledged", "1 of 2 ready Pods have not acknowledged generation 5: edge-2"},
		"an Envoy is restored and its Pods still follow what it was": {
			func(s *manifests.FleetState) { s.Streams.All[0].Generation, s.Streams.All[1].Generation = 6, 6 },
			"Synced", no, "NotAcknowledged", "2 of 2 ready Pods have not acknowledged generation 5: edge-1, edge-2",
		},
		"a stream is gone":  {func(s *manifests.FleetState) { s.Streams.All = s.Streams.All[:1] }, "Synced", no, "NotConnected", "edge-2"},
		"a Pod is starting": {func(s *manifests.FleetState) { s.Pods[1].Ready, s.Streams.All = false, s.Streams.All[:1] }, "Synced", yes, "Acknowledged", ""},
		"no Pod":            {func(s *manifests.FleetState) { s.Pods = nil }, "Synced", no, "NoReadyPod", ""},
		"an old stream beside the new one": {func(s *manifests.FleetState) {
			s.Streams.All = append(s.Streams.All, envoyconfig.ProxyState{Node: "edge-2", Generation: 4, Since: time.Unix(-9, 0), Rejected: []envoyconfig.RejectedKind{{Type: "CDS", Text: "no"}}})
		}, "Synced", yes, "Acknowledged", ""},
		"the new stream beside an old one": {func(s *manifests.FleetState) {
			s.Streams.All = append(s.Streams.All, envoyconfig.ProxyState{Node: "edge-2", Generation: 4, Since: time.Unix(9, 0)})
		}, "Synced", no, "NotAcknowledged", ""},
		"a replica is missing, and with it a stream": {func(s *manifests.FleetState) {
			s.Streams.All, s.Streams.Answered, s.Streams.Missing = s.Streams.All[:1], 1, "10.0.0.9: no route"
		}, "Synced", no, "NotConnected", "a replica does not answer the operator: 10.0.0.9: no route"},
		"no server answers": {func(s *manifests.FleetState) {
			s.Streams = manifests.Streams{Asked: true, Missing: "10.0.0.9: no route"}
		}, "Synced", open, "ControlPlaneUnreachable", "10.0.0.9: no route"},
		"no server was asked":   {func(s *manifests.FleetState) { s.Streams = manifests.Streams{} }, "Synced", open, "ControlPlaneUnreachable", "not asked"},
		"another control plane": {func(s *manifests.FleetState) { s.Envoy.Spec.XDS = &v1alpha1.EnvoyXDS{} }, "Synced", open, "ExternalControlPlane", "spec.xds"},
		"and its rejections":    {func(s *manifests.FleetState) { s.Envoy.Spec.XDS = &v1alpha1.EnvoyXDS{} }, "Rejected", open, "ExternalControlPlane", ""},
		"a rejection, in its words": {func(s *manifests.FleetState) {
			s.Streams.All[0].Rejected = []envoyconfig.RejectedKind{{Type: "LDS", Text: "no such\nsocket"}}
		}, "Rejected", yes, "Rejected", "Pod edge-1 keeps its last good configuration, because it rejects LDS: no such socket"},
		"a Pod that is gone rejects": {func(s *manifests.FleetState) {
			s.Streams.All = append(s.Streams.All, envoyconfig.ProxyState{Node: "edge-0", Rejected: []envoyconfig.RejectedKind{{Type: "LDS", Text: "no socket"}}})
		}, "Rejected", no, "NotRejected", ""},
	} {
		seen := steady()
		c.change(&seen)
		got := meta.FindStatusCondition(manifests.Status(seen).Conditions, c.of)
		if got == nil || got.Status != c.status || got.Reason != c.reason || !strings.Contains(got.Message, c.text) || got.ObservedGeneration != 5 {
			t.Errorf("%s: got %+v\nwant %s=%s, %s, with %q", name, got, c.of, c.status, c.reason, c.text)
		}
	}
}

func TestContract150PodsThatCannotBeCreatedAreToldByTheWordsOfTheAPIServer(t *testing.T) {
	t.Parallel()
	const quota = `pods "edge-1-x" is forbidden: exceeded quota: small, requested: pods=1, used: pods=0, limited: pods=0`
	seen := steady()
	seen.Pods, seen.Streams.All = nil, nil
	seen.Deployment.Status = appsv1.DeploymentStatus{ObservedGeneration: 3, UnavailableReplicas: 2, Conditions: []appsv1.DeploymentCondition{
		{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Reason: "FailedCreate", Message: quota},
	}}
	for _, of := range []string{"Ready", "Progressing"} {
		if c := meta.FindStatusCondition(manifests.Status(seen).Conditions, of); !strings.Contains(c.Message, "Pods cannot be created: "+quota) {
			t.Errorf("%s: got %q, want the words of the API server", of, c.Message)
		}
	}
	// A surplus Pod that is refused keeps a rollout from going on while every old Pod is ready.
	seen.Deployment.Status.AvailableReplicas, seen.Deployment.Status.Replicas = 2, 2
	if c := meta.FindStatusCondition(manifests.Status(seen).Conditions, "Ready"); c.Status != metav1.ConditionTrue || strings.Contains(c.Message, "quota") {
		t.Errorf("got %+v, want Ready without more words", c)
	}
	seen.Deployment.Status.Conditions = append(seen.Deployment.Status.Conditions, overdue()...)
	if c := meta.FindStatusCondition(manifests.Status(seen).Conditions, "Progressing"); c.Reason != "DeadlineExceeded" || !strings.Contains(c.Message, quota) {
		t.Errorf("got %+v, want the words of the API server", c)
	}
	// What was refused once, and is not any more, is not told.
	seen.Deployment.Status.Conditions[0].Status, seen.Deployment.Status.AvailableReplicas = corev1.ConditionFalse, 1
	if c := meta.FindStatusCondition(manifests.Status(seen).Conditions, "Ready"); strings.Contains(c.Message, "quota") {
		t.Errorf("got %q of a refusal that is over", c.Message)
	}
}

func overdue() []appsv1.DeploymentCondition {
	return []appsv1.DeploymentCondition{{Type: appsv1.DeploymentProgressing, Status: corev1.ConditionFalse, Reason: "ProgressDeadlineExceeded"}}
}

func TestContract151And152TheConditionsSayWhatIsInEffectAndLeadsSomewhere(t *testing.T) {
	t.Parallel()
	const yes, no, open = metav1.ConditionTrue, metav1.ConditionFalse, metav1.ConditionUnknown
	nowhere := envoyconfig.ObjectState{Generation: 5, More: 2, Unresolved: []envoyconfig.UnresolvedRef{
		{Port: 8443, Route: 2, Reason: "NotShown", Text: "Service shop/web is not shown"}, {Port: 5432, Reason: "PortNotFound", Text: "no\nport"},
	}}
	mistake := func(s *manifests.FleetState) { s.Mistake = errors.New(`listener "http" leads nowhere`) }
	for name, c := range map[string]struct {
		change func(*manifests.FleetState)
		of     string
		status metav1.ConditionStatus
		reason string
		text   string
	}{
		"in effect":                     {func(*manifests.FleetState) {}, "Accepted", yes, "Accepted", ""},
		"leads somewhere":               {func(*manifests.FleetState) {}, "ResolvedRefs", yes, "ResolvedRefs", ""},
		"a field without effect":        {func(s *manifests.FleetState) { s.Streams.Served[0].Notes = []string{"sessionAffinity=ClientIP\nhere"} }, "ResolvedRefs", yes, "ResolvedRefs", "; sessionAffinity=ClientIP here"},
		"a mistake":                     {mistake, "Accepted", no, "Invalid", `the last accepted generation stays in effect: listener "http" leads nowhere`},
		"a mistake is not the Pods'":    {mistake, "Synced", no, "NotAccepted", "no Pod gets generation 5"},
		"a mistake leaves the Pods":     {mistake, "Ready", yes, "PodsReady", ""},
		"a mistake leads to no Service": {mistake, "ResolvedRefs", open, "NotAccepted", "Accepted"},
		"a mistake in a new one":        {func(s *manifests.FleetState) { mistake(s); s.Deployment = nil }, "Ready", no, "Invalid", "no object is made"},
		"a mistake for serve alone":     {func(s *manifests.FleetState) { s.Streams.Served[1].Problem = "no such\nfield" }, "Accepted", no, "NotInEffect", "no such field"},
		"and for the Pods":              {func(s *manifests.FleetState) { s.Streams.Served[1].Problem = "no such field" }, "Synced", no, "NotAccepted", ""},
		"one of all in the namespace":   {func(s *manifests.FleetState) { s.Streams.Served = []envoyconfig.ObjectState{{Problem: "too many"}} }, "Accepted", no, "NotInEffect", "too many"},
		"a mistake that is over": {func(s *manifests.FleetState) {
			s.Streams.Served[1] = envoyconfig.ObjectState{Generation: 4, Problem: "old"}
		}, "Accepted", yes, "Accepted", ""},
		"one replica says that it is no": {func(s *manifests.FleetState) { s.Streams.Served[1] = nowhere }, "ResolvedRefs", no, "NotShown", `listener "https", route 2: Service shop/web is not shown; listener "db": no port; and 2 more`},
		"an old word of it":              {func(s *manifests.FleetState) { s.Streams.Served[1] = nowhere; s.Streams.Served[1].Generation = 4 }, "ResolvedRefs", yes, "ResolvedRefs", ""},
		"serve does not know it":         {func(s *manifests.FleetState) { s.Streams.Served = nil }, "ResolvedRefs", open, "Pending", "XDS_WATCH_FLEETS"},
		"no server answers":              {func(s *manifests.FleetState) { s.Streams = manifests.Streams{Asked: true} }, "ResolvedRefs", open, "ControlPlaneUnreachable", ""},
		"another control plane":          {func(s *manifests.FleetState) { s.Envoy.Spec.XDS = &v1alpha1.EnvoyXDS{} }, "ResolvedRefs", open, "ExternalControlPlane", ""},
		"and whether it is in effect":    {func(s *manifests.FleetState) { s.Envoy.Spec.XDS = &v1alpha1.EnvoyXDS{} }, "Accepted", yes, "Accepted", ""},
	} {
		seen := steady()
		seen.Envoy.Spec.Listeners = []v1alpha1.Listener{{Name: "https", Port: 443}, {Name: "db", Port: 5432}}
		c.change(&seen)
		got := meta.FindStatusCondition(manifests.Status(seen).Conditions, c.of)
		if got == nil || got.Status != c.status || got.Reason != c.reason || !strings.Contains(got.Message, c.text) || got.ObservedGeneration != 5 {
			t.Errorf("%s: got %+v\nwant %s=%s, %s, with %q", name, got, c.of, c.status, c.reason, c.text)
		}
	}
}

func TestContract89ARestartOfTheOperatorChangesNoCondition(t *testing.T) {
	t.Parallel()
	before := steady()
	before.Envoy.Status = manifests.Status(before)
	after := steady()
	after.Envoy.Status, after.Streams = before.Envoy.Status, manifests.Streams{}
	got := manifests.Status(after)
	for _, c := range got.Conditions {
		if was := meta.FindStatusCondition(before.Envoy.Status.Conditions, c.Type); *was != c {
			t.Errorf("got %+v, want %+v", c, was)
		}
	}
	if got.ConnectedReplicas != 2 || got.Selector != "fleet.ablmnzde.github.io/envoy=edge" {
		t.Errorf("got %+v", got)
	}
	before.Streams.Served[1].Problem = "too many"
	before.Envoy.Status = manifests.Status(before)
	want := meta.FindStatusCondition(before.Envoy.Status.Conditions, "Accepted")
	for of, streams := range map[string]manifests.Streams{"a restart": {}, "endpoint-views is away": {Asked: true, Missing: "10.0.0.9: no route"}} {
		refused := steady()
		refused.Envoy.Status, refused.Streams = before.Envoy.Status, streams
		if c := meta.FindStatusCondition(manifests.Status(refused).Conditions, "Accepted"); want.Reason != "NotInEffect" || *c != *want {
			t.Errorf("%s, and the spec is not in effect: got %+v, want %+v", of, c, want)
		}
		refused.Envoy.Generation++
		if c := meta.FindStatusCondition(manifests.Status(refused).Conditions, "Accepted"); c.Status != metav1.ConditionTrue {
			t.Errorf("%s, and another generation: got %+v, want nothing of the one before", of, c)
		}
	}
	// What was known of another generation says nothing of this one.
	after.Envoy.Generation++
	if c := meta.FindStatusCondition(manifests.Status(after).Conditions, "Synced"); c.Status != metav1.ConditionUnknown {
		t.Errorf("got %+v, want Unknown", c)
	}
}

// TestContract111ARefusalIsToldHoweverLongItIs: an API server repeats the values that it refuses, and
// takes no status with a condition of more than 32 KiB.
func TestContract111ARefusalIsToldHoweverLongItIs(t *testing.T) {
	t.Parallel()
	seen := steady()
	seen.Problem = &manifests.Problem{Reason: "Refused", Message: "the API server refuses Service edge: Invalid value: " + strings.Repeat("\nx", 50_000)}
	for _, c := range manifests.Status(seen).Conditions {
		if len(c.Message) > 32<<10 {
			t.Errorf("%s has %d bytes", c.Type, len(c.Message))
		}
		if c.Type == "Ready" && !strings.HasPrefix(c.Message, "the API server refuses Service edge: Invalid value: ") {
			t.Errorf("got %.100q", c.Message)
		}
	}
}
