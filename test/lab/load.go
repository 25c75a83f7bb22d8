//go:build lab

package lab

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/netns"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/traffic"
)

// progressInterval is the time between two lines of progress of a load.
const progressInterval = 5 * time.Second

// load is a process that sends requests from the clients' namespace.
type load struct {
	t       testing.TB
	process *process
	done    chan struct{} // closed when all its lines are read
}

// startLoad sends requests to the target, and hands over each result.
func (x *Target) startLoad(rate int, take func(traffic.Result)) *load {
	x.t.Helper()
	options := []string{"-target", x.service, "-rate", fmt.Sprint(rate), "-sources", source(x.world.loads.Add(1)).String(),
		fmt.Sprintf("-tls=%t", x.handshake > 0), "-body", fmt.Sprint(x.Requests.Body), "-burst", fmt.Sprint(x.Requests.Burst), "-keep", fmt.Sprint(x.Requests.Keep)}
	if x.Requests.Timeout > 0 {
		options = append(options, "-timeout", x.Requests.Timeout.String())
	}
	if len(x.Requests.Methods) > 0 {
		options = append(options, "-methods", strings.Join(x.Requests.Methods, ","))
	}
	args := netns.Inside(x.world.clients, append([]string{x.world.load}, options...)...)
	l := &load{t: x.t, process: start(x.t, "load-"+x.Name, nil, args, true), done: make(chan struct{})}
	go func() {
		defer close(l.done)
		for l.process.out.Scan() {
			result, err := traffic.ParseLine(l.process.out.Text())
			if err != nil {
				x.t.Errorf("load %s: %v", x.Name, err)
				return
			}
			take(result)
		}
	}()
	return l
}

// stop ends the load when the answers under way are there.
func (l *load) stop() {
	l.t.Helper()
	l.process.stop()
	<-l.done
	if !l.process.State().Success() {
		l.t.Fatalf("%v\n%s", l.process.State(), l.process.Tail())
	}
}

// Begin sends so many requests a second until [Target.End], and returns when
// every backend has answered and no request of the last second was lost. What was before does not count.
func (x *Target) Begin(rate int) {
	x.t.Helper()
	x.rate = rate
	var counts atomic.Pointer[time.Time] // from when on
	counts.Store(&time.Time{})
	x.load = x.startLoad(rate, func(r traffic.Result) {
		if !r.Start.Before(*counts.Load()) {
			x.Record().Add(r)
		}
	})
	until(x.t, func() string { return x.Name + ": not every worker answers: " + x.summary() }, func() bool {
		since := time.Now().Add(-time.Second)
		_, lost := x.Record().LastLost(since)
		return lost == 0 && x.answering(since)
	})
	now := time.Now()
	counts.Store(&now)
	x.record.Store(&traffic.Record{})
	x.stopProgress = make(chan struct{})
	if !x.quiet {
		go x.tell(x.stopProgress)
	}
}

// answering reports whether every backend has answered since then: the workers that the
// inventory lists as staying, or the Pods on them.
func (x *Target) answering(since time.Time) bool {
	backends := x.backends
	if backends == nil {
		backends = x.staying
	}
	return !slices.ContainsFunc(backends(), func(name string) bool { return !x.Record().Answered(name, since) })
}

func (x *Target) staying() (names []string) {
	for _, w := range x.Workers() {
		if !w.leaving {
			names = append(names, w.Name)
		}
	}
	return names
}

// tell prints progress until the load ends.
func (x *Target) tell(stop <-chan struct{}) {
	ticker := time.NewTicker(progressInterval)
	defer ticker.Stop()
	for {
		select {
		case <-stop:
			return
		case <-ticker.C:
			progress("%s: %s", x.Name, x.summary())
		}
	}
}

func (x *Target) summary() string {
	record := x.Record()
	text := fmt.Sprintf("%d requests, %d lost", record.Len(), len(record.Lost()))
	if marks := record.Marks(); len(marks) > 0 {
		text += "; " + marks[len(marks)-1].Text
	}
	return text
}

// Record is what was measured since Begin.
func (x *Target) Record() *traffic.Record { return x.record.Load() }

// Mark notes an event for the picture and returns the time.
func (x *Target) Mark(format string, args ...any) time.Time {
	return x.Record().Mark(fmt.Sprintf(format, args...))
}

// End stops the load.
func (x *Target) End() {
	x.t.Helper()
	x.load.stop()
	close(x.stopProgress)
	if !x.quiet {
		progress("%s: %s, end", x.Name, x.summary())
	}
}

// AwaitRequests waits until so many requests have ended.
func (x *Target) AwaitRequests(count int) {
	x.t.Helper()
	until(x.t, func() string { return fmt.Sprintf("%s: want %d requests: %s", x.Name, count, x.summary()) }, func() bool {
		return x.Record().Len() >= count
	})
}

// AwaitAnswers waits until each of these workers has answered a request that
// began after the call.
func (x *Target) AwaitAnswers(workers ...*Worker) {
	x.t.Helper()
	now := time.Now()
	until(x.t, func() string { return fmt.Sprintf("%s: not all answer: %s", x.Name, x.summary()) }, func() bool {
		return !slices.ContainsFunc(workers, func(w *Worker) bool { return !x.Record().Answered(w.Name, now) })
	})
}

// AwaitNoAnswers waits until none of these workers has had a request for two seconds: then
// they are drained, also if the slice does not say so.
func (x *Target) AwaitNoAnswers(workers ...*Worker) {
	x.t.Helper()
	for _, w := range workers {
		x.awaitQuiet(w.Name)
	}
}

// awaitQuiet waits until a backend has had no request for two seconds.
func (x *Target) awaitQuiet(backend string) {
	x.t.Helper()
	const quiet = 2 * time.Second
	begin := time.Now()
	until(x.t, func() string { return fmt.Sprintf("%s: %s is still asked: %s", x.Name, backend, x.summary()) }, func() bool {
		since := time.Now().Add(-quiet)
		return since.After(begin) && !x.Record().Answered(backend, since)
	})
}

// excused are the time-outs that a busy machine explains.
func (x *Target) excused() map[time.Time]bool {
	if x.Requests.Timeout > traffic.Timeout {
		return nil
	}
	return traffic.Excused(x.Record().Results())
}

// WantNoneLost fails the test if a request is lost, and says which.
func (x *Target) WantNoneLost() {
	x.t.Helper()
	x.WantNoneLostSince(time.Time{})
}

// WantNoneLostSince is [Target.WantNoneLost] for requests that began then or later.
func (x *Target) WantNoneLostSince(begin time.Time) {
	x.t.Helper()
	const shown = 10
	var text strings.Builder
	count, excused := 0, x.excused()
	if len(excused) > 0 {
		progress("%s: %d time-outs do not count: the machine had no time even for the load", x.Name, len(excused))
	}
	for _, r := range x.Record().Lost() {
		if r.Start.Before(begin) || excused[r.Start] {
			continue
		}
		if count++; count <= shown {
			fmt.Fprintf(&text, "\n\t%s %s after %v (late %v) %s", r.Start.Format("15:04:05.000"), r.Failure, r.Took, r.Late, r.Backend)
		}
	}
	if count == 0 {
		return
	}
	for _, m := range x.Record().Marks() {
		fmt.Fprintf(&text, "\n\t%s -- %s", m.At.Format("15:04:05.000"), m.Text)
	}
	x.t.Errorf("%s: %d of %d requests are lost, want none; 99 of 100 began at most %v late%s",
		x.Name, count, x.Record().Len(), x.Record().Lateness(), text.String())
}
