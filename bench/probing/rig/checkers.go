package main

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"runtime/pprof"
	"sync"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/bench/probing"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// probeAll checks with internal/endpoints/health, and counts streaks once a second as the
// daemon does while nothing changes.
func probeAll(ctx context.Context, c probing.Case) error {
	checker := health.New(health.Options{Mode: health.Mode(c.Mode), Port: probing.Port, Timeout: probing.Timeout, Path: "/", Expected: good{}})
	hub := health.NewHub(health.HubOptions{Concurrency: 256})
	// FastInterval and Gather are the daemon's.
	loop := hub.Loop(hub.Share(1), health.LoopOptions{Check: checker.Check, Interval: probing.Interval, FastInterval: probing.Interval / 10, Gather: 20 * time.Millisecond})
	targets := make([]inventory.Watch, c.Backends)
	for i := range targets {
		targets[i] = inventory.Watch{Address: c.Address(i)}
	}
	loop.Watch(targets)
	if c.Profile != "" {
		file, err := os.Create(c.Profile)
		if err != nil {
			return err
		}
		defer func() { _ = file.Close() }()
		if err := pprof.StartCPUProfile(file); err != nil {
			return err
		}
		defer pprof.StopCPUProfile()
	}
	go count(ctx, loop)
	hub.Run(ctx)
	return nil
}

// good are the statuses that pass by default.
type good struct{}

func (good) Contains(status int) bool { return status >= 200 && status < 400 }

func (good) String() string { return "200-399" }

func count(ctx context.Context, loop *health.Loop) {
	var checks inventory.Health
	var results []inventory.Result
	beat := time.NewTicker(time.Second)
	defer beat.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-loop.Ready():
			results = append(results, loop.Take()...)
		case <-beat.C:
			checks, results = health.Advance(checks, results), nil
		}
	}
}

// plain checks in the shortest way there is in Go: nothing is counted, judged or
// kept.
func plain(ctx context.Context, c probing.Case) error {
	client := &http.Client{
		Timeout:   probing.Timeout,
		Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true},
	}
	dialer := &net.Dialer{Timeout: probing.Timeout}
	return each(ctx, c, func(ctx context.Context, address netip.Addr) {
		target := netip.AddrPortFrom(address, probing.Port).String()
		if c.Mode == probing.HTTP {
			get(ctx, client, "http://"+target+"/")
			return
		}
		if conn, err := dialer.DialContext(ctx, "tcp", target); err == nil {
			_ = conn.Close()
		}
	})
}

// pollPort is where blackbox_exporter listens.
const pollPort = 9115

// poll asks blackbox_exporter for each probe, as Prometheus does, over
// connections that are kept and without compression, which would be work for the
// exporter.
func poll(ctx context.Context, c probing.Case) error {
	client := &http.Client{
		Timeout:   2 * probing.Timeout,
		Transport: &http.Transport{MaxIdleConns: 1024, MaxIdleConnsPerHost: 1024, DisableCompression: true},
	}
	return each(ctx, c, func(ctx context.Context, address netip.Addr) {
		get(ctx, client, fmt.Sprintf("http://127.0.0.1:%d/probe?module=%s&target=%s", pollPort, c.Mode,
			netip.AddrPortFrom(address, probing.Port)))
	})
}

// get reads any answer to its end.
func get(ctx context.Context, client *http.Client, url string) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		panic(err) // made from an address
	}
	response, err := client.Do(request)
	if err != nil {
		return
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.Copy(io.Discard, response.Body)
}

// each checks every backend once an interval, each in a goroutine and at a place
// in the interval of its own.
func each(ctx context.Context, c probing.Case, check func(context.Context, netip.Addr)) error {
	began := time.Now()
	var running sync.WaitGroup
	for i := range c.Backends {
		running.Go(func() {
			select {
			case <-ctx.Done():
				return
			case <-time.After(time.Until(began.Add(probing.Interval * time.Duration(i) / time.Duration(c.Backends)))):
			}
			ticker := time.NewTicker(probing.Interval)
			defer ticker.Stop()
			for address := c.Address(i); ctx.Err() == nil; {
				check(ctx, address)
				select {
				case <-ctx.Done():
				case <-ticker.C:
				}
			}
		})
	}
	running.Wait()
	return nil
}
