package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// Contracts 114, 115 and 135: a policy refuses the status of one binding, and then the API
// server is restored from a backup. Endpoints go up and down all the time as they should,
// and those of a subnet and of a pool that are newer than the backup stay.
func TestContract115And135ARestoredServerTakesNothingAway(t *testing.T) {
	t.Parallel()
	netns.Require(t)
	p := newPlatform(t, controlplane.Start(t, controlplane.Options{Audit: true}))
	p.narrow("")
	p.inAPI()
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
	if got := fmt.Sprint(line["object"]); got != "EndpointBinding "+p.namespace+"/web" {
		t.Errorf("got %s", got)
	}
	p.wantMetrics(shown, map[string]string{"statuses_refused": "1"}) // a server that has just come back may refuse others first
	if page := shown.get(shown.admin, "/"); !strings.Contains(page, "The status of objects is not written") {
		t.Error("the page does not say it")
	}
	if got := shown.targets("").Documents.StatusError; !strings.HasPrefix(got, "The status of EndpointBinding "+p.namespace+"/web cannot be written: ") || !strings.Contains(got, "not today") {
		t.Errorf("got %q", got)
	}
	p.untilSaid("web", "True EndpointsReady: 3 of 3 endpoints are ready") // what was true before

	t.Log("Contract 115: the policy and a binding, in place of an annotation, are not in the backup")
	p.binding("shop", "green")
	p.untilSaid("shop", "True EndpointsReady: 2 of 2 endpoints are ready")
	p.later()
	p.want("down")
	p.cp.Restore()
	t.Log("Contract 135: neither are a subnet of pool green, and pool late with its binding")
	p.wentBack(shown)
	p.untilSaid("both", "True EndpointsReady: 5 of 6 endpoints are ready")
	p.want("down")
	p.decide(shown)
	p.want("down")
	p.nodes[0].backends[0].start(t)
	p.nodes[1].backends[0].kill()
	p.want("ready", "down")
	p.untilSaid("web", "True EndpointsReady: 2 of 3 endpoints are ready")
	p.untilSaid("both", "True EndpointsReady: 4 of 5 endpoints are ready")
	d.says("the status of documents in the API server is written again")
	p.wantMetrics(shown, map[string]string{"statuses_refused": "0"})
	p.binding("web", "green")
	p.until(func() bool { return strings.Contains(p.bySlice()["web.green"], " ready") }, func() string { return fmt.Sprint(p.bySlice()) })
	if code := d.stop(); code != 0 {
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

// narrow applies the pool green with no subnet but the addresses of its nodes.
func (p *platform) narrow(more string) {
	p.t.Helper()
	var subnets []string
	for _, n := range p.green {
		subnets = append(subnets, n.IP+"/32")
	}
	text := p.poolText("green", p.green, "["+p.namespace+"]", more)
	p.write("green.yaml", strings.Replace(text, "10.0.0.0/16", strings.Join(subnets, ", "), 1))
}

// later makes what no backup has: another subnet of pool green with a node, and the pool
// late with a binding. The pool keeps nothing that is released.
func (p *platform) later() {
	p.t.Helper()
	p.ahead()
	addresses := netns.Addresses(p.t, 2)
	p.green = append(p.green, p.newNode(addresses[0]))
	p.narrow("")
	p.late = []node{p.newNode(addresses[1])}
	p.applyLate()
}

func (p *platform) applyLate() {
	p.t.Helper()
	p.pool("late", p.late, "  releaseAfter: 0s\n")
	p.binding("greedy", "late")
}

// ahead takes the revision further than a server that starts does.
func (p *platform) ahead() {
	p.t.Helper()
	maps := p.client.CoreV1().ConfigMaps(p.namespace)
	m, err := maps.Create(p.t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "ahead"}}, metav1.CreateOptions{})
	for i := 0; i < 100 && err == nil; i++ {
		m.Data = map[string]string{"times": fmt.Sprint(i)}
		m, err = maps.Update(p.t.Context(), m, metav1.UpdateOptions{})
	}
	if err != nil {
		p.t.Fatal(err)
	}
}

// wentBack waits until every surface says which documents went back in time.
func (p *platform) wentBack(shown *surfaces) {
	p.t.Helper()
	const changed = "came back with generation 1 after generation 2, as from a backup: the last version in effect stays; apply it as it should be; any change of its spec takes effect"
	const gone = "is not in the API server any more, whose state is an older one, as from a backup: the last version in effect stays; apply it again; if it is meant to go, apply it and then delete it"
	want := fmt.Sprint([]string{
		"EndpointBinding " + p.namespace + "/greedy: " + gone, "EndpointBinding " + p.namespace + "/shop: " + gone, "EndpointPool green: " + changed, "EndpointPool late: " + gone,
	})
	var got []string
	p.until(func() bool {
		got = nil
		for _, m := range shown.targets("").Documents.Mistakes {
			got = append(got, m.Message)
		}
		return fmt.Sprint(got) == want
	}, func() string { return fmt.Sprintf("got mistakes %v, want %s", got, want) })
	const line = "a document went back in time, the last version in effect stays"
	p.until(func() bool { return shown.daemon.count(line) == 4 }, func() string {
		return fmt.Sprintf("the log says it of %d documents, want 4", shown.daemon.count(line))
	})
	if page := shown.get(shown.admin, "/"); !strings.Contains(page, "EndpointPool green: came back with generation 1 after generation 2") {
		p.t.Error("the page does not say it")
	}
	p.untilAccepted("green", "False Outdated: "+changed)
}

// untilAccepted waits until a pool says that of itself.
func (p *platform) untilAccepted(pool, want string) {
	p.t.Helper()
	var got string
	p.until(func() bool {
		got, _ = p.kubectlTries("", p.saying("endpointpool/"+pool, "Accepted")...)
		return got == want
	}, func() string { return fmt.Sprintf("pool %s: got %q, want %q", pool, got, want) })
}

// decide applies the pool late again with all bindings that a backup did not have, and takes
// the subnet away from the pool green, which is a revocation now.
func (p *platform) decide(shown *surfaces) {
	p.t.Helper()
	p.applyLate()
	p.binding("shop", "green")
	p.green = p.green[:2]
	p.narrow("  releaseAfter: 9m\n")
	p.untilAccepted("green", "True Accepted: the document is valid and within the bounds")
	p.until(func() bool { return len(shown.targets("").Documents.Mistakes) == 0 }, func() string {
		return fmt.Sprintf("got mistakes %+v, want none", shown.targets("").Documents.Mistakes)
	})
}
