package fleet_test

import (
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/fleet/manifests"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds/envoyconfig"
)

// TestFleets has one API server for all.
func TestFleets(t *testing.T) {
	w := newWorld(t)
	t.Run("all", func(t *testing.T) {
		for name, test := range map[string]func(*testing.T, *world){
			"Contract86TheSampleOfKubeEnvoyControllerWorks":          sample,
			"Contract86AChangeReachesTheObjectsAndDriftIsRepaired":   changes,
			"Contract86TheObjectsGoWithTheEnvoy":                     goes,
			"Contract86FortyEnvoysComeAndGo":                         forty,
			"Contract86AHundredFleetsAtRestCostNoWrite":              rest,
			"Contract86AnOldPodKeepsItsBootstrap":                    bootstraps,
			"Contract87WhatIsNotOfTheEnvoyIsNeverTouched":            foreign,
			"Contract87TwoEnvoysOfOneNameDoNotShare":                 shared,
			"Contract87WhatIsMadeBetweenLookAndWriteIsNotTouched":    between,
			"Contract88WhatOfThePodsIsTheTeamsIsAClosedList":         closed,
			"Contract88TheAPIServerRefusesWhatCannotBe":              refusals,
			"Contract111And133TheServiceIsAsTheSpecSays":             exposes,
			"Contract89SyncedIsTrueWhenEveryReadyPodHasAcknowledged": synced,
			"Contract151ASpecThatServeRefusesIsNotAccepted":          unaccepted,
			"Contract150WhatRefusesPodsIsToldInItsWords":             refusedPods,
			"Contract95TheServerOfXDSLearnsOfAnEnvoy":                served,
			"Contract149OfAnEnvoyTheCacheKeepsWhatIsCounted":         counts,
			"Contract133AnAutoscalerSetsTheNumberOfPods":             autoscales,
			"Contract133AnAutoscalerFollowsTheLoadOfThePods":         followsLoad,
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, w)
			})
		}
	})
	if count := panics(t); count > 0 {
		t.Errorf("the operator panicked %v times", count)
	}
}

// theirs is the sample of kube-envoy-controller but for its first line.
const theirs = `apiVersion: fleet.ablmnzde.github.io/v1alpha1
kind: Envoy
metadata:
  name: edge-envoy
spec:
  name: "envoy-1"
  configMapName: "envoy-cfg-1"
  replicas: 3
  xds:
    name: "xds_cluster"
    host: "xds-service.default"
    port: 19000
`

func sample(t *testing.T, w *world) {
	namespace := w.namespace(t, "sample")
	e := parse(t, theirs)
	e.SetNamespace(namespace)
	w.make(t, e)
	w.ready(t, w.pods(t, namespace, "edge-envoy", 3))
	w.awaitCondition(t, namespace, "edge-envoy", v1alpha1.ConditionReady, "True", v1alpha1.ReasonPodsReady)
	w.awaitCondition(t, namespace, "edge-envoy", v1alpha1.ConditionProgressing, "False", v1alpha1.ReasonComplete)
	w.awaitCondition(t, namespace, "edge-envoy", v1alpha1.ConditionSynced, "Unknown", v1alpha1.ReasonExternalControlPlane)
	is := &v1alpha1.Envoy{}
	if w.get(t, namespace, "edge-envoy", is); is.Status.AvailableReplicas != 3 || is.Status.Replicas != 3 {
		t.Errorf("status: got %+v, want 3 available", is.Status)
	}
	files, service := &corev1.ConfigMap{}, &corev1.Service{}
	if !w.get(t, namespace, "envoy-cfg-1", files) || !w.get(t, namespace, "envoy-1", service) {
		t.Fatal("there is no ConfigMap or no Service")
	}
	for _, want := range []string{"name: xds_cluster", "address: xds-service.default", "port_value: 19000"} {
		if !strings.Contains(files.Data["envoy.yaml"], want) {
			t.Errorf("envoy.yaml has no %q:\n%s", want, files.Data["envoy.yaml"])
		}
	}
	if p := service.Spec.Ports; len(p) != 1 || p[0].Port != 80 || p[0].TargetPort.IntVal != 8080 {
		t.Errorf("Service: got %v, want 80 to 8080", p)
	}
}

