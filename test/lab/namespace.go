//go:build lab

package lab

import (
	"context"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// DeleteNamespace deletes the namespace of the Service as kube-controller-manager does:
// it is Terminating, then its objects go, then the namespace.
func (x *Target) DeleteNamespace() {
	x.t.Helper()
	ctx, client, all := x.t.Context(), x.world.local, metav1.ListOptions{}
	var now metav1.DeleteOptions
	for _, step := range []func() error{
		func() error { return client.CoreV1().Namespaces().Delete(ctx, x.namespace, now) },
		func() error {
			return client.DiscoveryV1().EndpointSlices(x.namespace).DeleteCollection(ctx, now, all)
		},
		func() error { return client.CoreV1().Services(x.namespace).Delete(ctx, "web", now) },
		func() error { return client.RbacV1().RoleBindings(x.namespace).DeleteCollection(ctx, now, all) },
		func() error { return client.RbacV1().Roles(x.namespace).DeleteCollection(ctx, now, all) },
		func() error { return client.EventsV1().Events(x.namespace).DeleteCollection(ctx, now, all) },
		func() error { return x.finalize(ctx) },
	} {
		if err := step(); err != nil {
			x.t.Fatalf("delete the namespace %s: %v", x.namespace, err)
		}
	}
	x.Await("the namespace is gone", func() bool {
		_, err := client.CoreV1().Namespaces().Get(ctx, x.namespace, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

// finalize says that nothing is left in the namespace.
func (x *Target) finalize(ctx context.Context) error {
	client := x.world.local.CoreV1().Namespaces()
	namespace, err := client.Get(ctx, x.namespace, metav1.GetOptions{})
	if err != nil {
		return err
	}
	namespace.Spec.Finalizers = nil
	_, err = client.Finalize(ctx, namespace, metav1.UpdateOptions{})
	return err
}
