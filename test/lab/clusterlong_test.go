//go:build lab

package lab_test

import (
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/kubeproxy"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/lab"
)

// move is something that happens in a remote cluster. What it costs is measured, and judged
// where the remote Service is followed.
type move struct {
	name, text  string
	nodes, pods int
	story       func(c *lab.Cluster)
	// lossless says that no request is lost where the remote Service is followed and Pods serve
	// while they end.
	lossless bool
}

// moves are those that are measured with both traffic policies.
func moves() []move {
	return []move{
		{"rolling update", "three Pods move to other nodes, one after the other", 8, 3, rollingUpdate, true},
		{"two rollouts", "three Pods move to other nodes, one after the other, and 45 s later to others again, one of which had a Pod at first", 8, 3, twoRollouts, true},
		{"surge of half", "four Pods move to other nodes, two at a time", 8, 4, surgeOfHalf, true},
		{"ten to two", "of ten Pods on ten nodes eight are deleted at once", 10, 10, tenToTwo, true},
		{"recreated", "the only Pod is deleted, then one starts on another node", 8, 1, recreated, false},
		{"one and back", "of three Pods two are deleted, and 20 s later two start on other nodes", 8, 3, oneAndBack, true},
		{"node drained", "a node is cordoned, its Pod is evicted and starts elsewhere, and the node is deleted", 8, 3, nodeDrained, true},
		{"node lost", "a machine with a Pod is switched off; Kubernetes says so after 50 s", 8, 3, nodeLost, false},
		{"fresh nodes", "four nodes join, the Pods move there, and the old nodes are announced to leave", 4, 3, freshNodes, true},
		{"mode changed", "the kube-proxies of the nodes change from iptables to nftables, one after the other", 4, 3, modeChanged, false},
	}
}

// TestRemoteMoves measures, in the long form only.
func TestRemoteMoves(t *testing.T) {
	if !long() {
		return
	}
	w := lab.Start(t)
	local, cluster := corev1.ServiceExternalTrafficPolicyLocal, corev1.ServiceExternalTrafficPolicyCluster
	all := moves()
	for _, m := range all {
		measure(t, w, m, "", lab.ClusterOptions{Mode: kubeproxy.IPTables, Policy: local})
		measure(t, w, m, "", lab.ClusterOptions{Mode: kubeproxy.IPTables, Policy: cluster})
	}
	for _, m := range all[1:6] {
		measure(t, w, m, "HEALTH_CHECK_MAX_SILENT_PERCENT=100, ", lab.ClusterOptions{
			Mode: kubeproxy.IPTables, Policy: local, Env: map[string]string{"HEALTH_CHECK_MAX_SILENT_PERCENT": "100"},
		})
	}
	twenty := move{"twenty rollouts", "three Pods move to other nodes, twenty times", 8, 3, twentyRollouts, true}
	for _, m := range append(all, twenty) {
		measure(t, w, m, "following, ", lab.ClusterOptions{Mode: kubeproxy.IPTables, Policy: local, Follow: true})
	}
	measure(t, w, twenty, "following, nftables, ", lab.ClusterOptions{Mode: kubeproxy.NFTables, Policy: local, Follow: true})
	measure(t, w, all[0], "following, no preStop pause, ", lab.ClusterOptions{Mode: kubeproxy.IPTables, Policy: local, Follow: true, Abrupt: true})
	measure(t, w, all[0], "no preStop pause, ", lab.ClusterOptions{Mode: kubeproxy.IPTables, Policy: cluster, Abrupt: true})
	measure(t, w, all[1], "nftables, ", lab.ClusterOptions{Mode: kubeproxy.NFTables, Policy: local})
	measure(t, w, all[len(all)-1], "private address not named, ", lab.ClusterOptions{Mode: kubeproxy.IPTables, Policy: cluster, Unnamed: true})
}

// measure runs a move under requests and reports what it cost.
func measure(t *testing.T, w *lab.World, m move, what string, options lab.ClusterOptions) {
	options.Nodes, options.Pods = m.nodes, m.pods
	name := m.name + ", " + what + string(options.Policy)
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		c := w.Cluster(t, options)
		c.Begin(100)
		seen := c.See()
		m.story(c)
		seen.Settle(15 * time.Minute)
		seen.Stop()
		c.End()
		if options.Follow {
			wantFollowed(t, c, seen)
		}
		if m.lossless && options.Follow && !options.Abrupt {
			c.WantNoneLost()
		}
		c.Report("remote kube-proxy/"+name, m.text, seen.Facts()...)
	})
}

func rollingUpdate(c *lab.Cluster) {
	c.Mark("a rolling update begins")
	c.Rollout(1, c.NodesWithout()[:3]...)
}

func twoRollouts(c *lab.Cluster) {
	nodes := c.Nodes()
	began := c.Mark("a rolling update begins")
	c.Rollout(1, nodes[3:6]...)
	pause(time.Until(began.Add(45 * time.Second)))
	c.Mark("the second one begins")
	c.Rollout(1, nodes[6], nodes[7], nodes[0])
}

func twentyRollouts(c *lab.Cluster) {
	nodes := c.Nodes()
	for i := range 20 {
		var next []*lab.Node
		for j := range 3 {
			next = append(next, nodes[(3*i+3+j)%len(nodes)])
		}
		c.Mark("rolling update %d begins", i+1)
		c.Rollout(1, next...)
	}
}

func surgeOfHalf(c *lab.Cluster) {
	c.Mark("a rolling update begins")
	c.Rollout(2, c.NodesWithout()...)
}

func tenToTwo(c *lab.Cluster) {
	c.Mark("eight of ten are deleted")
	c.Delete(c.Pods()[2:]...)
}

func recreated(c *lab.Cluster) {
	free := c.NodesWithout()
	c.Mark("the only Pod is deleted")
	c.Delete(c.Pods()...)
	c.Mark("another one starts")
	c.Schedule(free[0])
}

func oneAndBack(c *lab.Cluster) {
	free := c.NodesWithout()
	c.Mark("two of three are deleted")
	c.Delete(c.Pods()[1:]...)
	pause(20 * time.Second)
	c.Mark("two start")
	c.Schedule(free[:2]...)
}

func nodeDrained(c *lab.Cluster) {
	free, old := c.NodesWithout(), c.Pods()[0]
	c.Mark("a node is drained")
	old.Node.Cordon()
	var evicted sync.WaitGroup
	evicted.Go(func() { c.Delete(old) })
	c.Schedule(free[0])
	evicted.Wait()
	c.Mark("the node is deleted")
	old.Node.Remove()
}

func nodeLost(c *lab.Cluster) {
	lost := c.Pods()[0].Node
	c.Mark("a node is lost")
	lost.Unplug()
	pause(50 * time.Second)
	c.Mark("its Pod is not ready")
	lost.NotReady()
}

func freshNodes(c *lab.Cluster) {
	old := c.Nodes()
	c.Mark("four nodes join")
	fresh := c.AddNodes(len(old))
	c.Mark("the Pods move")
	c.Rollout(1, fresh[:3]...)
	c.Mark("the old nodes are announced to leave")
	for _, n := range old {
		c.Leave(n.Worker)
	}
	pause(40 * time.Second) // DRAIN_PERIOD is 30 s
	c.Mark("they are gone")
	for _, n := range old {
		n.Remove()
	}
}

func modeChanged(c *lab.Cluster) {
	for _, n := range c.Nodes() {
		c.Mark("%s changes", n.Name)
		n.StartProxy(kubeproxy.NFTables)
		pause(10 * time.Second)
	}
}
