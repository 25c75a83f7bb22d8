package e2e_test

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/controlplane"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// narrow is a policy that lets no slice have an address outside of a subnet.
const narrow = `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: narrow}
spec:
  failurePolicy: Fail
  matchConstraints:
    resourceRules: [{apiGroups: [discovery.k8s.io], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [endpointslices]}]
  validations:
    - expression: object.endpoints.all(e, e.addresses.all(a, cidr('10.0.0.0/17').containsIP(a)))
      message: outside of the subnet
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: narrow}
spec: {policyName: narrow, validationActions: [Deny]}
`

// Contract 222: a policy of the API server forbids the address of a node that joins. A node
// that dies meanwhile, and one that leaves, are down and gone all the same. The refusal is
// told until the policy is gone, and then all is written.
func TestContract222WhatAPolicyForbidsToAddHoldsUpNoDeath(t *testing.T) {
	t.Parallel()
	netns.Require(t)
	p := newPlatform(t, controlplane.Start(t, controlplane.Options{Audit: true}))
	d := p.start()
	shown := newSurfaces(d)
	p.want()

	outside := netip.MustParseAddr("10.0.222.1")
	p.kubectl(narrow, "apply", "--filename", "-")
	probe := fmt.Sprintf(`{apiVersion: discovery.k8s.io/v1, kind: EndpointSlice, metadata: {name: probe, namespace: %s},
addressType: IPv4, endpoints: [{addresses: [%s]}]}`, p.namespace, outside)
	p.until(func() bool {
		out, err := p.kubectlTries(probe, "create", "--dry-run=server", "--filename", "-")
		return err != nil && strings.Contains(fmt.Sprint(out, err), "outside of the subnet")
	}, func() string { return "the policy is not in effect" })

	netns.AddAddress(t, outside)
	joins := p.newNode(outside)
	p.nodes[0].backends[0].kill()
	p.pool("blue", append(p.nodes[:2:2], joins), "  guard: {drainPeriod: 1s}\n")
	p.nodes = p.nodes[:2]
	p.want("down")
	p.nodes[1].backends[0].kill()
	p.want("down", "down")
	p.wantPending(shown, "1")
	path := "/api/v1/services/" + p.namespace + "/web"
	if got := shown.get(shown.admin, path); !strings.Contains(got, "outside of the subnet") {
		t.Errorf("%s says nothing of the policy:\n%s", path, got)
	}

	p.kubectl(narrow, "delete", "--filename", "-")
	p.nodes = append(p.nodes, joins)
	p.want("down", "down")
	p.wantPending(shown, "0")
	d.stop()
}
