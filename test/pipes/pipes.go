// Package pipes is a network in memory between a client of an API server and the server: simulated
// time stands still while anything waits for the real network.
package pipes

import (
	"context"
	"net"
	"os"
	"sync"
	"syscall"

	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

// Network is the listener of a server, which sees each connection come from another port.
type Network struct {
	arriving chan net.Conn
	once     sync.Once
	closed   chan struct{}

	mu      sync.Mutex
	refuses bool
	dialed  int
}

// New returns a network without connections.
func New() *Network { return &Network{arriving: make(chan net.Conn), closed: make(chan struct{})} }

// dial opens a connection, or returns an error when the other side refuses.
func (n *Network) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	n.mu.Lock()
	refuses := n.refuses
	n.dialed++
	number := n.dialed
	n.mu.Unlock()
	if refuses {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	ours, theirs := net.Pipe()
	select {
	case n.arriving <- from{theirs, number}:
		return ours, nil
	case <-n.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Refuse says whether new connections are refused.
func (n *Network) Refuse(refuses bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.refuses = refuses
}

// Accept implements net.Listener.
func (n *Network) Accept() (net.Conn, error) {
	select {
	case conn := <-n.arriving:
		return conn, nil
	case <-n.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (n *Network) Close() error {
	n.once.Do(func() { close(n.closed) })
	return nil
}

// Addr implements net.Listener.
func (n *Network) Addr() net.Addr { return address(1) }

type from struct {
	net.Conn

	number int
}

func (f from) RemoteAddr() net.Addr { return address(f.number) }

func address(port int) net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port} }

// Way is a way to an API server through a network.
type Way struct {
	kube.Access

	Network *Network
}

// Snapshot implements kube.Way.
func (w Way) Snapshot() (*rest.Config, func() bool, error) {
	config, changed, err := w.Access.Snapshot()
	if err == nil {
		config.Dial = w.Network.dial
	}
	return config, changed, err
}