func changes(t *testing.T, w *world) {
	namespace := w.namespace(t, "changes")
	e := simple(namespace, "edge", 2)
	e.Spec.Listeners = append(e.Spec.Listeners, v1alpha1.Listener{Name: "db", Port: 5432, Protocol: v1alpha1.ListenerTCP, Service: "db"})
	w.make(t, e)
	w.pods(t, namespace, "edge", 2)
	scale := &autoscalingv1.Scale{Spec: autoscalingv1.ScaleSpec{Replicas: 4}}
	if err := w.client.SubResource("scale").Update(t.Context(), e, client.WithSubResourceBody(scale)); err != nil {
		t.Fatalf("scale, as a HorizontalPodAutoscaler does: %v", err)
	}
	w.pods(t, namespace, "edge", 4)
	other := strings.Replace(digest, "envoyproxy", "example.com", 1)
	w.change(t, namespace, "edge", func(e *v1alpha1.Envoy) {
		e.Spec.Image, e.Spec.Listeners = other, e.Spec.Listeners[:1]
		e.Spec.PodTemplate.Labels = map[string]string{"team": "shop", manifests.EnvoyLabel: "other"}
	})
	d := w.deployment(t, namespace, "edge", func(d *appsv1.Deployment) bool { return d.Spec.Template.Spec.Containers[0].Image == other })
	if got := d.Spec.Template.Labels; got["team"] != "shop" || got[manifests.EnvoyLabel] != "edge" {
		t.Errorf("labels of Pods: got %v", got)
	}
	w.service(t, namespace, "a port that goes", func(s *corev1.Service) bool { return len(s.Spec.Ports) == 1 })
	// What others change or delete comes back; what they add may stay.
	theirs := client.RawPatch(types.MergePatchType, []byte(`{"spec":{"replicas":1},"metadata":{"annotations":{"example.com/note":"theirs"}}}`))
	if err := w.client.Patch(t.Context(), d, theirs); err != nil {
		t.Fatal(err)
	}
	d = w.deployment(t, namespace, "edge", func(d *appsv1.Deployment) bool { return *d.Spec.Replicas == 4 })
	if d.Annotations["example.com/note"] != "theirs" {
		t.Error("the annotation of somebody else is gone")
	}
	before := w.service(t, namespace, "it is there", func(*corev1.Service) bool { return true })
	if err := w.client.Delete(t.Context(), before); err != nil {
		t.Fatal(err)
	}
	w.service(t, namespace, "it comes back", func(s *corev1.Service) bool { return s.UID != before.UID })
	// An object of the Envoy that has lost its labels is not lost.
	before = w.service(t, namespace, "it is there", func(*corev1.Service) bool { return true })
	if err := w.client.Patch(t.Context(), before, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":null}}`))); err != nil {
		t.Fatal(err)
	}
	w.service(t, namespace, "its labels come back", func(s *corev1.Service) bool { return s.UID == before.UID && s.Labels[manifests.EnvoyLabel] == "edge" })
}

// service waits until the Service edge is so.
func (w *world) service(t *testing.T, namespace, what string, is func(*corev1.Service) bool) *corev1.Service {
	t.Helper()
	s := &corev1.Service{}
	await(t, "Service edge: "+what, func() string {
		s = &corev1.Service{}
		if !w.get(t, namespace, "edge", s) || !is(s) {
			return fmt.Sprintf("it is %v", s.Spec.Ports)
		}
		return ""
	})
	return s
}

// objects are those that an Envoy named edge has.
func objects() []client.Object {
	return []client.Object{&corev1.ConfigMap{}, &corev1.Service{}, &networkingv1.NetworkPolicy{}, &policyv1.PodDisruptionBudget{}, &appsv1.Deployment{}}
}

func goes(t *testing.T, w *world) {
	namespace := w.namespace(t, "goes")
	e := simple(namespace, "edge", 1)
	w.make(t, e)
	w.pods(t, namespace, "edge", 1)
	for _, object := range objects() {
		if !w.get(t, namespace, "edge", object) || !metav1.IsControlledBy(object, e) {
			t.Errorf("%T: it is not there, or does not name the Envoy", object)
		}
	}
	if err := w.client.Delete(t.Context(), e); err != nil {
		t.Fatal(err)
	}
	await(t, "the objects go", func() string {
		for _, object := range objects() {
			if w.get(t, namespace, "edge", object) {
				return fmt.Sprintf("%T is there", object)
			}
		}
		return ""
	})
	w.pods(t, namespace, "edge", 0)
}

