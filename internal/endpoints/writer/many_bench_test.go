package writer_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/memory"
)

// BenchmarkManyTargets is the time from the verdict that one of 100 endpoints is down
// to the last write of 1,000 targets, beside as many writers that only write what was
// planned before. The stores are in memory; answers is how long they take.
func BenchmarkManyTargets(b *testing.B) {
	for _, answers := range []time.Duration{0, 3 * time.Millisecond} {
		for _, count := range []int{1, 100, 1000} {
			b.Run(fmt.Sprintf("answers=%s/targets=%d/set", answers, count), func(b *testing.B) { benchSet(b, count, answers) })
			b.Run(fmt.Sprintf("answers=%s/targets=%d/bare", answers, count), func(b *testing.B) { benchBare(b, count, answers) })
		}
	}
}

const benchLanes = 8

func benchSet(b *testing.B, count int, answers time.Duration) {
	b.Helper()
	c := newCrowd(b, writer.SetOptions{Lanes: benchLanes, Rate: 0}, manyNames(count)...)
	var left sync.WaitGroup
	for _, s := range c.all {
		s.write = func(context.Context, publish.Write) error {
			time.Sleep(answers)
			return nil
		}
		s.fill.Store = countedService{s, &left}
	}
	c.start()
	write := func(down ...int) {
		left.Add(count)
		c.set.Publish("blue", verdict(100, down...))
		left.Wait()
	}
	write()
	b.ReportMetric(float64(runtime.NumGoroutine()), "goroutines")
	for i := 0; b.Loop(); i++ {
		write(1 + i%50)
		b.StopTimer()
		write()
		time.Sleep(2 * time.Second) // each slice's bucket fills
		b.StartTimer()
	}
}

// countedService is a store that counts its writes down.
type countedService struct {
	*crowdService
	left *sync.WaitGroup
}

func (c countedService) Write(ctx context.Context, w publish.Write) (string, error) {
	defer c.left.Done()
	return c.crowdService.Write(ctx, w)
}

func benchBare(b *testing.B, count int, answers time.Duration) {
	b.Helper()
	c := newCrowd(b, writer.SetOptions{}, manyNames(count)...)
	write := func(members *publish.Slice, jobs chan func()) {
		for _, s := range c.all {
			jobs <- func() {
				time.Sleep(answers)
				w := publish.Write{Operation: publish.Create, Slice: *members, Trigger: time.Now()}
				w.Slice.Name, w.Slice.Owner = s.fill.Target.SliceName, service.UID
				w.Slice.Ports = s.fill.Target.Ports
				if s.loads > 0 {
					w.Operation, w.Slice.Version = publish.Update, fmt.Sprint(s.loads)
				}
				if _, err := s.Memory.Write(context.Background(), w); err != nil {
					b.Error(err)
				}
				s.loads++
			}
		}
		close(jobs)
	}
	all := func(down ...int) {
		jobs := make(chan func())
		var writers sync.WaitGroup
		for range benchLanes {
			writers.Go(func() {
				for job := range jobs {
					job()
				}
			})
		}
		write(&publish.Slice{Endpoints: verdict(100, down...).Members}, jobs)
		writers.Wait()
	}
	all()
	for i := 0; b.Loop(); i++ {
		all(1 + i%50)
		b.StopTimer()
		all()
		b.StartTimer()
	}
}

// manyNames are those of so many Services in twenty namespaces.
func manyNames(count int) []string {
	names := make([]string, count)
	for i := range names {
		names[i] = fmt.Sprintf("ns%d/web%d", i%20, i)
	}
	return names
}

// BenchmarkManyTargetsStart is the time from the start until 1,000 targets, whose
// slices are right, are known to be right. It reports what they hold in memory, without
// their stores.
func BenchmarkManyTargetsStart(b *testing.B) {
	const count = 1000
	stores := make([]*thin, count)
	for i := range stores {
		s := newServed(b, manyNames(count)[i], 100)
		stores[i] = &thin{fill: s.fill, state: publish.State{Service: service}}
	}
	startThin(b, stores)() // writes everything
	var used, goroutines uint64
	for b.Loop() {
		b.StopTimer()
		before := memory.Live()
		for _, s := range stores {
			s.writes = 0
		}
		b.StartTimer()
		stop := startThin(b, stores)
		b.StopTimer()
		used, goroutines = uint64(memory.Live()-before), uint64(runtime.NumGoroutine())
		stop()
		for _, s := range stores {
			if s.writes > 0 {
				b.Fatal("a restart wrote")
			}
		}
		b.StartTimer()
	}
	b.ReportMetric(float64(used)/1e6, "MB")
	b.ReportMetric(float64(goroutines), "goroutines")
}

// startThin starts a set, and returns when every target has planned.
func startThin(b *testing.B, stores []*thin) (stop func()) {
	b.Helper()
	set := writer.NewSet(writer.SetOptions{})
	var planned sync.WaitGroup
	for _, s := range stores {
		planned.Add(1)
		once := sync.OnceFunc(planned.Done)
		_, err := set.Add(writer.Options{Fills: []writer.Fill{{Pool: "blue", Store: s, Target: s.fill.Target}}, Observe: func(o writer.Outcome) {
			if o.Passed && o.Pending == 0 || len(o.Results) > 0 {
				once()
			}
		}})
		if err != nil {
			b.Fatal(err)
		}
	}
	set.Publish("blue", verdict(100))
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { set.Run(ctx) })
	planned.Wait()
	stop = func() { cancel(); running.Wait() }
	b.Cleanup(stop)
	return stop
}

// thin is a store that holds what was written last, and nothing else.
type thin struct {
	fill   writer.Fill
	mu     sync.Mutex
	state  publish.State
	writes int
}

func (s *thin) Load(context.Context) (publish.State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state, nil
}

func (s *thin) Write(_ context.Context, w publish.Write) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.writes++
	w.Slice.Version = fmt.Sprint(s.writes)
	s.state.Slices = []publish.Slice{w.Slice}
	return w.Slice.Version, nil
}
