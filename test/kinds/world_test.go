package kinds_test

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
)

// waitTimeout bounds every wait; none is expected to take so long.
const waitTimeout = 90 * time.Second

// folder has the definitions.
const folder = "../../deploy/crds"

// world is an API server that has both kinds.
type world struct {
	cp     *controlplane.ControlPlane
	client dynamic.Interface
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{cp: controlplane.Start(t, controlplane.Options{})}
	client, err := dynamic.NewForConfig(w.cp.Config())
	if err != nil {
		t.Fatal(err)
	}
	w.client = client
	w.cp.Kubectl(t, "apply", "--filename", folder)
	w.cp.Kubectl(t, "wait", "--for=condition=Established", "--timeout="+waitTimeout.String(), "--filename", folder)
	w.cp.Kubectl(t, "create", "namespace", "shop")
	return w
}

// resource is where the objects of a kind are.
func (w *world) resource(kind, namespace string) dynamic.ResourceInterface {
	if kind == v1alpha1.KindEndpointPool {
		return w.client.Resource(v1alpha1.GroupVersion().WithResource(v1alpha1.ResourceEndpointPools))
	}
	return w.client.Resource(v1alpha1.GroupVersion().WithResource(v1alpha1.ResourceEndpointBindings)).Namespace(namespace)
}

// objectOf is a document as an object.
func objectOf(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	u := &unstructured.Unstructured{}
	if err := u.UnmarshalJSON(data); err != nil {
		t.Fatal(err)
	}
	return u
}

// create asks for an object, strictly as kubectl does, and writes nothing with a dry run.
func (w *world) create(ctx context.Context, object *unstructured.Unstructured, dryRun ...string) (*unstructured.Unstructured, error) {
	return w.resource(object.GetKind(), object.GetNamespace()).Create(ctx, object, metav1.CreateOptions{
		DryRun: dryRun, FieldValidation: metav1.FieldValidationStrict,
	})
}
