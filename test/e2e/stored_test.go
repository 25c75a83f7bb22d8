package e2e_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// reviving is a policy that makes the first endpoint of each slice ready.
const reviving = `apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: reviving}
spec:
  failurePolicy: Fail
  reinvocationPolicy: Never
  matchConstraints:
    resourceRules: [{apiGroups: [discovery.k8s.io], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [endpointslices]}]
  mutations:
    - patchType: JSONPatch
      jsonPatch: {expression: "[JSONPatch{op: 'replace', path: '/endpoints/0/conditions/ready', value: true}]"}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: reviving}
spec: {policyName: reviving}
`

// Contract 171: a policy of the API server keeps a dead endpoint ready. Every surface says
// so, and it is over when the policy is gone.
func TestContract171APolicyThatChangesSlicesIsTold(t *testing.T) {
	t.Parallel()
	netns.Require(t)
	p := newPlatform(t, controlplane.Start(t, controlplane.Options{Audit: true}))
	d := p.start()
	shown := newSurfaces(d)
	p.want()

	p.kubectl(reviving, "apply", "--filename", "-")
	probe := fmt.Sprintf(`{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: probe, namespace: %s},
addressType: IPv4, endpoints: [{addresses: [10.0.0.1], conditions: {ready: false}}]}`, p.namespace)
	p.until(func() bool {
		out, err := p.kubectlTries(probe, "create", "--dry-run=server", "--output=jsonpath={.endpoints[0].conditions.ready}", "--filename", "-")
		return err == nil && out == "true"
	}, func() string { return "the policy is not in effect" })

	first, _, _ := strings.Cut(strings.TrimPrefix(p.bySlice()["web.blue"], "blue of web: "), " ")
	dead := p.nodes[slices.IndexFunc(p.nodes, func(n node) bool { return n.IP == first })]
	dead.backends[0].kill()
	difference := "the conditions of " + dead.IP + " are"
	if line := d.says("the stored slice differs from the slice that was sent"); !strings.Contains(fmt.Sprint(line["error"]), difference) || line["level"] != "ERROR" {
		t.Errorf("log: got %v, want %q", line, difference)
	}
	note := p.awaitEvent("StoredOtherwise", 2) // of both Services
	if !strings.Contains(note, difference) || !strings.Contains(note, "look for an admission policy or a webhook that changes EndpointSlices") {
		t.Errorf("Event: got %q, want %q and what to do", note, difference)
	}
	if got := p.bySlice()["web.blue"]; !strings.Contains(got, dead.IP+" odd true false false") {
		t.Errorf("got %s, want the endpoint as the policy leaves it", got)
	}
	p.wantPending(shown, "1")
	for _, path := range []string{"/services/" + p.namespace + "/web", "/api/v1/services/" + p.namespace + "/web"} {
		p.until(func() bool { return strings.Contains(shown.get(shown.admin, path), difference) }, func() string {
			return fmt.Sprintf("%s says nothing of %q:\n%s", path, difference, shown.get(shown.admin, path))
		})
	}

	p.kubectl(reviving, "delete", "--filename", "-")
	blue := make([]string, len(p.nodes))
	for i, n := range p.nodes {
		blue[i] = map[bool]string{true: "down", false: "ready"}[n.IP == dead.IP]
	}
	p.want(blue...)
	p.wantPending(shown, "0")
	d.stop()
}

// wantPending waits until each of both Services has so many slices that are not as decided.
func (p *platform) wantPending(s *surfaces, want string) {
	p.t.Helper()
	of := func(service string) string {
		return fmt.Sprintf("service_pending_slices{target_namespace=%q,target_service=%q}", p.namespace, service)
	}
	p.wantMetrics(s, map[string]string{of("web"): want, of("both"): want})
}
