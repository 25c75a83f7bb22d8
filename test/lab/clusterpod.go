//go:build lab

package lab

import (
	"fmt"
	"net/netip"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// podState is how far a Pod is.
type podState int

const (
	podNotReady podState = iota
	podReady
	podTerminating
	podGone
)

// Pod is an HTTP server on a node, with an address of its own.
type Pod struct {
	// Name is what it answers.
	Name string
	Node *Node

	cluster *Cluster
	address netip.Addr
	state   podState
	backend *process
}

// newPod makes the network of a Pod. A graceful end is the backend's.
func (c *Cluster) newPod(n *Node) *Pod {
	c.t.Helper()
	n.pods++
	p := &Pod{Name: fmt.Sprintf("pod-%d", numbers.Add(1)), Node: n, cluster: c, address: n.podAddress(1 + n.pods)}
	netns.Add(c.t, p.Name)
	shell(c.t, fmt.Sprintf(`set -e
ip -n %[1]s link add %[2]s type veth peer name eth0 netns %[2]s
ip -n %[1]s link set %[2]s master cni0 up
ip -n %[2]s address add %[3]v/24 dev eth0
ip -n %[2]s link set eth0 up
ip -n %[2]s route add default via %[4]v`, n.Name, p.Name, p.address, n.podAddress(1)))
	c.mu.Lock()
	defer c.mu.Unlock()
	c.pods = append(c.pods, p)
	return p
}

// start runs the container. Its readiness probe passes some time later.
func (p *Pod) start() {
	t := p.cluster.t
	t.Helper()
	p.backend = start(t, p.Name, nil, netns.Inside(p.Name, p.cluster.world.backend, "-name", p.Name, "-listen", fmt.Sprintf(":%d", Port)), true)
	if !p.backend.out.Scan() || p.backend.out.Text() != "ok" {
		t.Errorf("%s does not start: %s\n%s", p.Name, p.backend.out.Text(), p.backend.Tail())
		return
	}
	<-time.After(startup)
	p.cluster.set(p, podReady)
}

// end deletes the Pod: it is terminating while its preStop hook waits and it serves on,
// then the container gets its signal. The hook and the slice begin at the same time.
func (p *Pod) end() {
	p.cluster.t.Helper()
	p.cluster.set(p, podTerminating)
	if !p.cluster.options.Abrupt {
		<-time.After(preStop)
	}
	if p.cluster.options.Quiet {
		p.cluster.awaitQuiet(p.Name)
	}
	p.backend.stop()
	p.cluster.set(p, podGone)
	netns.Delete(p.cluster.t, p.Name)
}
