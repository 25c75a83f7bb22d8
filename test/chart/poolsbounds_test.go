package chart_test

import (
	"slices"
	"strings"
	"testing"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/stage"
)

// selectsNamespaces: a ClusterRole allows every namespace, and the policy those with the
// label.
func (p *teams) selectsNamespaces(t *testing.T) {
	ctx := t.Context()
	p.upgrade(t, "--values", p.values(t, ", team-other"), "--set-json", `bounds={"namespaces":[],"namespaceSelector":{"matchLabels":{"filled":"yes"},`+
		`"matchExpressions":[{"key":"tier","operator":"In","values":["gold","silver"]},{"key":"frozen","operator":"DoesNotExist"},{"key":"tier","operator":"NotIn","values":["silver"]}]}}`)
	create := func(namespace string) error {
		_, err := p.daemon(t).DiscoveryV1().EndpointSlices(namespace).Create(t.Context(), poolSlice("berlin", "web.berlin.9", "10.0.0.11"), dry)
		return err
	}
	label := func(labels string) {
		patch := []byte(`{"metadata":{"labels":` + labels + `}}`)
		if _, err := p.Client.CoreV1().Namespaces().Patch(ctx, "team-blog", types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	const outside = "bounds.namespaceSelector of the chart do not have the namespace"
	stage.Until(t, "the ClusterRole, and the policy", func() bool {
		err := create("default")
		return err != nil && strings.Contains(err.Error(), outside+" default")
	})
	for _, labels := range []string{`{"tier":"silver"}`, `{"tier":null}`, `{"frozen":""}`, `{"filled":"no"}`} {
		label(`{"filled":"yes","tier":"gold","frozen":null}`)
		stage.Until(t, "the namespace with the labels", func() bool { return create("team-blog") == nil })
		label(labels)
		stage.Until(t, "a refusal with the labels "+labels, func() bool {
			err := create("team-blog")
			return err != nil && strings.Contains(err.Error(), outside)
		})
	}
	// What is in a namespace that is outside now can still be taken down.
	own, err := p.Client.DiscoveryV1().EndpointSlices("team-blog").Get(ctx, "web.berlin", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	no := false
	own.Endpoints[0].Conditions.Ready = &no
	if _, err := p.daemon(t).DiscoveryV1().EndpointSlices("team-blog").Update(ctx, own, dryUpdate); err != nil {
		t.Errorf("a dead endpoint in a namespace that is outside now: %v", err)
	}
	want := []string{"list namespaces.", "list services.", "watch services."}
	if got := p.rights(t, "default"); !slices.Equal(slices.DeleteFunc(got, func(r string) bool { return !strings.HasSuffix(r, ".") }), want) {
		t.Errorf("rights in default: got %v, want %v", got, want)
	}
}

// flows asks the API server which FlowSchema a request is one of.
func (p *teams) flows(t *testing.T) {
	p.upgrade(t, "--values", p.values(t, ", team-other"), "--set", "flowSchema.enabled=true")
	of := func(path string) func() bool {
		name := p.namespace + "." + release
		if strings.Contains(path, "leases") {
			name += "-lease"
		}
		schema, err := p.Client.FlowcontrolV1().FlowSchemas().Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		client, ok := p.daemon(t).CoreV1().RESTClient().(*rest.RESTClient)
		if !ok {
			t.Fatal("got no REST client")
		}
		return func() bool {
			response, err := client.Client.Get(p.CP.Config().Host + path)
			if err != nil {
				t.Fatal(err)
			}
			_ = response.Body.Close()
			return response.Header.Get(flowcontrolv1.ResponseHeaderMatchedFlowSchemaUID) == string(schema.UID)
		}
	}
	for _, path := range []string{"/apis/discovery.k8s.io/v1/namespaces/team-shop/endpointslices", "/apis/coordination.k8s.io/v1/namespaces/" + p.namespace + "/leases"} {
		stage.Until(t, "the FlowSchema of "+path, of(path))
	}
}
