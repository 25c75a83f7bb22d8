package controller_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

// crowd is how many endpoints there are: more than descriptors.
const crowd = 400

// TestContract180HeldConnectionsLeaveChecksTheirDescriptors: endpoints accept no more
// connections, and those that are open stay, as behind a NodePort whose Service has no
// endpoint any more. Only checks find that.
func TestContract180HeldConnectionsLeaveChecksTheirDescriptors(t *testing.T) {
	for _, c := range []struct{ limit, concurrency int }{{350, 64}, {350, 256}, {120, 256}} {
		t.Run(fmt.Sprintf("%d checks of %d descriptors", c.concurrency, c.limit), func(t *testing.T) {
			peers := startPeers(t)
			lowerLimit(t, c.limit)
			server, err := controller.New(crowded(t, peers.port, c.concurrency))
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			running.Go(func() { _ = server.Run(ctx) })
			defer running.Wait()
			defer cancel()
			state := func() *controller.GroupState {
				if s := server.Snapshot(); s != nil && len(s.Groups) > 0 && s.Groups[0].State != nil {
					return s.Groups[0].State
				}
				return &controller.GroupState{Outcome: pool.Outcome{Verdict: &guard.Verdict{}}}
			}
			ready := func(addresses []netip.Addr) (n int) {
				for _, a := range addresses {
					if inventory.StateOf(state().Verdict.Members, a) == inventory.StateReady {
						n++
					}
				}
				return n
			}
			eventually(t, "all are ready, and as many as may be are held", func() bool {
				return ready(addresses()) == crowd && state().Held.Held >= transport.SpareSockets(min(c.concurrency, c.limit/4))
			})
			var victims []netip.Addr
			for a := range slices.Chunk(addresses(), crowd/10) {
				victims = append(victims, a[0])
			}
			peers.close(t, victims)
			eventually(t, "those that accept nothing are down", func() bool { return ready(victims) == 0 })
			if got := state().Verdict; got.Unchecked > 0 || ready(addresses()) != crowd-len(victims) {
				t.Errorf("%d endpoints are ready and %d unchecked, want %d and none", ready(addresses()), got.Unchecked, crowd-len(victims))
			}
		})
	}
}

// crowded are the options of a Server that checks and holds the crowd.
func crowded(t *testing.T, port uint16, concurrency int) controller.Options {
	t.Helper()
	checker := health.New(health.Options{Port: port, Timeout: time.Second})
	var nodes answers
	for _, a := range addresses() {
		nodes = append(nodes, inventory.Node{Name: a.String(), Addresses: []netip.Addr{a}, Ready: true, Worker: true})
	}
	options := newResting("web").options(checker, nil)
	options.MaxEndpoints, options.Concurrency = 1000, concurrency
	options.Supply = func(*v1alpha1.EndpointPool) (controller.Supply, error) {
		return controller.Supply{
			Make: func() (controller.Origin, error) { return controller.Origin{Source: nodes}, nil }, Free: true,
			Rules: filter.Rules{Subnets: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}, AllowLoopback: true}, PollInterval: time.Minute, Timeout: time.Second,
		}, nil
	}
	options.Checking = func(*v1alpha1.EndpointPool, assign.Check) (controller.GroupCheck, error) {
		policy := guard.Policy{Rise: 1, Fall: 3, Interval: 2 * time.Second, MaxSilentPercent: 50, FailOpen: true, MaxRemovalPercent: 50, Threshold: 10, PollInterval: time.Minute, DrainPeriod: time.Minute}
		return controller.GroupCheck{Prober: checker, Key: "crowd", Policy: policy, Timeout: time.Second, HoldPort: port}, nil
	}
	return options
}

// addresses are those of the crowd.
func addresses() []netip.Addr {
	all := make([]netip.Addr, crowd)
	for i := range all {
		all[i] = netip.AddrFrom4([4]byte{127, 1, byte(i >> 8), byte(i)})
	}
	return all
}

// lowerLimit leaves this process that many descriptors.
func lowerLimit(t *testing.T, limit int) {
	t.Helper()
	var before syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &before); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Setrlimit(syscall.RLIMIT_NOFILE, &syscall.Rlimit{Cur: uint64(limit), Max: before.Max}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &before) })
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for range 300 {
		if ok() {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	t.Fatalf("not after 30 s: %s", what)
}

// peers are the crowd, in a process with descriptors of its own.
type peers struct {
	port uint16
	in   io.Writer
	out  *bufio.Reader
}

func startPeers(t *testing.T) *peers {
	t.Helper()
	command := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestPeers$")
	command.Env = append(os.Environ(), "SERVE_TEST_PEERS=1")
	command.Stderr = os.Stderr
	in, inErr := command.StdinPipe()
	out, outErr := command.StdoutPipe()
	if err := errors.Join(inErr, outErr, command.Start()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = in.Close(); _ = command.Wait() })
	p := &peers{in: in, out: bufio.NewReader(out)}
	port, err := strconv.ParseUint(p.line(t), 10, 16)
	if err != nil {
		t.Fatal(err)
	}
	p.port = uint16(port)
	return p
}

// line reads what the peers say.
func (p *peers) line(t *testing.T) string {
	t.Helper()
	line, err := p.out.ReadString('\n')
	if err != nil {
		t.Fatalf("the peers ended: %v", err)
	}
	return strings.TrimSpace(line)
}

// close has these accept no more.
func (p *peers) close(t *testing.T, victims []netip.Addr) {
	t.Helper()
	for _, a := range victims {
		_, _ = fmt.Fprintln(p.in, a) // the answer says whether it arrived
		p.line(t)
	}
}

// TestPeers is the process of the peers. A line of input is an address that accepts no
// more.
func TestPeers(t *testing.T) {
	if os.Getenv("SERVE_TEST_PEERS") == "" {
		return
	}
	listening := make(map[string]net.Listener)
	port := 0
	for _, a := range addresses() {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", net.JoinHostPort(a.String(), strconv.Itoa(port)))
		if err != nil {
			t.Fatal(err)
		}
		port = l.Addr().(*net.TCPAddr).Port
		listening[a.String()] = l
		go serveEach(l)
	}
	fmt.Println(port)
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); fmt.Println("closed") {
		_ = listening[lines.Text()].Close()
	}
}

// serveEach reads from each connection until the other side closes it.
func serveEach(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		go func() { _, _ = io.Copy(io.Discard, conn); _ = conn.Close() }()
	}
}
