package kinds_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
)

// condition is one that is true or false since now.
func condition(kind, status, reason string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: metav1.ConditionStatus(status), Reason: reason, LastTransitionTime: metav1.Now(), ObservedGeneration: 1}
}

// withStatus creates an object and writes its status, as the controller does.
func (w *world) withStatus(t *testing.T, text string, status any) {
	t.Helper()
	made, err := w.create(t.Context(), objectOf(t, text))
	if err != nil {
		t.Fatal(err)
	}
	if made.Object["status"], err = runtime.DefaultUnstructuredConverter.ToUnstructured(status); err != nil {
		t.Fatal(err)
	}
	resource := w.resource(made.GetKind(), made.GetNamespace())
	written, err := resource.UpdateStatus(t.Context(), made, metav1.UpdateOptions{FieldValidation: metav1.FieldValidationStrict})
	if err != nil {
		t.Fatal(err)
	}
	if written.GetGeneration() != 1 {
		t.Errorf("%s: got generation %d, want that of the spec", made.GetKind(), written.GetGeneration())
	}
}

// showsWhatPeopleLookFor prints both kinds, and waits for one as a pipeline does.
func (w *world) showsWhatPeopleLookFor(t *testing.T) {
	w.withStatus(t, pool(sound), &v1alpha1.EndpointPoolStatus{ObservedGeneration: 1, Source: "static", Nodes: 100, Services: 940, Conditions: []metav1.Condition{
		condition(v1alpha1.ConditionAccepted, "True", v1alpha1.ReasonAccepted), condition(v1alpha1.ConditionSourceReady, "False", v1alpha1.ReasonSourceUnauthorized),
		condition(v1alpha1.ConditionHeld, "True", v1alpha1.ReasonInventoryRejected),
	}})
	w.withStatus(t, binding("pools: [{name: blue}, {name: green}]"), &v1alpha1.EndpointBindingStatus{ObservedGeneration: 1, Ready: "99/100",
		Endpoints: v1alpha1.EndpointCounts{Ready: 99, Down: 1}, Conditions: []metav1.Condition{
			condition(v1alpha1.ConditionAccepted, "True", v1alpha1.ReasonAccepted), condition(v1alpha1.ConditionProgrammed, "True", v1alpha1.ReasonProgrammed),
			condition(v1alpha1.ConditionReady, "True", v1alpha1.ReasonEndpointsReady), condition(v1alpha1.ConditionHeld, "False", v1alpha1.ReasonNotHeld),
		}})
	for command, want := range map[string]string{
		"get endpointpools":                            "NAME SOURCE NODES SERVICES READ AGE blue static 100 940 Unauthorized 0s",
		"get epool blue -o wide":                       `NAME SOURCE NODES SERVICES READ ACCEPTED HELD SUBNETS AGE blue static 100 940 Unauthorized Accepted InventoryRejected ["10.7.0.0/24"] 0s`,
		"get endpointbindings -A":                      `NAMESPACE NAME POOLS READY STATE AGE shop web [{"name":"blue"},{"name":"green"}] 99/100 EndpointsReady 0s`,
		"get ebind web -n shop -o wide":                `NAME POOLS READY STATE ACCEPTED PROGRAMMED HELD AGE web [{"name":"blue"},{"name":"green"}] 99/100 EndpointsReady Accepted Programmed NotHeld 0s`,
		"get remote-endpoints -A --no-headers -o name": "endpointbinding.endpoints.ablmnzde.github.io/web endpointpool.endpoints.ablmnzde.github.io/blue",
	} {
		got := strings.Fields(w.cp.Kubectl(t, strings.Fields(command)...))
		if last := len(got) - 1; strings.HasSuffix(want, " 0s") && last > 0 {
			got[last] = "0s" // however old it is
		}
		if !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("kubectl %s: got %q, want %q", command, strings.Join(got, " "), want)
		}
	}
	w.cp.Kubectl(t, "wait", "--for=condition=Ready", "endpointbinding/web", "--namespace", "shop", "--timeout="+waitTimeout.String())
	if out := w.cp.Kubectl(t, "explain", "endpointpool.spec.guard.failOpen"); !strings.Contains(out, "when none passes its health check") {
		t.Errorf("kubectl explain: got\n%s", out)
	}
}

// differs compares the spec of a file with that of a stored object, both as the program
// decodes them.
func differs(t *testing.T, text string, stored *unstructured.Unstructured) string {
	t.Helper()
	data, err := stored.MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	file, object := documents.Decode("f", []byte(text))[0], documents.Decode("f", data)[0]
	if len(object.Mistakes) > 0 {
		return object.Mistakes[0].Error()
	}
	if file.Pool != nil {
		return cmp.Diff(file.Pool.Spec, object.Pool.Spec)
	}
	return cmp.Diff(file.Binding.Spec, object.Binding.Spec)
}

// dropsWhatIsUnknown: without strictness a field that is none is not stored.
func (w *world) dropsWhatIsUnknown(t *testing.T) {
	object := objectOf(t, pool(sound+"token: geheim"))
	object.SetName("green")
	source := map[string]any{"path": "/bin/sh"}
	if err := unstructured.SetNestedMap(object.Object, source, "spec", "source", "command"); err != nil {
		t.Fatal(err)
	}
	stored, err := w.resource(object.GetKind(), "").Create(t.Context(), object, metav1.CreateOptions{FieldValidation: metav1.FieldValidationIgnore, DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		t.Fatal(err)
	}
	spec, _, _ := unstructured.NestedMap(stored.Object, "spec")
	if _, command, _ := unstructured.NestedMap(spec, "source", "command"); command || spec["token"] != nil {
		t.Errorf("got %v, want neither the program nor the token", spec)
	}
}
