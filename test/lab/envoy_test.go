//go:build lab

package lab_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/lab"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/traffic"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/wire"
)

// envoys have machines that fall silent, bad networks, and endpoints that only Envoys do
// not reach.
func envoys(t *testing.T, w *lab.World) {
	for name, scene := range map[string]func(*testing.T, *lab.World){
		"Contract97 silent": silentBehindEnvoy, "Contract98 network": badNetworkBehindEnvoy,
		"Contract122 left out": leftOutByEnvoy,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scene(t, w)
		})
	}
}

// crashesBehindEnvoy kills one worker after the other at a high rate, then half of them at
// once.
func crashesBehindEnvoy(t *testing.T, w *lab.World) {
	fleet := w.Fleet(t, nil)
	rate, requests := 500, 10_000
	if long() {
		rate, requests = 2000, 100_000
	}
	f := newFront(t, w, fleet, lab.Options{Workers: 6})
	f.begin(rate)
	for deaths := 0; f.envoy.Record().Len() < requests; deaths++ {
		victim := f.service.Workers()[deaths%6]
		f.die((*lab.Worker).Kill, victim)
		f.revive(victim)
	}
	f.end("crash", "one backend after the other crashes, behind an Envoy that endpoint-views feeds")
	f.halfCrashes()
	newFront(t, w, fleet, lab.Options{Workers: 24}).halfCrashes()
}

// halfCrashes kills half of the workers at once.
func (f *front) halfCrashes() {
	f.Helper()
	f.begin(300)
	all := f.service.Workers()
	half := all[:len(all)/2]
	f.die((*lab.Worker).Kill, half...)
	f.revive(half...)
	f.end(fmt.Sprintf("half of %d", len(all)), "half of the backends crash at once, behind Envoy")
}

// silentBehindEnvoy drops the packets of a worker. Then it takes endpoint-views away while
// a worker crashes.
func silentBehindEnvoy(t *testing.T, w *lab.World) {
	f := newFront(t, w, w.Fleet(t, map[string]string{"XDS_TRY_TIMEOUT": "300ms"}), lab.Options{Workers: 4})
	f.begin(200)
	victim := f.service.Workers()[0]
	f.die(func(w *lab.Worker) time.Time { return w.Silence("both") }, victim)
	f.revive(victim)
	f.end("silent", "a machine falls silent behind Envoy, with XDS_TRY_TIMEOUT=300ms")
	f.withoutServer()
}

// withoutServer takes endpoint-views away while a worker crashes. Envoy follows again when
// it is back.
func (f *front) withoutServer() {
	f.Helper()
	away := 15 * time.Second
	if long() {
		away = time.Minute
	}
	f.begin(200)
	f.mark("endpoint-views is away")
	back := time.After(away)
	f.fleet.Server.Kill()
	victim := f.service.Workers()[0]
	f.die((*lab.Worker).Kill, victim)
	<-back
	f.fleet.Server.Start()
	f.mark("endpoint-views is back")
	f.revive(victim)
	spare := f.service.AddWorker()
	spare.Say(answering)
	f.service.Join(spare)
	f.envoy.AwaitAnswers(spare)
	f.end("without endpoint-views", fmt.Sprintf("endpoint-views is away for %v, and a backend crashes meanwhile", away))
}

// badNetworkBehindEnvoy has connections that are closed, and packets that are lost.
func badNetworkBehindEnvoy(t *testing.T, w *lab.World) {
	fleet := w.Fleet(t, nil)
	idleBehindEnvoy(t, w, fleet)
	packetsLostBehindEnvoy(t, w, fleet)
}

// idleBehindEnvoy has backends that close idle connections after 5 s, as many servers do,
// and requests that come every 5 s. Envoy closes connections before that.
func idleBehindEnvoy(t *testing.T, w *lab.World, fleet *lab.Fleet) {
	const bursts, size = 3, 100
	service := w.Target(t, lab.Options{})
	for _, worker := range service.Workers() {
		worker.Say("keep 5s")
	}
	x := fleet.Before(service)
	x.Requests = everyMethod
	x.Requests.Burst = size
	x.Begin(size / 5)
	x.AwaitRequests(bursts * size)
	x.End()
	x.WantNoneLost()
	own, backends := fleet.Count(x, "upstream_cx_idle_timeout"), fleet.Count(x, "upstream_cx_destroy_remote")
	if backends > 0 && lab.Allowance(x.Record()) == 0 || own == 0 {
		t.Errorf("Envoy closed %d idle connections, and the backends %d: want none of these, because a request may be on its way", own, backends)
	}
	x.Report("envoy/idle", "backends close connections that are idle for 5 s, and requests come every 5 s",
		traffic.Fact{Name: "idle connections that Envoy closed", Value: fmt.Sprint(own)}, byMethod(x.Record()))
}

// packetsLostBehindEnvoy has half of the workers on wires that lose packets. That costs
// fewer requests than without Envoy, and no worker is left out for good.
func packetsLostBehindEnvoy(t *testing.T, w *lab.World, fleet *lab.Fleet) {
	// A tenth of the checks fails, too.
	f := newFront(t, w, fleet, lab.Options{Env: map[string]string{"HEALTH_CHECK_FALL": "4"}})
	var wired []*lab.Worker
	var wires []*wire.Wire
	for seed := range uint64(3) {
		worker, cable := f.service.AddWorkerOnWire(seed)
		wired, wires = append(wired, worker), append(wires, cable)
	}
	f.service.Join(wired...)
	f.service.AwaitAllReady()
	f.begin(100)
	f.mark("three of six cables lose one packet in twenty")
	for _, cable := range wires {
		cable.Both(wire.Condition{Loss: 0.05})
	}
	pause(10 * time.Second)
	for _, cable := range wires {
		cable.Mend()
	}
	f.mark("they are well again")
	f.awaitUsed(f.service.Workers()...)
	lost, beside := len(f.envoy.Record().Lost()), len(f.service.Record().Lost())
	if 2*lost >= beside {
		t.Errorf("%d requests are lost through Envoy, and %d through kube-proxy alone, want less than half", lost, beside)
	}
	for _, x := range f.both() {
		x.End()
	}
	f.report("packet loss", "half of the cables lose five packets of a hundred, in both directions")
}
