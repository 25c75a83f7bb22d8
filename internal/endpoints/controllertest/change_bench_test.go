package controllertest_test

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controllertest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/store"
)

// BenchmarkChange is one node that stops being ready, or comes back, through a
// whole pool and its target. write-ns/op is how long it takes from the source's
// signal to the write of the slice, cpu-ns/op what the process needs altogether,
// also after the write. There is a pause between two changes, because no slice is
// written more often than once a second in the long run.
func BenchmarkChange(b *testing.B) {
	for _, size := range []int{1_000, 10_000} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			f := newFleet(b, size)
			b.ReportAllocs()
			began, changes, waited := cpuTime(b), 0, time.Duration(0)
			for b.Loop() {
				waited += f.change()
				changes++
				time.Sleep(1100 * time.Millisecond / time.Duration(f.group))
			}
			f.stop()
			b.ReportMetric(float64(cpuTime(b)-began)/float64(changes), "cpu-ns/op")
			b.ReportMetric(float64(waited)/float64(changes), "write-ns/op")
		})
	}
}

// cpuTime is what the process has used so far.
func cpuTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// fleet is a source of many nodes and a store that says when it was written.
type fleet struct {
	*store.Memory
	stop    func()
	signal  chan struct{}
	written chan string

	mu    sync.Mutex
	nodes []inventory.Node
	// changes counts them; a group of nodes, each of another slice, goes and comes
	// in turn.
	changes, group int
}

// newFleet starts a daemon and returns when it has published all nodes.
func newFleet(b *testing.B, size int) *fleet {
	b.Helper()
	target := publish.Target{
		Namespace: "default", Service: "web", SliceName: "web-remote", ManagedBy: "tester",
		Ports: []publish.Port{{Name: "http", Protocol: publish.TCP, Number: 8080}}, MaxEndpoints: 100,
	}
	store, err := store.NewMemory(store.MemoryOptions{Target: target, Service: publish.Service{UID: "uid", Ports: []publish.ServicePort{{Name: "http", Protocol: publish.TCP, Port: 80}}}})
	if err != nil {
		b.Fatal(err)
	}
	f := &fleet{Memory: store, signal: make(chan struct{}, 1), written: make(chan string, size), group: min(25, size/target.MaxEndpoints)}
	for i := range size {
		f.nodes = append(f.nodes, inventory.Node{
			ID: fmt.Sprintf("6f1d2c3b-0000-4000-8000-%012d", i), Name: fmt.Sprintf("worker-%05d", i), Zone: fmt.Sprintf("zone-%d", i%3+1),
			Addresses: []netip.Addr{netip.AddrFrom4([4]byte{10, 64, byte(i >> 8), byte(i)})}, Ready: true, Worker: true,
		})
	}
	off := policy()
	off.HealthOff = true
	s, err := controllertest.New(controllertest.Options{
		Source: f, Store: f, SourceChanged: f.signal, Target: target, Policy: off,
		Rules:        filter.Rules{Subnets: []netip.Prefix{netip.MustParsePrefix("10.64.0.0/12")}},
		PollInterval: time.Hour, SourceTimeout: time.Minute,
	})
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(b.Context())
	var running sync.WaitGroup
	running.Go(func() { _ = s.Run(ctx) })
	f.stop = func() {
		cancel()
		running.Wait()
	}
	for range (size + target.MaxEndpoints - 1) / target.MaxEndpoints {
		<-f.written
	}
	return f
}

// change changes the next node and returns how long it took until its slice was
// written.
func (f *fleet) change() time.Duration {
	began := time.Now()
	f.mu.Lock()
	f.nodes = slices.Clone(f.nodes) // earlier readers keep their copy
	node := &f.nodes[f.changes%f.group*len(f.nodes)/f.group]
	node.Ready = !node.Ready
	f.changes++
	f.mu.Unlock()
	f.signal <- struct{}{}
	<-f.written
	return time.Since(began)
}

// Read implements pool.Source.
func (f *fleet) Read(context.Context) ([]inventory.Node, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.nodes, nil
}

// Write implements controllertest.Store.
func (f *fleet) Write(ctx context.Context, w publish.Write) (string, error) {
	version, err := f.Memory.Write(ctx, w)
	f.written <- w.Slice.Name
	return version, err
}
