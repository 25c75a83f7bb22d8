//go:build lab

package lab_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/lab"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/traffic"
)

// TestFleets has fleets whose Pods are real Envoys, and replaces them. No request is lost, whether
// clients open a connection for each or send all of them on a few.
func TestFleets(t *testing.T) {
	w := lab.StartWithPods(t)
	v := w.Views(t, 2)
	for name, scenes := range map[string]func(*fleetFront){
		"Contract100 replaced": replacedPods, "Contract100 scaled and deleted": scaledPods, "Contract102 followed": followed,
		"Contract100 another image and Contract127 drained": drainedPods,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scenes(newFleetFront(t, w, v, 3))
		})
	}
	t.Cleanup(func() { v.WantOneWriter() })
}

// TestContract101And103And128TheControlPlaneOfAFleet replaces and takes away everything that a
// fleet depends on. It has a world of its own, because a second is too short a time to see what an
// Envoy rejects while fleets start and end.
func TestContract101And103And128TheControlPlaneOfAFleet(t *testing.T) {
	beside(t)
	w := lab.StartWithPods(t)
	v := w.Views(t, 2)
	f := newFleetFront(t, w, v, 3)
	f.tell("rejected", "the Envoy gets a listener whose certificate no Pod has, and loses it again", everyMethod.Methods, f.isRejected)
	controlPlaneEnds(f)
	if changes := v.WantOneWriter(); changes < 3 {
		t.Errorf("the Lease had %d holders in turn, want at least 3", changes)
	}
}

// fleetFront is a Service behind a fleet of Pods, with clients of two kinds.
type fleetFront struct {
	*testing.T
	*lab.Envoys
	views   *lab.Views
	service *lab.Target
	size    int
}

func newFleetFront(t *testing.T, w *lab.World, v *lab.Views, size int) *fleetFront {
	t.Helper()
	f := &fleetFront{T: t, views: v, service: w.Target(t, lab.Options{}), size: size}
	for _, worker := range f.service.Workers() {
		worker.Say(answering)
	}
	f.Envoys = v.Before(t, f.service, size)
	return f
}

func (f *fleetFront) both() []*lab.Target { return []*lab.Target{f.New, f.Kept} }

func (f *fleetFront) mark(format string, args ...any) {
	f.Helper()
	for _, x := range f.both() {
		x.Mark(format, args...)
	}
}

// clientTimeout is longer than a busy machine delays an answer: what fails within is lost.
const clientTimeout = 10 * time.Second

// tell is a scene: what happens while requests of these methods are sent, of which none may
// be lost.
func (f *fleetFront) tell(name, text string, methods []string, story func() []traffic.Fact) {
	f.Helper()
	rate := 75
	if long() {
		rate = 150
	}
	for _, x := range f.both() {
		x.Requests.Methods, x.Requests.Body, x.Requests.Timeout = methods, everyMethod.Body, clientTimeout
		x.Begin(rate)
	}
	facts := story()
	pause(quietTime)
	for _, x := range f.both() {
		x.End()
		x.WantNoneLost()
	}
	f.New.Report("fleets/"+name, text+"; each request has a connection of its own", facts...)
	f.Kept.Report("fleets/"+name+", kept", text+"; all requests are sent on 20 connections")
}

// replaced waits until all Pods are others.
func (f *fleetFront) replaced(before []string) []traffic.Fact {
	f.Helper()
	f.AwaitGone(before...)
	f.AwaitSettled(f.size)
	f.mark("all Pods are others")
	return []traffic.Fact{{Name: "Pods replaced", Value: fmt.Sprint(len(before))}}
}

// replacedPods replaces all Pods, by a restart and by another bootstrap.
func replacedPods(f *fleetFront) {
	f.tell("rolling restart", "`kubectl rollout restart` of the Deployment", everyMethod.Methods, func() []traffic.Fact {
		before := f.Pods()
		f.mark("rollout restart")
		f.Kubectl("rollout", "restart", "deployment/edge")
		return f.replaced(before)
	})
	f.tell("bootstrap", "a field of the Envoy changes that is in the bootstrap", everyMethod.Methods, func() []traffic.Fact {
		before := f.Pods()
		f.mark("the bootstrap changes")
		f.Patch(`{"spec": {"maxConnections": 40000}}`)
		return f.replaced(before)
	})
}

