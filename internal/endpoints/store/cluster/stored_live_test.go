package cluster_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
)

// storedChange is what makes an API server store something else than was sent, for the slices
// of one namespace; it returns what ends that.
type storedChange func(t *testing.T, client kubernetes.Interface, rule registrationv1.RuleWithOperations, namespace *metav1.LabelSelector) (end func())

// storedOtherwise: what others change in a write of ours is never taken for what was sent.
func storedOtherwise(t *testing.T, server *controlplane.ControlPlane) {
	rule := registrationv1.RuleWithOperations{
		Operations: []registrationv1.OperationType{registrationv1.Create, registrationv1.Update},
		Rule:       registrationv1.Rule{APIGroups: []string{"discovery.k8s.io"}, APIVersions: []string{"v1"}, Resources: []string{"endpointslices"}},
	}
	for name, change := range map[string]storedChange{"by a policy": byPolicy, "by a webhook": byWebhook} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, server)
			client := kubernetes.NewForConfigOrDie(server.Config())
			end := change(t, client, rule, &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": s.target.Namespace}})
			var err error
			for deadline := time.Now().Add(waitLimit); !errors.Is(err, publish.ErrStoredOtherwise); {
				if time.Now().After(deadline) {
					t.Fatalf("got %v, want that something else is stored", err)
				}
				if err = s.write(s.plan("10.0.0.1")); err == nil {
					s.Delete("web-remote") // until the change is in effect
					s.await("the deletion", func(state publish.State) bool { return len(state.Slices) == 0 })
				}
			}
			if state := s.load(); len(state.Slices) != 1 || state.Slices[0].Drift == "" {
				t.Errorf("got %+v, want the slice as it is stored", state.Slices)
			}
			end()
			for deadline := time.Now().Add(waitLimit); err != nil; err = s.write(s.plan("10.0.0.1")) {
				if !errors.Is(err, publish.ErrStoredOtherwise) || time.Now().After(deadline) {
					t.Fatalf("got %v, want that it is over", err)
				}
			}
			if state := s.load(); state.Slices[0].Drift != "" {
				t.Errorf("got drift %q, want none", state.Slices[0].Drift)
			}
		})
	}
}

const unready = `[{"op": "replace", "path": "/endpoints/0/conditions/ready", "value": false}]`

func byPolicy(t *testing.T, client kubernetes.Interface, rule registrationv1.RuleWithOperations, namespace *metav1.LabelSelector) (end func()) {
	ctx, name := context.WithoutCancel(t.Context()), "change-"+namespace.MatchLabels["kubernetes.io/metadata.name"]
	fail := registrationv1.Fail
	policy := &registrationv1.MutatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: registrationv1.MutatingAdmissionPolicySpec{
		FailurePolicy: &fail, ReinvocationPolicy: registrationv1.NeverReinvocationPolicy,
		MatchConstraints: &registrationv1.MatchResources{NamespaceSelector: namespace, ResourceRules: []registrationv1.NamedRuleWithOperations{{RuleWithOperations: rule}}},
		Mutations: []registrationv1.Mutation{{PatchType: registrationv1.PatchTypeJSONPatch, JSONPatch: &registrationv1.JSONPatch{
			Expression: "[JSONPatch{op: 'replace', path: '/endpoints/0/conditions/ready', value: false}]",
		}}},
	}}
	registry := client.AdmissionregistrationV1()
	if _, err := registry.MutatingAdmissionPolicies().Create(ctx, policy, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	binding := &registrationv1.MutatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: registrationv1.MutatingAdmissionPolicyBindingSpec{PolicyName: name}}
	if _, err := registry.MutatingAdmissionPolicyBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return func() {
		_ = registry.MutatingAdmissionPolicyBindings().Delete(ctx, name, metav1.DeleteOptions{})
		_ = registry.MutatingAdmissionPolicies().Delete(ctx, name, metav1.DeleteOptions{})
	}
}

func byWebhook(t *testing.T, client kubernetes.Interface, rule registrationv1.RuleWithOperations, namespace *metav1.LabelSelector) (end func()) {
	webhook := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		_ = json.NewDecoder(r.Body).Decode(&review)
		_ = json.NewEncoder(w).Encode(map[string]any{
			"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
			"response": map[string]any{"uid": review.Request.UID, "allowed": true, "patchType": "JSONPatch", "patch": base64.StdEncoding.EncodeToString([]byte(unready))},
		})
	}))
	t.Cleanup(webhook.Close)
	ctx, name := context.WithoutCancel(t.Context()), "change-"+namespace.MatchLabels["kubernetes.io/metadata.name"]
	none := registrationv1.SideEffectClassNone
	authority := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: webhook.Certificate().Raw})
	registry := client.AdmissionregistrationV1().MutatingWebhookConfigurations()
	_, err := registry.Create(ctx, &registrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: name}, Webhooks: []registrationv1.MutatingWebhook{{
		Name: "change.example.com", Rules: []registrationv1.RuleWithOperations{rule}, NamespaceSelector: namespace, SideEffects: &none,
		AdmissionReviewVersions: []string{"v1"}, ClientConfig: registrationv1.WebhookClientConfig{URL: &webhook.URL, CABundle: authority},
	}}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return func() { _ = registry.Delete(ctx, name, metav1.DeleteOptions{}) }
}
