//go:build lab

package lab_test

import (
	"fmt"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/lab"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/traffic"
)

// everyMethod are the requests that come through Envoy.
var everyMethod = lab.Requests{Methods: []string{http.MethodGet, http.MethodPut, http.MethodPost}, Body: 4 << 10}

// answering is how long a backend takes to answer: so some requests are under way when it
// dies.
const answering = "slow 20ms"

// front is a Service whose clients ask in two ways at the same time: through an Envoy that
// endpoint-views feeds, and through kube-proxy alone.
type front struct {
	*testing.T
	fleet          *lab.Fleet
	envoy, service *lab.Target
	// dead is when each worker, by its address and port, was dead since the loads began.
	dead map[string][]excuse
	// counted is what Envoy had counted when they began.
	counted map[string]int64
}

// The counters of Envoy that are reported.
const (
	retries   = "upstream_rq_retry"
	ejections = "outlier_detection.ejections_enforced_total"
)

func newFront(t *testing.T, w *lab.World, fleet *lab.Fleet, options lab.Options) *front {
	t.Helper()
	service := w.Target(t, options)
	f := &front{T: t, fleet: fleet, service: service, envoy: fleet.Before(service)}
	for _, x := range f.both() {
		x.Requests = everyMethod
	}
	f.say(answering)
	return f
}

func (f *front) both() []*lab.Target { return []*lab.Target{f.envoy, f.service} }

// say puts all backends in a mode.
func (f *front) say(mode string) {
	f.Helper()
	for _, w := range f.service.Workers() {
		w.Say(mode)
	}
}

// begin starts both loads, that through Envoy with so many requests a second.
func (f *front) begin(rate int) {
	f.Helper()
	f.envoy.Begin(rate)
	f.service.Begin(100)
	f.dead, f.counted = map[string][]excuse{}, map[string]int64{}
	for _, name := range []string{retries, ejections} {
		f.counted[name] = f.fleet.Count(f.envoy, name)
	}
}

func (f *front) mark(format string, args ...any) {
	f.Helper()
	for _, x := range f.both() {
		x.Mark(format, args...)
	}
}

// die ends workers at the same time, and waits until no slice says that they are ready.
func (f *front) die(end func(*lab.Worker) time.Time, workers ...*lab.Worker) {
	f.Helper()
	f.awaitUsed(workers...)
	f.mark("%d of %d die", len(workers), len(f.service.Workers()))
	f.excuse(workers...)
	var ended sync.WaitGroup
	for _, w := range workers {
		ended.Go(func() { end(w) })
	}
	ended.Wait()
	for _, w := range workers {
		f.service.AwaitState(w, "down")
	}
	pause(quietTime) // for kube-proxy
}

// excuse begins a time in which these workers may cost POSTs; revived ends it. A request
// that is under way began before.
func (f *front) excuse(workers ...*lab.Worker) {
	now := time.Now()
	for _, w := range workers {
		f.dead[at(w)] = append(f.dead[at(w)], excuse{now.Add(-traffic.Timeout), now.Add(time.Hour)})
	}
}

func (f *front) revived(workers ...*lab.Worker) {
	f.Helper()
	f.mark("they are back")
	for _, w := range workers {
		f.dead[at(w)][len(f.dead[at(w)])-1].to = time.Now()
	}
}

// awaitUsed waits until Envoy uses these workers, and leaves out none.
func (f *front) awaitUsed(workers ...*lab.Worker) {
	f.Helper()
	f.envoy.Await("no worker is left out", func() bool { return f.fleet.Count(f.envoy, "outlier_detection.ejections_active") == 0 })
	f.envoy.AwaitAnswers(workers...)
}

// revive starts dead workers again and waits until Envoy uses them.
func (f *front) revive(workers ...*lab.Worker) {
	f.Helper()
	for _, w := range workers {
		if w.Ended() {
			w.Boot()
			w.Say(answering)
		} else {
			w.Hear()
		}
	}
	f.service.AwaitAllReady()
	f.envoy.AwaitAnswers(workers...)
	f.revived(workers...)
}

// at is where Envoy reaches a worker.
func at(w *lab.Worker) string { return fmt.Sprintf("%v:%d", w.Address, lab.Port) }

// end stops both loads, judges those through Envoy and reports both.
func (f *front) end(name, text string) {
	f.Helper()
	for _, x := range f.both() {
		x.End()
	}
	f.wantOnlyPostsLost()
	f.report(name, text)
}

// report writes the figures of both.
func (f *front) report(name, text string) {
	f.Helper()
	f.envoy.Report("envoy/"+name, text, byMethod(f.envoy.Record()),
		traffic.Fact{Name: "sent again", Value: fmt.Sprint(f.since(retries))}, traffic.Fact{Name: "left out", Value: fmt.Sprint(f.since(ejections))})
	f.service.Report("envoy/"+name+", kube-proxy", "the same Service at the same time, through kube-proxy alone", byMethod(f.service.Record()))
}

// since is what Envoy has counted since the loads began.
func (f *front) since(name string) int64 {
	f.Helper()
	return f.fleet.Count(f.envoy, name) - f.counted[name]
}

// wantOnlyPostsLost fails the test for each request that is lost through Envoy and is no
// POST that was on the wire to a dead worker. Each lost POST has its line in the access
// log, and each line is of a lost request.
func (f *front) wantOnlyPostsLost() {
	f.Helper()
	failed, results := f.fleet.Failed(f.envoy), f.envoy.Record().Results()
	excused, ignored, slow := traffic.Excused(results), 0, lab.Allowance(f.envoy.Record()) > 0
	for _, r := range results {
		line, logged := failed[r.Source.String()]
		dead := slices.ContainsFunc(f.dead[line.Endpoint], func(e excuse) bool { return r.Start.After(e.from) && r.Start.Before(e.to) })
		switch {
		case !r.Lost() && logged:
			f.Errorf("the access log has a request that was answered: %+v", line)
		case !r.Lost(), r.Method == http.MethodPost && dead:
		case excused[r.Start], r.Failure == "time-out" && !dead && slow:
			// The machine had no time for it: no dead worker is the cause.
			ignored++
		default:
			f.Errorf("%s at %s is lost: %s after %v (late %v), in the access log %+v", r.Method, r.Start.Format("15:04:05.000"), r.Failure, r.Took, r.Late, line)
		}
	}
	if ignored > 0 {
		f.Logf("ignored: %d time-outs, on a machine that begins requests %v late", ignored, f.envoy.Record().Lateness())
	}
	if 20*ignored > len(results) {
		f.Errorf("%d of %d requests had no time on this machine: what is left shows nothing", ignored, len(results))
	}
	if f.since(retries) == 0 && f.since(ejections) == 0 {
		f.Error("Envoy sent no request again and left out no worker: want those that came to a dead one")
	}
}

// byMethod says what was lost of which method.
func byMethod(record *traffic.Record) traffic.Fact {
	lost := map[string]int{}
	for _, r := range record.Lost() {
		lost[r.Method]++
	}
	return traffic.Fact{Name: "lost GET, PUT, POST", Value: fmt.Sprintf("%d, %d, %d", lost[http.MethodGet], lost[http.MethodPut], lost[http.MethodPost])}
}