func forty(t *testing.T, w *world) {
	namespace := w.namespace(t, "forty")
	for i := range 40 {
		e := simple(namespace, fmt.Sprintf("edge-%d", i), 0)
		w.make(t, e)
		if i%2 == 0 {
			if err := w.client.Delete(t.Context(), e); err != nil {
				t.Fatal(err)
			}
		}
	}
	await(t, "the others have their Deployments", func() string {
		list := &appsv1.DeploymentList{}
		if err := w.client.List(t.Context(), list, client.InNamespace(namespace)); err != nil {
			return err.Error()
		}
		if len(list.Items) != 20 {
			return fmt.Sprintf("there are %d", len(list.Items))
		}
		return ""
	})
}

func rest(t *testing.T, w *world) {
	namespace := w.namespace(t, "rest")
	for i := range 100 {
		w.make(t, simple(namespace, fmt.Sprintf("edge-%d", i), 0))
	}
	for i := range 100 {
		w.awaitCondition(t, namespace, fmt.Sprintf("edge-%d", i), v1alpha1.ConditionProgressing, "False", v1alpha1.ReasonComplete)
	}
	another := newSaid()
	w.operate(t, "after-a-restart", another, namespace)
	await(t, "another operator has looked at all", func() string {
		if count := another.seen(namespace); count < 100 {
			return fmt.Sprintf("it has looked at %d", count)
		}
		return ""
	})
	for _, event := range w.api.Audit() {
		if event.UserAgent == "after-a-restart" && event.Namespace == namespace && event.Writes() {
			t.Errorf("a write: %s %s %s", event.Verb, event.Resource, event.Name)
		}
	}
}

func bootstraps(t *testing.T, w *world) {
	namespace := w.namespace(t, "bootstraps")
	e := parse(t, theirs)
	e.SetNamespace(namespace)
	w.make(t, e)
	old := w.pods(t, namespace, "edge-envoy", 3)[0].Annotations[manifests.BootstrapAnnotation]
	w.change(t, namespace, "edge-envoy", func(e *v1alpha1.Envoy) { e.Spec.XDS.Host = "other.default" })
	files := &corev1.ConfigMap{}
	await(t, "the new bootstrap is there", func() string {
		files = &corev1.ConfigMap{}
		if w.get(t, namespace, "envoy-cfg-1", files); !strings.Contains(files.Data["envoy.yaml"], "other.default") {
			return "it is the old one"
		}
		return ""
	})
	if text := files.Data[manifests.FileOf(old)]; !strings.Contains(text, "xds-service.default") {
		t.Errorf("the bootstrap of Pods that still run is gone: %v", files.Data)
	}
	d := w.deployment(t, namespace, "envoy-1", func(d *appsv1.Deployment) bool {
		return d.Spec.Template.Annotations[manifests.BootstrapAnnotation] != old
	})
	if hash := d.Spec.Template.Annotations[manifests.BootstrapAnnotation]; files.Data[manifests.FileOf(hash)] != files.Data["envoy.yaml"] {
		t.Error("new Pods start from something else than envoy.yaml")
	}
}

func foreign(t *testing.T, w *world) {
	for i, object := range []client.Object{
		&corev1.ConfigMap{Data: map[string]string{"a": "b"}},
		&corev1.Service{Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 81}}}},
		&networkingv1.NetworkPolicy{},
		&policyv1.PodDisruptionBudget{Spec: policyv1.PodDisruptionBudgetSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}}},
		&appsv1.Deployment{Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(int32(0)), Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "a", Image: "a"}}}},
		}},
	} {
		// Without a label, where the operator's cache does not have it, and with the
		// operator's own label.
		for name, labels := range map[string]map[string]string{"plain": nil, "labelled": {manifests.EnvoyLabel: "edge"}} {
			namespace := w.namespace(t, fmt.Sprintf("foreign-%d-%s", i, name))
			theirs, _ := object.DeepCopyObject().(client.Object)
			theirs.SetNamespace(namespace)
			theirs.SetName("edge")
			theirs.SetLabels(labels)
			w.make(t, theirs)
			w.leavesAlone(t, theirs)
		}
	}
}

// leavesAlone makes an Envoy whose objects would have the name of another one, which has to
// stay as it is until somebody deletes it.
func (w *world) leavesAlone(t *testing.T, object client.Object) {
	t.Helper()
	namespace, before := object.GetNamespace(), object.GetGeneration()
	w.make(t, simple(namespace, "edge", 0))
	c := w.awaitCondition(t, namespace, "edge", v1alpha1.ConditionReady, "False", v1alpha1.ReasonNameTaken)
	if !strings.Contains(c.Message, "edge exists and is not of this Envoy") {
		t.Errorf("%T: got message %q", object, c.Message)
	}
	if w.get(t, namespace, "edge", object); len(object.GetOwnerReferences()) > 0 || object.GetGeneration() != before || object.GetAnnotations()["fleet.ablmnzde.github.io/applied"] != "" {
		t.Errorf("%T: it was changed: %v", object, object)
	}
	if err := w.client.Delete(t.Context(), object); err != nil {
		t.Fatal(err)
	}
	w.change(t, namespace, "edge", func(e *v1alpha1.Envoy) { e.Spec.MaxConnections = ptr.To(int32(7)) })
	w.awaitCondition(t, namespace, "edge", v1alpha1.ConditionReady, "False", v1alpha1.ReasonPodsNotReady)
}

