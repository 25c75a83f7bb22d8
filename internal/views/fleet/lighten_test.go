package fleet_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/fleet"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/fleet/manifests"
)

// TestContract149OfObjectsOfOthersOnlyTheNameIsKept: whoever may write ConfigMaps may give
// them our label.
func TestContract149OfObjectsOfOthersOnlyTheNameIsKept(t *testing.T) {
	labels := map[string]string{manifests.EnvoyLabel: "edge", "other": strings.Repeat("l", 1000)}
	long := map[string]string{"other": strings.Repeat("a", 1000)}
	about := metav1.ObjectMeta{Namespace: "shop", Name: "edge", UID: "u", ResourceVersion: "7", Labels: labels, Annotations: long}
	bare := metav1.ObjectMeta{Namespace: "shop", Name: "edge", UID: "u", ResourceVersion: "7", Labels: map[string]string{manifests.EnvoyLabel: "edge"}}
	ours := about
	ours.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion().String(), Kind: v1alpha1.KindEnvoy, Name: "edge", Controller: new(true)}}
	started := about
	started.Annotations = map[string]string{manifests.BootstrapAnnotation: "hash", "other": "x"}
	light := about
	light.Annotations = map[string]string{manifests.BootstrapAnnotation: "hash"}
	for name, one := range map[string]struct{ object, want any }{
		"a ConfigMap of somebody":  {&corev1.ConfigMap{ObjectMeta: about, Data: long}, &corev1.ConfigMap{ObjectMeta: bare}},
		"the ConfigMap of a fleet": {&corev1.ConfigMap{ObjectMeta: ours, Data: long}, &corev1.ConfigMap{ObjectMeta: ours, Data: long}},
		"a Pod":                    {&corev1.Pod{ObjectMeta: started, Spec: corev1.PodSpec{NodeName: "n"}}, &corev1.Pod{ObjectMeta: light}},
	} {
		got, err := fleet.Lighten(one.object)
		if diff := cmp.Diff(one.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}

// counts is what the cache of the operator keeps of an Envoy: what metrics say, however long
// it is.
func counts(t *testing.T, w *world) {
	namespace := w.namespace(t, "counts")
	e := simple(namespace, "edge", 1)
	e.Annotations, e.Labels = map[string]string{"a": strings.Repeat("a", 200_000)}, map[string]string{"l": "l"}
	e.Spec.Listeners[0].Service = ""
	for i := range 100 {
		path := fmt.Sprint("/", i, strings.Repeat("p", 1000))
		e.Spec.Listeners[0].Routes = append(e.Spec.Listeners[0].Routes, v1alpha1.Route{PathPrefix: path, Service: "web"})
	}
	w.make(t, e)
	w.awaitCondition(t, namespace, "edge", v1alpha1.ConditionAccepted, "True", v1alpha1.ReasonAccepted)
	options := fleet.Caching([]string{namespace})
	options.Scheme = w.client.Scheme()
	kept, err := cache.New(w.api.Config(), options)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = kept.Start(ctx) })
	defer running.Wait()
	defer stop()
	got := &v1alpha1.Envoy{}
	await(t, "the cache knows the Envoy", func() string {
		if err := kept.Get(ctx, client.ObjectKeyFromObject(e), got); err != nil {
			return err.Error()
		}
		return ""
	})
	text, err := json.Marshal(got)
	if err != nil || len(text) > 2000 || got.Generation != 1 || *got.Spec.Replicas != 1 {
		t.Errorf("%v: %d bytes are kept of an Envoy: %.3000s", err, len(text), text)
	}
	if len(got.Status.Conditions) != 6 || !meta.IsStatusConditionTrue(got.Status.Conditions, v1alpha1.ConditionAccepted) {
		t.Errorf("got the conditions %v, want the state of six", got.Status.Conditions)
	}
}