// scaledPods changes the number of Pods, and deletes one.
func scaledPods(f *fleetFront) {
	f.Kubectl("scale", "envoy/edge", "--replicas=2")
	f.AwaitSettled(2)
	times := 1
	if long() {
		times = 5
	}
	f.tell("scale", "`kubectl scale` from 2 to 6 Pods and back", everyMethod.Methods, func() []traffic.Fact {
		for _, size := range slices.Repeat([]int{6, 2}, times) {
			f.mark("scale to %d", size)
			f.Kubectl("scale", "envoy/edge", fmt.Sprintf("--replicas=%d", size))
			f.AwaitSettled(size)
		}
		return []traffic.Fact{{Name: "times", Value: fmt.Sprint(times)}}
	})
	f.tell("deleted", "`kubectl delete pod` of one of two", everyMethod.Methods, func() []traffic.Fact {
		victim := f.Pods()[0]
		f.mark("%s is deleted", victim)
		f.Kubectl("delete", "pod", victim, "--wait=false")
		f.AwaitGone(victim)
		f.AwaitSettled(2)
		return nil
	})
}

// The listeners of an Envoy, as a patch.
const (
	oneListener  = `{"spec": {"listeners": [{"name": "http", "port": 80, "service": "web"}]}}`
	withoutFiles = `{"spec": {"listeners": [{"name": "http", "port": 80, "service": "web"},
		{"name": "https", "port": 443, "service": "web", "tls": {"secretNames": ["missing"]}}]}}`
	withRoute = `{"spec": {"listeners": [{"name": "http", "port": 80, "routes": [{"pathPrefix": "/%s", "service": "web"}, {"service": "web"}]}]}}`
)

// followed asks whether Synced says what the Envoys do.
func followed(f *fleetFront) {
	for i := range 3 {
		f.isSynced(i)
	}
}

// isRejected gives the Envoy a listener that no Pod can have, and takes it back.
func (f *fleetFront) isRejected() []traffic.Fact {
	before := f.Pods()
	f.mark("a listener that no Envoy can have")
	began := time.Now()
	f.Patch(withoutFiles)
	c := f.AwaitCondition("Rejected", "True")
	took := time.Since(began)
	if bound := time.Second + lab.Allowance(f.New.Record()); took > bound {
		f.Errorf("Rejected says so after %v, want at most %v", took, bound)
	}
	if !slices.ContainsFunc(before, func(pod string) bool { return strings.Contains(c.Message, pod) }) || !strings.Contains(c.Message, "LDS") || !strings.Contains(c.Message, "port-8443") {
		f.Errorf("Rejected says %q, want the Pod, the kind and the listener", c.Message)
	}
	f.Logf("after %v: %s", took, c.Message)
	pause(2 * time.Second)
	f.mark("it is taken back")
	f.Patch(oneListener)
	f.AwaitSettled(f.size)
	if after := f.Pods(); !slices.Equal(before, after) {
		f.Errorf("got the Pods %v, want still %v", after, before)
	}
	return []traffic.Fact{{Name: "named after", Value: took.Round(time.Millisecond).String()}}
}

// isSynced changes a route while one Envoy hangs. Synced is true when every Envoy has the
// route, and not before.
func (f *fleetFront) isSynced(i int) {
	f.Helper()
	pods := f.Pods()
	late, route := pods[i%len(pods)], fmt.Sprintf("route-%d", i)
	f.Pause(late)
	f.Patch(withRoute, route)
	f.service.Await("the others have acknowledged", func() bool {
		c := f.Condition("Synced")
		return c.Status == "False" && c.Reason == "NotAcknowledged" && strings.HasSuffix(c.Message, ": "+late)
	})
	f.Resume(late)
	f.AwaitCondition("Synced", "True")
	for _, pod := range pods {
		if !strings.Contains(f.ConfigDump(pod), "/"+route) {
			f.Errorf("Synced is true, and Pod %s does not have the route %s", pod, route)
		}
	}
}
