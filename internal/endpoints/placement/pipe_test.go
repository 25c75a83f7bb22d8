package placement_test

import (
	"context"
	"net"
	"os"
	"sync"
	"syscall"

	"k8s.io/client-go/rest"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
)

// pipes are a network in memory: simulated time stands still while anything waits for the
// real network.
type pipes struct {
	arriving chan net.Conn
	once     sync.Once
	closed   chan struct{}

	mu      sync.Mutex
	refuses bool
}

func newPipes() *pipes { return &pipes{arriving: make(chan net.Conn), closed: make(chan struct{})} }

// dial opens a connection, or returns an error when the other side refuses.
func (p *pipes) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	p.mu.Lock()
	refuses := p.refuses
	p.mu.Unlock()
	if refuses {
		return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
	}
	ours, theirs := net.Pipe()
	select {
	case p.arriving <- theirs:
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

func (p *pipes) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

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
