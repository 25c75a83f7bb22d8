package fleet_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/fleet"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/fleet/manifests"
)

// reader answers each read with its ConfigMap or Deployment.
type reader struct {
	client.Client

	files      corev1.ConfigMap
	deployment appsv1.Deployment
}

func (h *reader) Get(_ context.Context, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	switch into := into.(type) {
	case *corev1.ConfigMap:
		h.files.DeepCopyInto(into)
	case *appsv1.Deployment:
		h.deployment.DeepCopyInto(into)
	}
	return nil
}

// TestContract86AnOldReplicaSetFindsItsBootstrap: a rollout does not go on, all Pods are gone, and a quota
// lets the old ReplicaSet make one later.
func TestContract86AnOldReplicaSetFindsItsBootstrap(t *testing.T) {
	t.Parallel()
	older, newer, secret := manifests.FileOf("older"), manifests.FileOf("newer"), "secret-a.yaml"
	for name, c := range map[string]struct {
		available int32
		files     int
		want      []string
	}{
		"Pods are missing":                  {1, 0, []string{newer, older}},
		"all Pods are there":                {2, 0, []string{newer}},
		"Pods are missing through versions": {1, 64, []string{newer}},
	} {
		e := simple("shop", "edge", 2)
		e.UID = "1"
		has := &reader{files: corev1.ConfigMap{Data: map[string]string{"envoy.yaml": "", secret: "", older: "", newer: ""}}}
		for n := range c.files {
			has.files.Data[fmt.Sprint("secret-", n)] = ""
		}
		has.deployment.OwnerReferences = []metav1.OwnerReference{manifests.Owner(e)}
		has.deployment.Spec.Template.Annotations = map[string]string{manifests.BootstrapAnnotation: "newer"}
		has.deployment.Status.AvailableReplicas = c.available
		kept, err := fleet.Kept(t.Context(), has, e)
		if got := slices.Sorted(maps.Keys(kept)); err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: got %v, %v, want %v", name, got, err, c.want)
		}
	}
}
