package fleet_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/fleet"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/fleet/manifests"
)

// podLister answers each list with Pods.
type podLister struct {
	client.Client

	pods []corev1.Pod
}

func (l *podLister) List(_ context.Context, into client.ObjectList, _ ...client.ListOption) error {
	into.(*corev1.PodList).Items = slices.Clone(l.pods)
	return nil
}

// podOf is a Pod with the labels of the fleet edge, which a ReplicaSet controls.
func podOf(name, kind, controller string) corev1.Pod {
	pod := corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Name: name, Labels: map[string]string{manifests.EnvoyLabel: "edge", "pod-template-hash": "5f6b"},
	}}
	if kind != "" {
		pod.OwnerReferences = []metav1.OwnerReference{{Kind: kind, Name: controller, Controller: new(true)}}
	}
	return pod
}

func TestContract87APodThatOnlyHasTheLabelsIsNoneOfTheFleet(t *testing.T) {
	t.Parallel()
	theirs := podOf("hash", "ReplicaSet", "edge-5f6b")
	delete(theirs.Labels, "pod-template-hash")
	all := &podLister{pods: []corev1.Pod{
		podOf("ours", "ReplicaSet", "edge-5f6b"), theirs, podOf("alone", "", ""), podOf("foreign", "ReplicaSet", "other-5f6b"),
		podOf("longer", "ReplicaSet", "edge-other-5f6b"), podOf("set", "StatefulSet", "edge-5f6b"),
	}}
	got, err := fleet.Pods(t.Context(), all, simple("shop", "edge", 2))
	if err != nil || len(got) != 1 || got[0].Name != "ours" {
		t.Errorf("got %+v, %v, want the Pod of the Deployment's ReplicaSet alone", got, err)
	}
}

func TestContract150APodSaysWhyItIsNotReady(t *testing.T) {
	t.Parallel()
	crashed := &corev1.ContainerStateTerminated{ExitCode: 1, Reason: "Error", Message: "error initializing config:\nno such file"}
	waits := func(reason, message string) corev1.ContainerState {
		return corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason, Message: message}}
	}
	running := corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}
	for name, c := range map[string]struct {
		install, envoy corev1.ContainerStatus
		status         corev1.PodStatus
		want           string
	}{
		"runs":                     {envoy: corev1.ContainerStatus{State: running}},
		"has just crashed":         {envoy: corev1.ContainerStatus{State: corev1.ContainerState{Terminated: crashed}}, want: "container envoy ended with exit code 1: Error: error initializing config: no such file"},
		"runs again":               {envoy: corev1.ContainerStatus{State: running, LastTerminationState: corev1.ContainerState{Terminated: crashed}}, want: "container envoy ended with exit code 1: Error: error initializing config: no such file"},
		"runs again, and is ready": {envoy: corev1.ContainerStatus{State: running, Ready: true, LastTerminationState: corev1.ContainerState{Terminated: crashed}}},
		"is held back": {
			envoy: corev1.ContainerStatus{State: waits("CrashLoopBackOff", "back-off 10s"), LastTerminationState: corev1.ContainerState{Terminated: crashed}},
			want:  "container envoy waits: CrashLoopBackOff: back-off 10s; before, container envoy ended with exit code 1: Error: error initializing config: no such file",
		},
		"has no memory": {
			envoy: corev1.ContainerStatus{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}}},
			want:  "container envoy ended with exit code 137: OOMKilled",
		},
		"ended without an error": {
			envoy: corev1.ContainerStatus{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed"}}},
			want:  "container envoy ended with exit code 0: Completed",
		},
		"cannot begin": {
			install: corev1.ContainerStatus{State: corev1.ContainerState{Terminated: crashed}}, envoy: corev1.ContainerStatus{State: waits("PodInitializing", "")},
			want: "container install ended with exit code 1: Error: error initializing config: no such file",
		},
		"begins": {
			install: corev1.ContainerStatus{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed"}}},
			envoy:   corev1.ContainerStatus{State: waits("ErrImagePull", "no such image")},
			want:    "container envoy waits: ErrImagePull: no such image",
		},
		"was evicted": {
			envoy: corev1.ContainerStatus{State: running}, status: corev1.PodStatus{Phase: corev1.PodFailed, Reason: "Evicted", Message: "the node had no disk"},
			want: "Evicted: the node had no disk",
		},
		"has no node": {
			status: corev1.PodStatus{Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: "0/3 nodes are available"}}},
			envoy:  corev1.ContainerStatus{}, want: "0/3 nodes are available",
		},
	} {
		pod := podOf("edge-1", "ReplicaSet", "edge-5f6b")
		pod.Status = c.status
		c.install.Name, c.envoy.Name = "install", "envoy"
		pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses = []corev1.ContainerStatus{c.install}, []corev1.ContainerStatus{c.envoy}
		got, err := fleet.Pods(t.Context(), &podLister{pods: []corev1.Pod{pod}}, simple("shop", "edge", 2))
		if err != nil || len(got) != 1 || got[0].Why != c.want {
			t.Errorf("a Pod that %s: got %+v, %v, want %q", name, got, err, c.want)
		}
	}
	// What others say is bounded: a program, and a scheduler of many nodes.
	long := strings.Repeat("x", 10_000)
	for name, status := range map[string]corev1.PodStatus{
		"a program":   {ContainerStatuses: []corev1.ContainerStatus{{Name: "envoy", State: waits("Long", long)}}},
		"a scheduler": {Conditions: []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Message: long}}},
	} {
		pod := podOf("edge-1", "ReplicaSet", "edge-5f6b")
		pod.Status = status
		if got, err := fleet.Pods(t.Context(), &podLister{pods: []corev1.Pod{pod}}, simple("shop", "edge", 2)); err != nil || len(got[0].Why) > 1200 || !strings.Contains(got[0].Why, "xxx") {
			t.Errorf("%s: got %d characters, %v", name, len(got[0].Why), err)
		}
	}
}
