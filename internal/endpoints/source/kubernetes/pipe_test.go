package kubernetes_test

import (
	"context"
	"net"
	"net/http"
	"os"
	"sync"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/kubernetes"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

// grace is the daemon's.
const grace = 5 * time.Second

// pipes are a network in memory: simulated time stands still while anything waits
// for the real network. The server sees each connection come from another port.
type pipes struct {
	arriving chan net.Conn
	once     sync.Once
	closed   chan struct{}

	mu      sync.Mutex
	refuses bool
	dialed  int
}

func newPipes() *pipes { return &pipes{arriving: make(chan net.Conn), closed: make(chan struct{})} }

// dial opens a connection, or returns an error when the other side refuses.
func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	p.mu.Lock()
	refuses := p.refuses
	p.dialed++
	number := p.dialed
	p.mu.Unlock()
	if refuses {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	ours, theirs := net.Pipe()
	select {
	case p.arriving <- from{theirs, number}:
		return ours, nil
	case <-p.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// refuse says whether new connections are refused.
func (p *pipes) refuse(refuses bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refuses = refuses
}

// Accept is for the server.
func (p *pipes) Accept() (net.Conn, error) {
	select {
	case conn := <-p.arriving:
		return conn, nil
	case <-p.closed:
		return nil, net.ErrClosed
	}
}

func (p *pipes) Close() error {
	p.once.Do(func() { close(p.closed) })
	return nil
}

func (p *pipes) Addr() net.Addr { return address(1) }

type from struct {
	net.Conn

	number int
}

func (f from) RemoteAddr() net.Addr { return address(f.number) }

func address(port int) net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: port} }

// piped is a way to an API server through pipes.
type piped struct {
	kube.Access

	network *pipes
}

func (p piped) Snapshot() (*rest.Config, func() bool, error) {
	config, changed, err := p.Access.Snapshot()
	if err == nil {
		config.Dial = p.network.dial
	}
	return config, changed, err
}

// simulated runs a test in simulated time, with a source that has read from an API
// server behind pipes. Grace and recheck are those of the daemon.
func simulated(t *testing.T, answer http.HandlerFunc, test func(t *testing.T, a *api, network *pipes, source *kubernetes.Source)) {
	t.Helper()
	bubble.Test(t, func(t *testing.T) {
		network := newPipes()
		a := newAPIAt(t, network, answer)
		source := newSource(t, kubernetes.Options{Way: piped{remote(a.kubeconfig(t)), network}, Grace: grace, Recheck: 5 * time.Second})
		run(t, source)
		read(t, source)
		test(t, a, network, source)
	})
}