func shared(t *testing.T, w *world) {
	namespace := w.namespace(t, "shared")
	w.make(t, simple(namespace, "edge", 0))
	w.awaitCondition(t, namespace, "edge", v1alpha1.ConditionReady, "False", v1alpha1.ReasonPodsNotReady)
	second := simple(namespace, "second", 0)
	second.Spec.Name = "edge"
	w.make(t, second)
	w.awaitCondition(t, namespace, "second", v1alpha1.ConditionReady, "False", v1alpha1.ReasonNameTaken)
	w.deployment(t, namespace, "edge", func(d *appsv1.Deployment) bool { return d.Labels[manifests.EnvoyLabel] == "edge" })
}

func synced(t *testing.T, w *world) {
	namespace := w.namespace(t, "synced")
	fleet := namespace + "/edge"
	w.make(t, simple(namespace, "edge", 2))
	pods := w.pods(t, namespace, "edge", 2)
	w.awaitCondition(t, namespace, "edge", v1alpha1.ConditionSynced, "False", v1alpha1.ReasonNoReadyPod)
	w.ready(t, pods)
	w.awaitCondition(t, namespace, "edge", v1alpha1.ConditionSynced, "False", v1alpha1.ReasonNotConnected)
	follows := func(generation int64, rejected ...envoyconfig.RejectedKind) []envoyconfig.ProxyState {
		return []envoyconfig.ProxyState{{Node: pods[0].Name, Generation: 1}, {Node: pods[1].Name, Generation: generation, Rejected: rejected}}
	}
	w.said.says(t, fleet, follows(1)...)
	w.awaitCondition(t, namespace, "edge", v1alpha1.ConditionSynced, "True", v1alpha1.ReasonAcknowledged)
	w.waitSays(t, namespace, true)
	is := &v1alpha1.Envoy{}
	if w.get(t, namespace, "edge", is); is.Status.ConnectedReplicas != 2 {
		t.Errorf("got %d connected, want 2", is.Status.ConnectedReplicas)
	}
	w.said.says(t, fleet, follows(1, envoyconfig.RejectedKind{Type: "LDS", Text: "no such socket"})...)
	c := w.awaitCondition(t, namespace, "edge", v1alpha1.ConditionRejected, "True", v1alpha1.ReasonRejected)
	if !strings.Contains(c.Message, pods[1].Name) || !strings.Contains(c.Message, "LDS: no such socket") {
		t.Errorf("got %q, want the Pod and its words", c.Message)
	}
	w.change(t, namespace, "edge", func(e *v1alpha1.Envoy) { e.Spec.Listeners[0].Service = "other" })
	w.waitSays(t, namespace, false) // also before the operator has seen the change
	w.awaitCondition(t, namespace, "edge", v1alpha1.ConditionSynced, "False", v1alpha1.ReasonNotAcknowledged)
	w.said.says(t, fleet)
	w.awaitCondition(t, namespace, "edge", v1alpha1.ConditionSynced, "False", v1alpha1.ReasonNotConnected)
}

func refusedPods(t *testing.T, w *world) {
	namespace := w.namespace(t, "refused-pods")
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "small"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("1")}},
	}
	w.make(t, quota)
	await(t, "the quota counts", func() string {
		if w.get(t, namespace, "small", quota); len(quota.Status.Hard) == 0 {
			return "it does not"
		}
		return ""
	})
	w.make(t, simple(namespace, "edge", 2))
	missing := simple(namespace, "missing", 1)
	missing.Spec.PodTemplate.PriorityClassName = "nobody-has-it"
	w.make(t, missing)
	for name, want := range map[string]string{"edge": "exceeded quota: small", "missing": "no PriorityClass with name nobody-has-it"} {
		for _, of := range []string{v1alpha1.ConditionReady, v1alpha1.ConditionProgressing} {
			w.awaitMessage(t, namespace, name, of, "Pods cannot be created: ", want)
		}
	}
}
