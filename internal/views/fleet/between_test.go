package fleet_test

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/fleet/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/fleet"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/fleet/manifests"
)

// between makes a foreign object in the moment between the operator's look and its write.
func between(t *testing.T, w *world) {
	namespace := w.namespace(t, "between")
	direct, err := client.NewWithWatch(w.api.Config(), client.Options{Scheme: w.client.Scheme()})
	if err != nil {
		t.Fatal(err)
	}
	theirs := func(name string) *corev1.Service {
		return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: "theirs", Port: 81}}}}
	}
	wantTheirs := func(name string) {
		t.Helper()
		is := &corev1.Service{}
		if !w.get(t, namespace, name, is) || is.Spec.Ports[0].Port != 81 || len(is.OwnerReferences) > 0 || len(is.Spec.Selector) > 0 {
			t.Errorf("Service %s: it is gone or was changed: %+v", name, is)
		}
	}
	wanted := func(e *v1alpha1.Envoy) client.Object {
		all, err := manifests.Of(e, manifests.Settings{Host: "views.infra", Port: 18000}, nil)
		if err != nil {
			t.Fatal(err)
		}
		return all.Service
	}

	// It was not there, and is there when it is created.
	unknown := simple(namespace, "new", 0)
	unknown.UID = "of an Envoy that the operator of this test does not know"
	creating := interceptor.NewClient(direct, interceptor.Funcs{Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
		if err := c.Create(ctx, theirs("new")); err != nil {
			return err
		}
		return c.Create(ctx, object, options...)
	}})
	if problem, err := fleet.Write(t.Context(), creating, unknown, wanted(unknown)); err != nil || problem == nil || problem.Reason != v1alpha1.ReasonNameTaken {
		t.Errorf("got %+v, %v, want that the name is taken", problem, err)
	}
	wantTheirs("new")

	// It was the Envoy's, and is another one when it is changed.
	e := simple(namespace, "edge", 0)
	w.make(t, e)
	w.awaitCondition(t, namespace, "edge", v1alpha1.ConditionReady, "False", v1alpha1.ReasonPodsNotReady)
	e.Spec.Listeners[0].Port = 82
	applying := interceptor.NewClient(direct, interceptor.Funcs{Apply: func(ctx context.Context, c client.WithWatch, object runtime.ApplyConfiguration, options ...client.ApplyOption) error {
		// The operator of this test makes it again, too.
		await(t, "the Service is replaced", func() string {
			_ = c.Delete(ctx, theirs("edge"))
			if err := c.Create(ctx, theirs("edge")); err != nil {
				return err.Error()
			}
			return ""
		})
		return c.Apply(ctx, object, options...)
	}})
	if problem, err := fleet.Write(t.Context(), applying, e, wanted(e)); problem == nil && err == nil {
		t.Error("another object was changed with the UID of the one that was there")
	}
	wantTheirs("edge")
	w.awaitCondition(t, namespace, "edge", v1alpha1.ConditionReady, "False", v1alpha1.ReasonNameTaken)
}
