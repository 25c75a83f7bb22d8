//go:build lab

package lab_test

import (
	"sync"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/source/ionos/ionostest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/lab"
)

// One dead backend must be out of use after oneCrash, or after oneSilence if it does
// not even refuse. The promise is 2.5 s and 5.5 s at the 95th percentile. A scenario
// with one sample cannot judge that; see the scenarios that crash.
const (
	oneCrash   = 4 * time.Second
	oneSilence = 7 * time.Second
)

// half lets three of six workers end at once.
func half(end func(*lab.Worker) time.Time) func(*testing.T, *lab.World, *lab.Target) {
	return func(_ *testing.T, _ *lab.World, x *lab.Target) {
		pause(2 * time.Second)
		x.Mark("fault")
		var ended sync.WaitGroup
		for _, worker := range x.Workers()[:3] {
			ended.Go(func() { end(worker) })
		}
		ended.Wait()
		pause(oneSilence + 3*time.Second)
	}
}

// TestTheLocalAPIServerRestarts lets it end twice while workers are replaced.
func TestTheLocalAPIServerRestarts(t *testing.T) {
	beside(t)
	w := lab.Start(t)
	// The server is there for all of them, so it ends when both are under way; of two, only one may run.
	begun := make(chan struct{}, 2)
	var once sync.Once
	var restarts sync.WaitGroup
	story := func(_ *testing.T, _ *lab.World, x *lab.Target) {
		begun <- struct{}{}
		once.Do(func() { restarts.Go(func() { restartTwice(w, begun) }) })
		defer restarts.Wait()
		for _, old := range x.Workers() {
			replaceDrained(x, old, x.AddWorker())
		}
	}
	tell(t, w, []scenario{
		{name: "API server restarted, file", text: "the local API server is down for 3 s, twice, while every worker is replaced", story: story},
		{name: "API server restarted, kubernetes", text: "the same with SOURCE_KIND=kubernetes", story: story, options: lab.Options{Source: "kubernetes"}},
	})
}

// restartTwice ends the local API server twice, when all have begun that the channel has room for,
// or when the others are late.
func restartTwice(w *lab.World, begun <-chan struct{}) {
	late := time.After(10 * time.Second)
	for range cap(begun) {
		select {
		case <-begun:
		case <-late:
		}
	}
	for range 2 {
		pause(2 * time.Second)
		w.Local.Stop()
		pause(3 * time.Second)
		w.Local.Start()
		pause(4 * time.Second)
	}
}

// replaceDrained replaces a worker. The old one ends when it gets no request any
// more, as after a drain of minutes: without an API server no consumer learns of the
// drain.
func replaceDrained(x *lab.Target, old, fresh *lab.Worker) {
	x.Mark("%s joins", fresh.Name)
	x.Join(fresh)
	x.AwaitAnswers(fresh)
	x.Mark("%s leaves", old.Name)
	x.Leave(old)
	x.AwaitNoAnswers(old)
	x.Mark("%s is gone", old.Name)
	old.Stop()
	old.Remove()
	x.Gone(old)
}

// outage is how long the remote side is down.
func outage() time.Duration {
	if long() {
		return 5 * time.Minute
	}
	return 10 * time.Second
}

// diesMeanwhile ends a worker when reads have failed for a while. Its requests are
// lost until the health check has seen it; no other request is lost.
func diesMeanwhile(x *lab.Target) {
	pause(outage() / 3)
	victim := x.Workers()[0]
	x.Mark("fault")
	victim.Kill()
	pause(outage() - outage()/3)
}

func cloudDown(_ *testing.T, _ *lab.World, x *lab.Target) {
	x.Mark("the API of the cloud answers 500")
	x.Cloud.Break(ionostest.Fault{Kind: ionostest.Failed})
	diesMeanwhile(x)
}

// TestTheRemoteClusterIsDown has a world of its own, because nothing else works then.
func TestTheRemoteClusterIsDown(t *testing.T) {
	w := lab.Start(t)
	down := func(_ *testing.T, w *lab.World, x *lab.Target) {
		x.Mark("the remote API server is down")
		w.Remote.Stop()
		diesMeanwhile(x)
		x.Mark("it is back")
		w.Remote.Start()
	}
	tell(t, w, []scenario{
		{name: "remote cluster down, a worker dies", text: "the remote API server is down while a backend ends", story: down, bound: oneCrash, options: lab.Options{Source: "kubernetes"}},
	})
}
