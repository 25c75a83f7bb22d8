package hold_test

import (
	"context"
	"net"
	"net/netip"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/hold"
)

// listen accepts connections on the loopback and hands them out.
func listen(t *testing.T) (netip.AddrPort, <-chan *net.TCPConn) {
	t.Helper()
	listener, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.MustParseAddrPort("127.0.0.1:0")))
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
	return address, accepted
}

func TestARealPeerThatClosesOrResetsIsTold(t *testing.T) {
	peer, accepted := listen(t)
	alarms := make(chan hold.Alarm, 1)
	holder, err := hold.New(hold.Options{
		Port: peer.Port(), Timeout: 5 * time.Second, Interval: time.Second, MaxAlarmPercent: 50, MaxConnections: 10,
		Alarm: func(a hold.Alarm) { alarms <- a },
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { holder.Run(ctx) })
	defer running.Wait()
	defer cancel()
	holder.Watch([]netip.Addr{peer.Addr()})
	for _, lost := range []struct {
		kind hold.Kind
		by   func(*net.TCPConn) error
	}{
		{hold.Closed, (*net.TCPConn).Close},
		{hold.Reset, func(c *net.TCPConn) error {
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
