package targets_test

import (
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
)

// nodes are addresses that answer, and how often they were asked.
type nodes struct {
	t         *testing.T
	listeners []net.Listener
	checks    atomic.Int64
}

// address is that of a node.
func address(node int) string { return fmt.Sprintf("10.64.%d.%d", node/250, 1+node%250) }

// grow brings them to a number.
func (n *nodes) grow(count int) {
	n.t.Helper()
	for i := len(n.listeners); i < count; i++ {
		n.listeners = append(n.listeners, nil)
		n.revive(i)
	}
}

// revive lets a node accept connections.
func (n *nodes) revive(node int) {
	n.t.Helper()
	listener, err := net.Listen("tcp4", fmt.Sprintf("%s:%d", address(node), port))
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { _ = listener.Close() })
	n.listeners[node] = listener
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return // closed
			}
			n.checks.Add(1)
			_ = connection.Close()
		}
	}()
}

// kill lets a node refuse connections.
func (n *nodes) kill(node int) { _ = n.listeners[node].Close() }

// pool is the document of a pool of so many nodes, which those namespaces may use.
func pool(nodes int, namespaces []string) string {
	list := make([]string, nodes)
	for i := range list {
		list[i] = fmt.Sprintf("{name: worker-%d, addresses: [%s]}", i, address(i))
	}
	return fmt.Sprintf(`apiVersion: endpoints.ablmnzde.github.io/v1alpha1
kind: EndpointPool
metadata: {name: blue}
spec:
  source: {static: {nodes: [%s]}}
  subnets: ["%s"]
  allow: [{namespaces: [%s], ports: ["%d"]}]
`, strings.Join(list, ", "), subnet, strings.Join(namespaces, ", "), port)
}
