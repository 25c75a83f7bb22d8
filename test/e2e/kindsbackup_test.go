package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// Contracts 114 and 115: a policy refuses the status of one binding, and then the API
// server is restored from a backup. Endpoints go up and down all the time as they should.
func TestContract115ARestoredServerTakesNothingAway(t *testing.T) {
	t.Parallel()
	netns.Require(t)
	p := newPlatform(t, controlplane.Start(t, controlplane.Options{Audit: true})).inAPI()
	d := p.start()
	shown := newSurfaces(d)
	p.want()
	p.untilSaid("web", "True EndpointsReady: 3 of 3 endpoints are ready")
	p.cp.Backup()
	p.want()

	t.Log("Contract 114: the status of one binding is refused")
	p.refuseStatus("web")
	p.nodes[0].backends[0].kill()
	p.want("down")
	p.untilSaid("both", "True EndpointsReady: 4 of 5 endpoints are ready")
	var line map[string]any
	for !strings.Contains(fmt.Sprint(line["error"]), "not today") {
		line = d.says("the status of documents in the API server is not written, everything else works; give this program the right to update endpointpools/status and endpointbindings/status, or let the admission policy or webhook that is named allow it")
	}
	if got := fmt.Sprint(line["objects"], " ", line["object"]); got != "1 EndpointBinding "+p.namespace+"/web" {
		t.Errorf("got %s", got)
	}
	if page := shown.get(shown.admin, "/"); !strings.Contains(page, "The status of objects is not written") {
		t.Error("the page does not say it")
	}
	if got := shown.targets("").Documents.Unwritten; !strings.HasPrefix(got, "The status of EndpointBinding "+p.namespace+"/web cannot be written: ") || !strings.Contains(got, "not today") {
		t.Errorf("got %q", got)
	}
	p.wantMetrics(shown, map[string]string{"unwritten_statuses": "1"})
	p.untilSaid("web", "True EndpointsReady: 3 of 3 endpoints are ready") // what was true before

	t.Log("Contract 115: the policy and a binding, in place of an annotation, are not in the backup")
	p.binding("shop", "green")
	p.untilSaid("shop", "True EndpointsReady: 2 of 2 endpoints are ready")
	p.cp.Restore()
	p.want("down")
	p.nodes[0].backends[0].start(t)
	p.nodes[1].backends[0].kill()
	p.want("ready", "down")
	p.untilSaid("web", "True EndpointsReady: 2 of 3 endpoints are ready")
	p.untilSaid("both", "True EndpointsReady: 4 of 5 endpoints are ready")
	d.says("the status of documents in the API server is written again")
	p.wantMetrics(shown, map[string]string{"unwritten_statuses": "0"})
	p.binding("web", "green")
	p.until(func() bool { return strings.Contains(p.bySlice()["web.green"], " ready") }, func() string { return fmt.Sprint(p.bySlice()) })
	if code, _ := d.stop(); code != 0 {
		t.Errorf("got exit status %d, want 0", code)
	}
}

// untilSaid waits until the condition Ready of a binding says that. A server that has just come
// back may not know the kind yet.
func (p *platform) untilSaid(binding, want string) {
	p.t.Helper()
	var got string
	p.until(func() bool {
		object, err := p.bindings().Get(p.t.Context(), binding, metav1.GetOptions{})
		if err != nil {
			got = err.Error()
			return false
		}
		all, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
		for _, each := range all {
			if c, is := each.(map[string]any); is && c["type"] == "Ready" {
				got = fmt.Sprintf("%s %s: %s", c["status"], c["reason"], c["message"])
			}
		}
		return got == want
	}, func() string { return fmt.Sprintf("%s: got %q, want %q", binding, got, want) })
}

// bindings are those of the namespace.
func (p *platform) bindings() dynamic.ResourceInterface {
	p.t.Helper()
	return p.bindingsIn(p.namespace)
}

func (p *platform) bindingsIn(namespace string) dynamic.ResourceInterface {
	p.t.Helper()
	client, err := dynamic.NewForConfig(p.cp.Config())
	if err != nil {
		p.t.Fatal(err)
	}
	return client.Resource(schema.GroupVersionResource{Group: "endpoints.ablmnzde.github.io", Version: "v1alpha1", Resource: "endpointbindings"}).Namespace(namespace)
}

// refuseStatus lets a policy refuse the status of one binding, and waits until it does.
func (p *platform) refuseStatus(binding string) {
	p.t.Helper()
	p.kubectl(fmt.Sprintf(`apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: no-status}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules:
    - {apiGroups: [endpoints.ablmnzde.github.io], apiVersions: ["*"], operations: [UPDATE], resources: [endpointbindings/status]}
  validations: [{expression: "object.metadata.name != '%s'", message: not today}]
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: no-status}
spec: {policyName: no-status, validationActions: [Deny]}
`, binding), "apply", "--filename", "-")
	p.until(func() bool { return p.refusesStatus(binding) }, func() string { return "the policy does not refuse the status of " + binding })
}

// refusesStatus reports whether the policy is in force.
func (p *platform) refusesStatus(binding string) bool {
	object, err := p.bindings().Get(p.t.Context(), binding, metav1.GetOptions{})
	if err == nil {
		_, err = p.bindings().UpdateStatus(p.t.Context(), object, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
	}
	return err != nil && strings.Contains(err.Error(), "not today")
}
