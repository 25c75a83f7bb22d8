//go:build lab

package lab_test

import (
	"fmt"
	"net/http"
	"syscall"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/lab"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/traffic"
)

// safeMethods are those of which none is lost when a backend crashes.
var safeMethods = []string{http.MethodGet, http.MethodPut}

// controlPlaneEnds restarts endpoint-views and the operator that leads, lets that hang while
// the rest is away, and takes everything away.
func controlPlaneEnds(f *fleetFront) {
	f.tell("control plane restarted", "each of two replicas of `endpoint-views serve` restarts, then the operator that leads", everyMethod.Methods, func() []traffic.Fact {
		for _, d := range f.views.Replicas {
			f.mark("a restart")
			d.Stop()
			lab.StartAll(d)
			f.AwaitSettled(f.size)
		}
		leader, standby := f.views.Leader()
		f.mark("the operator that leads restarts")
		leader.Stop()
		f.views.AwaitLeader(standby)
		lab.StartAll(leader)
		f.AwaitSettled(f.size)
		return nil
	})
	f.tell("leader hangs", "of two operators the one that leads hangs when the bootstrap changes; both replicas are away for 10 s, and a backend crashes meanwhile", safeMethods, f.leaderHangs)
	away := time.Minute
	f.tell("control plane away", fmt.Sprintf("both replicas and both operators are away for %v, and a backend crashes meanwhile", away), safeMethods, func() []traffic.Fact {
		for _, d := range f.views.Operators {
			d.Kill()
		}
		f.serversAway(away)
		lab.StartAll(f.views.Operators...)
		f.views.Leader()
		f.AwaitSettled(f.size)
		return nil
	})
}

// leaderHangs has an operator that hangs when the bootstrap changes, until another one has
// begun to replace the Pods. Then it goes on with what it knew before.
func (f *fleetFront) leaderHangs() []traffic.Fact {
	before, generation := f.Pods(), f.Generation()
	leader, standby := f.views.Leader()
	f.mark("the operator that leads hangs")
	began := time.Now()
	leader.Signal(syscall.SIGSTOP)
	f.Patch(`{"spec": {"maxConnections": 30000}}`)
	f.serversAway(10 * time.Second)
	f.views.AwaitLeader(standby)
	took := time.Since(began)
	f.mark("the other one leads")
	f.service.Await("the Pods are being replaced", func() bool { return f.Generation() > generation })
	leader.Signal(syscall.SIGCONT)
	f.mark("the first goes on")
	facts := f.replaced(before)
	leader.AwaitEnd()
	lab.StartAll(leader)
	f.AwaitSettled(f.size)
	if got := f.Generation(); got != generation+1 {
		f.Errorf("the Deployment was changed %d times, want once", got-generation)
	}
	return append(facts, traffic.Fact{Name: "the other one leads after", Value: took.Round(time.Second).String()})
}

// serversAway takes both replicas of endpoint-views away for a time, in which a backend
// crashes.
func (f *fleetFront) serversAway(away time.Duration) {
	f.mark("the control plane is away")
	back := time.After(away)
	for _, d := range f.views.Replicas {
		d.Kill()
	}
	victim := f.service.Workers()[0]
	f.mark("%s crashes", victim.Name)
	victim.Kill()
	f.service.AwaitState(victim, "down")
	<-back
	lab.StartAll(f.views.Replicas...)
	f.mark("it is back")
	spare := f.service.AddWorker()
	spare.Say(answering)
	f.service.Join(spare)
	f.New.AwaitAnswers(spare)
	victim.Boot()
	victim.Say(answering)
	f.New.AwaitAnswers(victim)
}
