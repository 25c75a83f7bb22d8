//go:build lab

package lab

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/traffic"
)

// Sample is what a daemon holds at a moment.
type Sample struct {
	// Memory is its resident set in MiB.
	Memory                  float64
	Goroutines, Descriptors float64
	// Requests counts the requests to API servers since its start.
	Requests float64
}

// Sample looks at the daemon.
func (d *Daemon) Sample() Sample {
	d.t.Helper()
	return Sample{
		Memory: d.memory(), Goroutines: d.Metric("go_goroutines"), Descriptors: float64(d.Descriptors()),
		Requests: d.Metric("rest_client_requests_total"),
	}
}

func (d *Daemon) memory() float64 {
	d.t.Helper()
	file, err := os.Open(fmt.Sprintf("/proc/%d/status", d.PID()))
	if err != nil {
		d.t.Fatal(err)
	}
	defer file.Close()
	for scanner := bufio.NewScanner(file); scanner.Scan(); {
		text, found := strings.CutPrefix(scanner.Text(), "VmRSS:")
		if !found {
			continue
		}
		kib, err := strconv.ParseFloat(strings.TrimSuffix(strings.TrimSpace(text), " kB"), 64)
		if err != nil {
			d.t.Fatal(err)
		}
		return kib / 1024
	}
	d.t.Fatalf("%s has no VmRSS", d.name)
	return 0
}

// Samples are taken in even steps.
type Samples struct {
	taken []Sample
	stop  chan struct{}
	done  chan struct{}
}

// Watch samples the daemon until Stop.
func (d *Daemon) Watch(every time.Duration) *Samples {
	s := &Samples{stop: make(chan struct{}), done: make(chan struct{})}
	go func() {
		defer close(s.done)
		ticker := time.NewTicker(every)
		defer ticker.Stop()
		for {
			select {
			case <-s.stop:
				return
			case <-ticker.C:
				s.taken = append(s.taken, d.Sample())
			}
		}
	}()
	return s
}

// Stop ends the watch.
func (s *Samples) Stop() {
	close(s.stop)
	<-s.done
}

// Quarter returns the medians of the n-th quarter, 0 to 3, and as Requests how
// many there were in it.
func (s *Samples) Quarter(n int) Sample {
	part := s.taken[len(s.taken)*n/4 : len(s.taken)*(n+1)/4]
	median := func(of func(Sample) float64) float64 {
		values := []float64{0}
		if len(part) > 0 {
			values = values[:0]
		}
		for _, one := range part {
			values = append(values, of(one))
		}
		slices.Sort(values)
		return values[len(values)/2]
	}
	q := Sample{
		Memory:      median(func(s Sample) float64 { return s.Memory }),
		Goroutines:  median(func(s Sample) float64 { return s.Goroutines }),
		Descriptors: median(func(s Sample) float64 { return s.Descriptors }),
	}
	if len(part) > 0 {
		q.Requests = part[len(part)-1].Requests - part[0].Requests
	}
	return q
}

// Series are the samples for a picture; requests are counted for each step.
func (s *Samples) Series() []traffic.Series {
	series := []traffic.Series{{Name: "resident memory", Unit: "MiB"}, {Name: "goroutines"}, {Name: "open descriptors"}, {Name: "requests to API servers in a step"}}
	for i, one := range s.taken {
		before := s.taken[max(i-1, 0)]
		for j, value := range []float64{one.Memory, one.Goroutines, one.Descriptors, one.Requests - before.Requests} {
			series[j].Values = append(series[j].Values, value)
		}
	}
	return series
}
