package e2e_test

import (
	"fmt"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// refuse lets the API server refuse to create the slice of that name, until the end of the
// test or a call of the function that it returns.
func (p *platform) refuse(slice string) (stop func()) {
	p.t.Helper()
	api, name := p.client.AdmissionregistrationV1(), "refuse-"+slice
	policy := &admissionv1.ValidatingAdmissionPolicy{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: admissionv1.ValidatingAdmissionPolicySpec{
		MatchConstraints: &admissionv1.MatchResources{ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
			Operations: []admissionv1.OperationType{admissionv1.Create},
			Rule:       admissionv1.Rule{APIGroups: []string{"discovery.k8s.io"}, APIVersions: []string{"v1"}, Resources: []string{"endpointslices"}},
		}}}},
		Validations: []admissionv1.Validation{{Expression: fmt.Sprintf("object.metadata.name != %q", slice), Message: "no room for this slice"}},
	}}
	binding := &admissionv1.ValidatingAdmissionPolicyBinding{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
		PolicyName: name, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
	}}
	if _, err := api.ValidatingAdmissionPolicies().Create(p.t.Context(), policy, metav1.CreateOptions{}); err != nil {
		p.t.Fatal(err)
	}
	if _, err := api.ValidatingAdmissionPolicyBindings().Create(p.t.Context(), binding, metav1.CreateOptions{}); err != nil {
		p.t.Fatal(err)
	}
	p.until(func() bool {
		try := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: slice}, AddressType: discoveryv1.AddressTypeIPv4}
		_, err := p.client.DiscoveryV1().EndpointSlices(p.namespace).Create(p.t.Context(), try, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err != nil && strings.Contains(err.Error(), "no room")
	}, func() string { return "the policy does not refuse the slice" })
	return func() {
		p.t.Helper()
		if err := api.ValidatingAdmissionPolicyBindings().Delete(p.t.Context(), name, metav1.DeleteOptions{}); err != nil {
			p.t.Fatal(err)
		}
	}
}

// Contract 200 and 203: a Service whose new slice the API server refuses keeps its old one,
// whatever else happens; when the new one is stored, the old one drains and is emptied.
func TestContract200AServiceWhoseNewSliceIsRefusedKeepsTheOldOne(t *testing.T) {
	netns.Require(t)
	p := newPlatform(t, controlplane.Start(t, controlplane.Options{}))
	const drain = "  guard: {drainPeriod: 1s}\n"
	p.pool("blue", p.nodes, drain)
	d := p.start()
	p.want()
	allow := p.refuse("web.green")
	slice := func(name string) string { return p.bySlice()[name] }
	before := slice("web.blue")
	p.binding("web", "green")
	d.says("slice not written")
	d.stop()
	p.start()
	p.nodes[0].backends[0].kill()
	want := strings.Replace(before, p.nodes[0].IP+" ready", p.nodes[0].IP+" down", 1)
	p.until(func() bool { return slice("web.blue") == want }, func() string {
		return fmt.Sprintf("web.blue: got %q, want %q: the old endpoints are checked while they wait", slice("web.blue"), want)
	})
	if got := slice("web.green"); got != "" {
		t.Fatalf("web.green: got %q, want no slice: it is refused", got)
	}
	allow()
	p.until(func() bool {
		return strings.Count(slice("web.green"), "ready") == len(p.green) && slice("web.blue") == "blue of web: "
	}, func() string {
		return fmt.Sprintf("got %q, want the endpoints of green in place of those of blue", p.bySlice())
	})
}
