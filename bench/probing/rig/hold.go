package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/netip"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/bench/probing"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
)

// holdAll holds a connection to each backend with health.Connections, and does nothing else.
func holdAll(ctx context.Context, c probing.Case) error {
	dialer := net.Dialer{KeepAlive: -1}
	if c.KeepAlive > 0 {
		dialer = net.Dialer{KeepAliveConfig: net.KeepAliveConfig{Enable: true, Idle: c.KeepAlive, Interval: min(c.KeepAlive, 5*time.Second), Count: 3}}
	}
	var opened struct {
		sync.Mutex
		conns []*net.TCPConn
	}
	hub := health.NewConnections(health.ConnectionsOptions{
		MaxConnections: c.Backends,
		Dial: func(ctx context.Context, target netip.AddrPort) (net.Conn, error) {
			conn, err := dialer.DialContext(ctx, "tcp", target.String())
			if tcp, ok := conn.(*net.TCPConn); ok && err == nil {
				opened.Lock()
				defer opened.Unlock()
				opened.conns = append(opened.conns, tcp)
			}
			return conn, err
		},
		// The connects are spread over 10 s instead of 30.
		Random: func() float64 { return rand.Float64() / 3 },
	})
	holder := hub.Holder(health.HolderOptions{
		Port: probing.Port, Timeout: 5 * time.Second, Interval: probing.Interval, MaxAlarmPercent: 50,
		Alarm: func(a health.Alarm) { fmt.Fprintln(os.Stderr, "lost the connection to", a.Address, a.Kind) },
	})
	all := make([]netip.Addr, c.Backends)
	for i := range all {
		all[i] = c.Address(i)
	}
	holder.Watch(all)
	go func() {
		if c.KeepAlive > 0 {
			return // what is sent here would delay those of the kernel
		}
		for holder.Stats().Held < c.Backends {
			time.Sleep(100 * time.Millisecond)
		}
		opened.Lock()
		defer opened.Unlock()
		if err := writeCost(opened.conns); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}()
	hub.Run(ctx)
	return nil
}

// readKeepAlives returns how many keep-alives were sent in this network so far.
func readKeepAlives() (float64, error) {
	netstat, err := os.ReadFile("/proc/self/net/netstat")
	if err != nil {
		return 0, err
	}
	// Each line of names is followed by one of values.
	var names []string
	for line := range strings.Lines(string(netstat)) {
		fields := strings.Fields(line)
		if at := slices.Index(names, "TCPKeepAlive"); at > 0 && len(fields) == len(names) && fields[0] == names[0] {
			return strconv.ParseFloat(fields[at], 64)
		}
		names = fields
	}
	return 0, errors.New("the kernel does not count keep-alives")
}
