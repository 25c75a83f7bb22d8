package pool_test

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
)

// steady is a source and a prober of nodes that always answer.
type steady struct {
	nodes  []inventory.Node
	checks atomic.Int64
}

func (s *steady) Read(context.Context) ([]inventory.Node, error) { return s.nodes, nil }

func (s *steady) Check(_ context.Context, addr netip.Addr) inventory.Result {
	s.checks.Add(1)
	return inventory.Result{Address: addr, At: time.Now(), Outcome: inventory.Pass, Reason: inventory.Ready, Message: "connected"}
}

// BenchmarkPool is a check in a pool in which nothing happens, apart from the
// connection: scheduling it, handing out its result and judging it. cpu-ns/op is
// what counts; the time is that of the schedule.
func BenchmarkPool(b *testing.B) {
	for _, size := range []int{100, 1_000, 10_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			s := &steady{}
			for i := range size {
				s.nodes = append(s.nodes, inventory.Node{Name: fmt.Sprint("w", i), Addresses: []netip.Addr{netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)})}, Ready: true, Worker: true})
			}
			o := options{
				ReaderOptions: pool.ReaderOptions{
					Source: s, Rules: filter.Rules{Subnets: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/16")}},
					PollInterval: time.Hour, SourceTimeout: time.Second,
				},
				GroupOptions: pool.GroupOptions{
					Prober: s, HealthTimeout: 500 * time.Millisecond, Publish: func(*guard.Verdict) {},
					Policy: guard.Policy{Rise: 2, Fall: 3, Interval: time.Second, MaxSilentPercent: 50, FailOpen: true, Threshold: 10, MaxRemovalPercent: 50, DrainPeriod: 30 * time.Second},
				},
				concurrency: 256,
			}
			ctx, cancel := context.WithCancel(b.Context())
			var running sync.WaitGroup
			o.run(ctx, b, &running)
			time.Sleep(2500 * time.Millisecond)
			began, checked := used(b), s.checks.Load()
			time.Sleep(4 * time.Second)
			checks := s.checks.Load() - checked
			b.ReportMetric(float64(used(b)-began)/float64(checks), "cpu-ns/check")
			b.ReportMetric(float64(checks), "checks")
			cancel()
			running.Wait()
		})
	}
}

// used is what the process has used of the processors so far.
func used(b *testing.B) time.Duration {
	b.Helper()
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
