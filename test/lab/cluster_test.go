//go:build lab

package lab_test

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/kubeproxy"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/lab"
)

// remoteKubeProxies moves a Pod of a remote cluster to another node, through the
// kube-proxies of both clusters. Where each node forwards to every Pod, no client may
// notice it. Where a node takes connections for its own Pods only, the node that the Pod
// has left is silent, and goes as a silent endpoint does. Where the daemon follows the remote
// Service, no client may notice that either.
func remoteKubeProxies(t *testing.T, w *lab.World) {
	for _, mode := range []kubeproxy.Mode{kubeproxy.IPTables, kubeproxy.NFTables} {
		for _, policy := range lab.Policies {
			t.Run(string(mode)+" "+string(policy), func(t *testing.T) {
				t.Parallel()
				c := w.Cluster(t, lab.ClusterOptions{
					Mode: mode, Policy: policy, Nodes: 4, Pods: 3, Quiet: policy == corev1.ServiceExternalTrafficPolicyCluster,
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
	t.Run("two rollouts followed", func(t *testing.T) {
		t.Parallel()
		c := w.Cluster(t, following(kubeproxy.IPTables, 8))
		c.Begin(100)
		seen := c.See()
		twoRollouts(c)
		pause(afterwards)
		seen.Stop()
		c.End()
		c.WantNoneLost()
		wantFollowed(t, c, seen)
		c.Report("remote kube-proxy/two rollouts followed", "three Pods move to other nodes, one after the other, and 45 s later to others again", seen.Facts()...)
	})
	t.Run("no Pod named", func(t *testing.T) {
		t.Parallel()
		noPodNamed(t, w.Cluster(t, following(kubeproxy.NFTables, 4)))
	})
}

// following is a cluster with three Pods whose Service the daemon follows.
func following(mode kubeproxy.Mode, nodes int) lab.ClusterOptions {
	return lab.ClusterOptions{Mode: mode, Policy: corev1.ServiceExternalTrafficPolicyLocal, Nodes: nodes, Pods: 3, Follow: true}
}

// wantFollowed fails the test if a dead endpoint stayed ready for longer than its health check
// needs, or the daemon held.
func wantFollowed(t *testing.T, c *lab.Cluster, seen *lab.Sightings) {
	t.Helper()
	held := slices.ContainsFunc(slices.Collect(maps.Keys(seen.Modes)), func(mode string) bool { return strings.HasPrefix(mode, "Hold") })
	if held || seen.Longest > oneSilence {
		t.Errorf("got the modes %v and an endpoint that was ready and dead for %v, want never Hold and at most %v\n%s",
			seen.Modes, seen.Longest, oneSilence, c.Daemon.Log())
	}
}

// noPodNamed loses a node, and then every Pod in the remote slices, though two of them serve on.
func noPodNamed(t *testing.T, c *lab.Cluster) {
	c.Begin(100)
	pause(7 * time.Second) // a check that was silent while kube-proxy began counts for FALL intervals
	seen := c.See()
	lost := c.Pods()[0].Node
	c.Mark("fault")
	lost.Unplug()
	c.AwaitState(lost.Worker, "down")
	pause(afterwards)
	before := c.States()
	forgotten := c.Mark("no Pod is named")
	c.Forget()
	c.AwaitEvent("PlacementRejected")
	if took := time.Since(forgotten); took > toldIn {
		t.Errorf("that no Pod is named is told after %v, want at most %v", took, toldIn)
	}
	pause(afterwards)
	if got := c.States(); !maps.Equal(got, before) {
		t.Errorf("got %v published, want %v as before\n%s", got, before, c.Daemon.Log())
	}
	seen.Stop()
	c.End()
	wantFollowed(t, c, seen)
	c.Report("remote kube-proxy/no Pod named", "a node is lost, then the remote slices name no Pod any more, though two serve on",
		append(seen.Facts(), bounded(t, c.Target, oneSilence)...)...)
}

// toldIn is in what time a placement that takes nothing away is told.
const toldIn = 45 * time.Second

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
