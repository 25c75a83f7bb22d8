//go:build lab

package lab

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/kubeproxy"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// Node is a machine with a kube-proxy and a network for Pods. It routes the packets to
// those of the other nodes there.
type Node struct {
	*Worker

	cluster *Cluster
	// onMgmt is its address beside the API servers.
	onMgmt netip.Addr
	pods   int // how many it ever had
	proxy  *kubeproxy.Proxy
}

// AddNodes makes nodes that join the cluster with a kube-proxy and without Pods.
func (c *Cluster) AddNodes(count int) []*Node {
	c.t.Helper()
	var added []*Node
	for range count {
		added = append(added, c.addNode())
	}
	for _, n := range added {
		c.Join(n.Worker)
	}
	var started sync.WaitGroup
	for _, n := range added {
		started.Go(func() { n.StartProxy(c.options.Mode) })
	}
	started.Wait()
	if c.t.Failed() {
		c.t.FailNow() // said in the goroutine
	}
	return added
}

func (c *Cluster) addNode() *Node {
	c.t.Helper()
	worker := c.world.machine(c.t, netip.Addr{})
	bytes := worker.Address.As4()
	n := &Node{Worker: worker, cluster: c, onMgmt: netip.AddrFrom4([4]byte{10, 78, 64 + bytes[2], bytes[3]})}
	leg(c.t, n.Name, mgmt, n.onMgmt)
	// kube-proxy's rules rewrite packets that are on their way, so ClusterIPs need one.
	script := fmt.Sprintf(`set -e
nsenter --net=/run/netns/%[1]s -- sh -c 'echo 1 >/proc/sys/net/ipv4/ip_forward'
ip -n %[1]s link add cni0 type bridge forward_delay 0
ip -n %[1]s address add %[2]v/24 dev cni0
ip -n %[1]s link set cni0 up
`, n.Name, n.podAddress(1))
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, other := range c.nodes {
		for _, way := range [][2]*Node{{n, other}, {other, n}} {
			script += fmt.Sprintf("ip -n %s route add %v/24 via %v\n", way[0].Name, way[1].podAddress(0), way[1].Address)
		}
	}
	shell(c.t, script)
	c.nodes = append(c.nodes, n)
	return n
}

// podAddress is the n-th address of the network for Pods of the node.
func (n *Node) podAddress(i int) netip.Addr {
	bytes := n.Address.As4()
	return netip.AddrFrom4([4]byte{10, 80 + bytes[2], bytes[3], byte(i)})
}

// StartProxy starts the kube-proxy of the node, in place of one that runs.
func (n *Node) StartProxy(mode kubeproxy.Mode) {
	n.t.Helper()
	if n.proxy != nil {
		n.proxy.Stop()
	}
	named := n.Address
	if n.cluster.options.Unnamed {
		named = n.onMgmt
	}
	n.proxy = kubeproxy.Start(n.t, n.world.Remote, kubeproxy.Options{
		Namespace: n.Name, Addresses: []netip.Addr{named}, Mode: mode, NodePortAddresses: n.cluster.options.NodePortAddresses,
	})
}

// Cordon is what kubectl drain does first.
func (n *Node) Cordon() {
	n.t.Helper()
	patch := `{"spec": {"unschedulable": true}}`
	n.patch(patch)
}

// NotReady is what Kubernetes says of a node whose kubelet is silent for 50 s, and of
// the Pods on it.
func (n *Node) NotReady() {
	n.t.Helper()
	patch := `{"status": {"conditions": [{"type": "Ready", "status": "Unknown", "reason": "NodeStatusUnknown"}]}}`
	n.patch(patch, "status")
	for _, p := range n.cluster.on(n) {
		n.cluster.set(p, podNotReady)
	}
}

func (n *Node) patch(patch string, subresources ...string) {
	n.t.Helper()
	_, err := n.world.remote.CoreV1().Nodes().Patch(n.t.Context(), n.Name, "application/strategic-merge-patch+json", []byte(patch), metav1.PatchOptions{}, subresources...)
	if err != nil {
		n.t.Fatalf("%s: %s: %v", n.Name, strings.Join(subresources, ","), err)
	}
}

// Remove takes the node out of the cluster, and the machine away.
func (n *Node) Remove() {
	n.t.Helper()
	c := n.cluster
	c.Gone(n.Worker)
	c.mu.Lock()
	c.nodes = slices.DeleteFunc(c.nodes, func(other *Node) bool { return other == n })
	c.mu.Unlock()
	n.proxy.Stop()
	netns.Delete(n.t, n.Name)
}

// on are the Pods on a node that are not gone.
func (c *Cluster) on(n *Node) []*Pod {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.DeleteFunc(slices.Clone(c.pods), func(p *Pod) bool { return p.Node != n || p.state == podGone })
}

// NodesWithout are the nodes without a Pod.
func (c *Cluster) NodesWithout() []*Node {
	return slices.DeleteFunc(c.Nodes(), func(n *Node) bool { return len(c.on(n)) > 0 })
}
