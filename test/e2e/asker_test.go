package e2e_test

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/dynamic"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
)

// asker is a team that asks for pools in its namespace: by bindings where documents are
// objects, by annotations of its Services elsewhere.
type asker struct {
	services typedcorev1.ServiceInterface
	bindings dynamic.ResourceInterface // nil for annotations
}

// wish is what a Service asks for: a pool, and the path of a check of its own or none.
type wish struct{ pool, path string }

// asker returns the team of a namespace.
func (p *platform) asker(namespace string) asker {
	p.t.Helper()
	a := asker{services: p.client.CoreV1().Services(namespace)}
	if p.applied {
		a.bindings = p.bindingsIn(namespace)
	}
	return a
}

// ask makes a Service, and what asks for it.
func (a asker) ask(ctx context.Context, name string, of wish) error {
	s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.ServiceSpec{
		ClusterIP: corev1.ClusterIPNone, Ports: []corev1.ServicePort{{Name: "http", Port: port, TargetPort: intstr.FromInt32(port)}},
	}}
	if a.bindings == nil {
		s.Annotations = of.annotations()
	}
	_, err := a.services.Create(ctx, s, metav1.CreateOptions{})
	if err == nil && a.bindings != nil {
		_, err = a.bindings.Create(ctx, of.binding(name), metav1.CreateOptions{})
	}
	return err
}

// change lets a Service ask for another pool, or for none.
func (a asker) change(ctx context.Context, name, pool string) (err error) {
	if a.bindings == nil {
		patch := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`, annotation("pool"), pool)
		_, err = a.services.Patch(ctx, name, types.MergePatchType, []byte(patch), metav1.PatchOptions{})
		return err
	}
	if pool == "" { // a binding has to name one
		pool = "absent"
	}
	_, err = a.bindings.Patch(ctx, name, types.MergePatchType, fmt.Appendf(nil, `{"spec":{"pools":[{"name":%q}]}}`, pool), metav1.PatchOptions{})
	return err
}

// withdraw deletes a Service, and what asks for it.
func (a asker) withdraw(ctx context.Context, name string) error {
	if a.bindings != nil {
		if err := a.bindings.Delete(ctx, name, metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	return a.services.Delete(ctx, name, metav1.DeleteOptions{})
}

func (w wish) annotations() map[string]string {
	if w.path == "" {
		return chosen("pool", w.pool)
	}
	return chosen("pool", w.pool, "health-check-mode", "HTTP", "health-check-path", w.path)
}

func (w wish) binding(name string) *unstructured.Unstructured {
	spec := map[string]any{"pools": []any{map[string]any{"name": w.pool}}}
	if w.path != "" {
		spec["healthCheck"] = map[string]any{"mode": "HTTP", "path": w.path}
	}
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": v1alpha1.APIVersion, "kind": v1alpha1.KindEndpointBinding, "metadata": map[string]any{"name": name}, "spec": spec,
	}}
}
