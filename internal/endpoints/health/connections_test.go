package health_test

import (
	"context"
	"net"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/bubble"
)

func TestContract51HoldersOfTheSamePortShareAConnection(t *testing.T) {
	bubble.Test(t, func(t *testing.T) {
		w := &world{began: time.Now(), peers: map[netip.Addr]net.Conn{}, connects: map[netip.Addr][]time.Duration{}}
		hub := health.NewConnections(health.ConnectionsOptions{MaxConnections: 100, Dial: w.dial})
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		running.Go(func() { hub.Run(ctx) })
		alarms := make([]int, 3)
		var holders []*health.Holder
		for i, port := range []uint16{80, 80, 81} {
			h := hub.Holder(health.HolderOptions{
				Port: port, Timeout: time.Second, Interval: 2 * time.Second, MaxAlarmPercent: 50,
				Alarm: func(health.Alarm) { w.mu.Lock(); defer w.mu.Unlock(); alarms[i]++ },
			})
			holders = append(holders, h)
		}
		held := func(want ...int) {
			t.Helper()
			for i, h := range holders {
				if got := h.Stats(); got.Held != want[i] {
					t.Errorf("holder %d: got %d held, want %d", i, got.Held, want[i])
				}
			}
		}
		open := func(want int) {
			t.Helper()
			w.mu.Lock()
			defer w.mu.Unlock()
			if w.open != want {
				t.Errorf("got %d connections, want %d", w.open, want)
			}
		}
		holders[0].Watch([]netip.Addr{addr(1), addr(2)})
		time.Sleep(time.Second)
		holders[1].Watch([]netip.Addr{addr(1), addr(2)})
		time.Sleep(time.Second)
		held(2, 2, 0)
		open(2)
		_ = w.peer(1).Close()
		time.Sleep(5 * time.Second)
		w.mu.Lock()
		if alarms[0] != 1 || alarms[1] != 1 || alarms[2] != 0 {
			t.Errorf("got alarms %v, want one for each holder of the connection", alarms)
		}
		w.mu.Unlock()
		held(2, 2, 0)
		holders[2].Watch([]netip.Addr{addr(1)})
		time.Sleep(time.Second)
		held(2, 2, 1)
		open(3)
		holders[0].Close()
		time.Sleep(time.Second)
		held(0, 2, 1)
		open(3)
		holders[1].Watch([]netip.Addr{addr(2)})
		time.Sleep(time.Second)
		held(0, 1, 1)
		open(2)
		cancel()
		running.Wait()
		held(0, 0, 0)
		open(0)
	})
}
