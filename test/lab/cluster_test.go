//go:build lab

package lab_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/kubeproxy"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/lab"
)

// TestRemoteKubeProxies moves a Pod of a remote cluster to another node, through the
// kube-proxies of both clusters. Where each node forwards to every Pod, no client may
// notice it. Where a node takes connections for its own Pods only, the node that the Pod
// has left is silent, and goes as a silent endpoint does.
func TestRemoteKubeProxies(t *testing.T) {
	w := lab.Start(t)
	for _, mode := range []kubeproxy.Mode{kubeproxy.IPTables, kubeproxy.NFTables} {
		for _, policy := range lab.Policies {
			t.Run(string(mode)+" "+string(policy), func(t *testing.T) {
				t.Parallel()
				c := w.Cluster(t, lab.ClusterOptions{
					Mode: mode, Policy: policy, Nodes: 4, Pods: 3,
					// What is needed in nftables mode is right in iptables mode, too.
					Unnamed: true, NodePortAddresses: []string{"10.77.0.0/16"},
				})
				c.Begin(100)
				seen := c.See()
				left := movePod(c)
				if policy == corev1.ServiceExternalTrafficPolicyLocal {
					c.AwaitState(left.Worker, "down")
				}
				pause(afterwards)
				seen.Stop()
				c.End()
				facts := seen.Facts()
				if policy == corev1.ServiceExternalTrafficPolicyCluster {
					c.WantNoneLost()
				} else {
					facts = append(facts, bounded(t, c.Target, oneSilence)...)
				}
				if len(seen.Modes) > 0 {
					t.Errorf("got the modes %v, want Publish all the time\n%s", seen.Modes, c.Daemon.Log())
				}
				c.Report("remote kube-proxy/"+string(mode)+" "+string(policy), "one of three Pods moves to the fourth node", facts...)
			})
		}
	}
}

// movePod moves a Pod to the node without one, and returns the node that it has left.
func movePod(c *lab.Cluster) *lab.Node {
	old := c.Pods()[0]
	c.Mark("a Pod starts on another node")
	c.Schedule(c.NodesWithout()...)
	c.AwaitState(c.Pods()[3].Node.Worker, "ready")
	c.Mark("a Pod begins to end")
	c.Delete(old)
	c.Mark("fault")
	return old.Node
}
