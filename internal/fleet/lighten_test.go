package fleet_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/fleet"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/fleet/children"
)

// TestContract149OfObjectsOfOthersOnlyTheNameIsKept: whoever may write ConfigMaps may give
// them our label.
func TestContract149OfObjectsOfOthersOnlyTheNameIsKept(t *testing.T) {
	labels := map[string]string{children.EnvoyLabel: "edge", "other": strings.Repeat("l", 1000)}
	long := map[string]string{"other": strings.Repeat("a", 1000)}
	about := metav1.ObjectMeta{Namespace: "shop", Name: "edge", UID: "u", ResourceVersion: "7", Labels: labels, Annotations: long}
	bare := metav1.ObjectMeta{Namespace: "shop", Name: "edge", UID: "u", ResourceVersion: "7", Labels: map[string]string{children.EnvoyLabel: "edge"}}
	ours := about
	ours.OwnerReferences = []metav1.OwnerReference{{APIVersion: v1alpha1.GroupVersion().String(), Kind: v1alpha1.KindEnvoy, Name: "edge", Controller: new(true)}}
	started := about
	started.Annotations = map[string]string{children.BootstrapAnnotation: "hash", "other": "x"}
	light, unmarked := about, about
	light.Annotations = map[string]string{children.BootstrapAnnotation: "hash"}
	unmarked.Annotations = nil
	for name, one := range map[string]struct{ object, want any }{
		"a ConfigMap of somebody":  {&corev1.ConfigMap{ObjectMeta: about, Data: long}, &corev1.ConfigMap{ObjectMeta: bare}},
		"the ConfigMap of a fleet": {&corev1.ConfigMap{ObjectMeta: ours, Data: long}, &corev1.ConfigMap{ObjectMeta: ours, Data: long}},
		"a Pod":                    {&corev1.Pod{ObjectMeta: started, Spec: corev1.PodSpec{NodeName: "n"}}, &corev1.Pod{ObjectMeta: light}},
		"an Envoy":                 {&v1alpha1.Envoy{ObjectMeta: about}, &v1alpha1.Envoy{ObjectMeta: unmarked}},
	} {
		got, err := fleet.Lighten(one.object)
		if diff := cmp.Diff(one.want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", name, err, diff)
		}
	}
}
