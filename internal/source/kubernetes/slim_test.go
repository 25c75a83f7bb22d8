package kubernetes_test

import (
	"fmt"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/source/kubernetes"
)

// burdened is whole with what a kubelet and others add to a Node.
func burdened() *corev1.Node {
	node := whole()
	node.ResourceVersion = "4711"
	node.Annotations = map[string]string{metav1.InitialEventsAnnotationKey: "true"}
	node.Status.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("4"), corev1.ResourceMemory: resource.MustParse("8145436Ki")}
	for i := range 50 {
		node.Status.Images = append(node.Status.Images, corev1.ContainerImage{
			Names: []string{fmt.Sprintf("registry.example.com/team/component-%d:v1.2.3", i)}, SizeBytes: int64(i) << 20,
		})
	}
	node.ManagedFields = []metav1.ManagedFieldsEntry{{
		Manager: "kubelet", FieldsType: "FieldsV1", FieldsV1: metav1.NewFieldsV1(`{"f:status":{"f:images":{}}}`),
	}}
	return node
}

// variants are nodes that differ in everything that is read of one.
func variants() map[string]*corev1.Node {
	noon := metav1.NewTime(time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC))
	all := map[string]*corev1.Node{"whole": burdened(), "empty": {}}
	for name, change := range map[string]func(*corev1.Node){
		"being deleted": func(n *corev1.Node) { n.DeletionTimestamp = &noon },
		"not ready":     func(n *corev1.Node) { readyIs(n, corev1.ConditionFalse, "KubeletNotReady", noon) },
		"cordoned":      func(n *corev1.Node) { n.Spec.Unschedulable = true },
		"tainted":       func(n *corev1.Node) { n.Spec.Taints = []corev1.Taint{taint("ToBeDeletedByClusterAutoscaler")} },
		"known by its firmware": func(n *corev1.Node) {
			n.Spec.ProviderID, n.Status.NodeInfo.SystemUUID = "", serverUUID
		},
		"known by its label": func(n *corev1.Node) {
			n.Spec.ProviderID, n.Labels["enterprise.cloud.ionos.com/node-id"] = "", serverUUID
		},
		"excluded":      func(n *corev1.Node) { n.Labels["node.kubernetes.io/exclude-from-external-load-balancers"] = "" },
		"no addresses":  func(n *corev1.Node) { n.Status.Addresses = nil },
		"control plane": func(n *corev1.Node) { n.Labels["node-role.kubernetes.io/control-plane"] = "" },
	} {
		node := burdened()
		change(node)
		all[name] = node
	}
	return all
}

func TestOfANodeEverythingThatIsReadIsKeptAndNothingElse(t *testing.T) {
	for name, node := range variants() {
		t.Run(name, func(t *testing.T) {
			got := kubernetes.Slim(node)
			if got.ResourceVersion != node.ResourceVersion {
				t.Errorf("got resourceVersion %q, want %q", got.ResourceVersion, node.ResourceVersion)
			}
			if want, got := fmt.Sprintf("%+v", kubernetes.Translate(node, nil)), fmt.Sprintf("%+v", kubernetes.Translate(got, nil)); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
			if got.ManagedFields != nil || got.Annotations != nil || got.Status.Images != nil || got.Status.Capacity != nil {
				t.Error("got managed fields, annotations, images or the capacity, which are not read")
			}
		})
	}
}
