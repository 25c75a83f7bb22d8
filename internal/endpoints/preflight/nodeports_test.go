package preflight_test

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/preflight"
)

// on are the nodes node-1, node-2 and so on with these addresses.
func on(addresses ...string) (nodes []inventory.Node, candidates []inventory.Candidate) {
	for i, text := range addresses {
		n := inventory.Node{Name: fmt.Sprint("node-", i+1), Ready: true, Worker: true}
		if text != "" {
			n.Addresses = []netip.Addr{netip.MustParseAddr(text)}
			candidates = append(candidates, inventory.Candidate{Node: n.Identity(), Address: n.Addresses[0]})
		}
		nodes = append(nodes, n)
	}
	return nodes, candidates
}

func TestContract231AddressesThatTheNodesDoNotHaveAreNamed(t *testing.T) {
	t.Parallel()
	own, _ := on("203.0.113.1", "10.0.0.12", "")
	_, candidates := on("10.0.0.11", "10.0.0.12", "10.0.0.13", "10.0.0.14")
	got := preflight.JudgeNodePorts(candidates, own)
	want(t, got, "warn nodes-nodeport")
	for _, says := range []string{"than node-1 10.0.0.11;", "kube-proxy in nftables mode, the default from Kubernetes 1.40, refuses NodePorts", "nodePortAddresses"} {
		if !strings.Contains(got[0].Message, says) {
			t.Errorf("got %q, want %q in it", got[0].Message, says)
		}
	}
	want(t, preflight.JudgeNodePorts(candidates[1:], own))

	var many []string
	for i := range 200 {
		many = append(many, fmt.Sprint("10.0.0.", i+1))
	}
	_, candidates = on(many...)
	for i := range many {
		many[i] = fmt.Sprint("203.0.113.", i+1)
	}
	own, _ = on(many...)
	if got := preflight.JudgeNodePorts(candidates, own); !strings.Contains(got[0].Message, "node-10 10.0.0.10 and 190 more; there") {
		t.Errorf("got %q, want ten of 200 by name", got[0].Message)
	}
}

// Which addresses the Nodes have is asked for only where the source takes its addresses from
// elsewhere.
func TestContract231CheckLooksAtTheAddressesThatTheNodesHave(t *testing.T) {
	t.Parallel()
	listed, _ := on("10.0.0.11")
	own, _ := on("203.0.113.1")
	o := world(t, loaded(t), func(context.Context) ([]inventory.Node, error) { return listed, nil }, passes)
	o.Only = []string{"nodes"}
	want(t, preflight.Run(t.Context(), o).Checks, "ok nodes-usable", "ok nodes-node")
	source := o.Source
	o.Source = func(pool *v1alpha1.EndpointPool) (preflight.Origin, error) {
		origin, err := source(pool)
		origin.Own = func() []inventory.Node { return own }
		return origin, err
	}
	want(t, preflight.Run(t.Context(), o).Checks, "ok nodes-usable", "ok nodes-node", "warn nodes-nodeport")
}
