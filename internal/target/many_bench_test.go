package target_test

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/target"
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
	c := newCrowd(b, target.SetOptions{Lanes: benchLanes, Rate: 0}, manyNames(count)...)
	var left sync.WaitGroup
	for _, s := range c.all {
		s.write = func(context.Context, plan.Write) error {
			time.Sleep(answers)
			return nil
		}
		s.fill.Store = counted{s, &left}
	}
	c.start()
	publish := func(down ...int) {
		left.Add(count)
		c.set.Publish("blue", verdict(100, down...))
		left.Wait()
	}
	publish()
	b.ReportMetric(float64(runtime.NumGoroutine()), "goroutines")
	for i := 0; b.Loop(); i++ {
		publish(1 + i%50)
		b.StopTimer()
		publish()
		time.Sleep(2 * time.Second) // each slice's bucket fills
		b.StartTimer()
	}
}

// counted is a store that counts its writes down.
type counted struct {
	*served
	left *sync.WaitGroup
}

func (c counted) Write(ctx context.Context, w plan.Write) (string, error) {
	defer c.left.Done()
	return c.served.Write(ctx, w)
}

func benchBare(b *testing.B, count int, answers time.Duration) {
	b.Helper()
	c := newCrowd(b, target.SetOptions{}, manyNames(count)...)
	write := func(members *plan.Slice, jobs chan func()) {
		for _, s := range c.all {
			jobs <- func() {
				time.Sleep(answers)
				w := plan.Write{Operation: plan.Create, Slice: *members, Trigger: time.Now()}
				w.Slice.Name, w.Slice.Owner = s.fill.Target.SliceName, service.UID
				w.Slice.Ports = s.fill.Target.Ports
				if s.loads > 0 {
					w.Operation, w.Slice.Version = plan.Update, fmt.Sprint(s.loads)
				}
				if _, err := s.Store.Write(context.Background(), w); err != nil {
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
		write(&plan.Slice{Endpoints: verdict(100, down...).Members}, jobs)
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
