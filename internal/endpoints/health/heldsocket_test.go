package health_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
)

// listen accepts connections on all loopback addresses and hands them out.
func listen(t *testing.T) (netip.AddrPort, <-chan *net.TCPConn) {
	t.Helper()
	listener, err := net.ListenTCP("tcp4", net.TCPAddrFromAddrPort(netip.MustParseAddrPort("0.0.0.0:0")))
	if err != nil {
		t.Fatal(err)
	}
	accepted := make(chan *net.TCPConn, 10)
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			conn, err := listener.AcceptTCP()
			if err != nil {
				return
			}
			accepted <- conn
		}
	})
	t.Cleanup(func() {
		_ = listener.Close()
		serving.Wait()
	})
	address, err := netip.ParseAddrPort(listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return netip.AddrPortFrom(netip.MustParseAddr("127.0.0.1"), address.Port()), accepted
}

// begun holds connections to addresses of the peer until end is called.
func begun(t *testing.T, peer netip.AddrPort, alarm func(health.Alarm), addresses ...netip.Addr) (h *health.Holder, end func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	h = holder(ctx, t, &running, health.ConnectionsOptions{MaxConnections: 10},
		health.HolderOptions{Port: peer.Port(), Timeout: 5 * time.Second, Interval: time.Second, MaxAlarmPercent: 50, Alarm: alarm})
	h.Watch(addresses)
	return h, func() {
		cancel()
		running.Wait()
	}
}

// There are 28,000 local ports on a machine, also for the health checks.
func TestContract33ConnectionsToDifferentAddressesShareALocalPort(t *testing.T) {
	peer, accepted := listen(t)
	netns.LocalPorts(t, 1)
	var all []netip.Addr
	for i := range 8 {
		all = append(all, netip.AddrFrom4([4]byte{127, 0, 0, byte(10 + i)}))
	}
	_, end := begun(t, peer, func(health.Alarm) {}, all...)
	defer end()
	for i := range all {
		select {
		case conn := <-accepted:
			defer func() { _ = conn.Close() }()
		case <-time.After(10 * time.Second):
			t.Fatalf("got %d connections at one local port, want %d", i, len(all))
		}
	}
}

// So a server that speaks TLS sees no handshake.
func TestNothingIsSentOnAHeldConnection(t *testing.T) {
	peer, accepted := listen(t)
	_, end := begun(t, peer, func(health.Alarm) {}, peer.Addr())
	conn := <-accepted
	if err := conn.SetReadDeadline(time.Now().Add(100 * time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	if n, err := conn.Read(make([]byte, 1)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("got %d bytes and %v while it is held, want nothing", n, err)
	}
	if err := conn.SetReadDeadline(time.Time{}); err != nil {
		t.Fatal(err)
	}
	end()
	if n, err := conn.Read(make([]byte, 1)); n != 0 || !errors.Is(err, io.EOF) {
		t.Errorf("got %d bytes and %v at the end, want nothing but that", n, err)
	}
}

func TestARealPeerThatClosesOrResetsIsTold(t *testing.T) {
	peer, accepted := listen(t)
	alarms := make(chan health.Alarm, 1)
	holder, end := begun(t, peer, func(a health.Alarm) { alarms <- a }, peer.Addr())
	defer end()
	for _, lost := range []struct {
		kind health.AlarmKind
		by   func(*net.TCPConn) error
	}{
		{health.Closed, (*net.TCPConn).Close},
		{health.Reset, func(c *net.TCPConn) error {
			if err := c.SetLinger(0); err != nil {
				return err
			}
			return c.Close()
		}},
	} {
		conn := <-accepted
		for holder.Stats().Held == 0 { // a reset before that is a connect that failed
			runtime.Gosched()
		}
		if err := lost.by(conn); err != nil {
			t.Fatal(err)
		}
		if got := <-alarms; got.Kind != lost.kind || got.Address != peer.Addr() {
			t.Errorf("got %s of %s, want %s", got.Kind, got.Address, lost.kind)
		}
	}
}
