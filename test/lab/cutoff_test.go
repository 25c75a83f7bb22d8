//go:build lab

package lab_test

import (
	"testing"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/lab"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/traffic"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/wire"
)

// badNetworks let backends and the ways to them go wrong in every way that the
// daemon can see, and in some that must not mislead it.
func badNetworks(*testing.T) []trouble {
	http := lab.Options{Env: map[string]string{"HEALTH_CHECK_MODE": "http"}}
	return []trouble{
		{name: "refusing", text: "a backend closes its port and lives on", story: goesBad("refuse", refusedBound)},
		{name: "answers 503", text: "a backend answers 503, with HEALTH_CHECK_MODE=http", options: http, story: goesBad("status 503", refusedBound)},
		{name: "hung", text: "a backend accepts and never answers, with HEALTH_CHECK_MODE=http", options: http, story: goesBad("hang", silentBound)},
		{name: "slow", text: "a backend needs 1.5 s for an answer, with HEALTH_CHECK_MODE=http", options: http, story: goesBad("slow 1500ms", silentBound)},
		{name: "a little slow", text: "every backend needs 300 ms for an answer", options: http, story: aLittleSlow},
		{name: "nothing comes in", text: "a worker sends and receives nothing", story: fallsSilent("in")},
		{name: "nothing goes out", text: "a worker receives and what it sends is lost", story: fallsSilent("out")},
		{name: "prober cut off", text: "the daemon alone reaches no worker for 15 s; a backend ends when it is over", story: cutOff},
		{name: "latency", text: "each packet from and to two of five workers takes 40 to 80 ms", story: onWires(wire.Condition{Latency: 40 * time.Millisecond, Jitter: 40 * time.Millisecond})},
		{name: "MTU hole", text: "packets of more than 1000 bytes from and to two of five workers vanish; requests are smaller", story: onWires(wire.Condition{MaxPacket: 1000})},
		{name: "kubelet silent", text: "machines go off one after the other, and their kubelets with them; what the remote API server says of it, and when",
			options: lab.Options{Workers: 8}, story: kubeletsFallSilent},
		{name: "packet loss", text: "a wire loses three packets of a hundred, in both directions", story: packetLoss(3)},
		{name: "one-way loss", text: "what a worker sends is lost on the wire", story: oneWayLoss},
	}
}

// goesBad makes the victim misbehave, and makes it well again once it is out.
func goesBad(mode string, bound time.Duration) func(*tale) {
	return func(s *tale) {
		s.Mark("%s", mode)
		bad := s.excuse(time.Now())
		s.victim().Say(mode)
		s.leaves(bad, bound)
		s.Mark("ok")
		s.victim().Say("ok")
		s.AwaitAllReady()
		s.AwaitAnswers(s.victim())
	}
}

// aLittleSlow is no fault.
func aLittleSlow(s *tale) {
	for _, w := range s.Workers() {
		w.Say("slow 300ms")
	}
	pause(10 * time.Second)
	s.wantNoWrites()
}

// fallsSilent drops the packets of the victim in one direction.
func fallsSilent(direction string) func(*tale) {
	return func(s *tale) {
		s.leaves(s.silences(s.victim(), direction), silentBound)
		s.Mark("heard again")
		s.victim().Hear()
		s.AwaitAllReady()
		s.AwaitAnswers(s.victim())
	}
}

// cutOff leaves the clients their way to the workers (contract 14).
func cutOff(s *tale) {
	s.Mark("the prober is cut off")
	s.CutProber()
	pause(15 * time.Second)
	s.Mark("the prober is back")
	s.MendProber()
	pause(5 * time.Second)
	s.wantNoWrites()
	s.dies(refusedBound)
}

// wantNoWrites fails the test if a slice was written since the first one. It
// asks the API server what it has seen.
func (s *tale) wantNoWrites() {
	s.Helper()
	if writes, _ := s.APIRequests(); writes != s.writesAtStart {
		s.Errorf("%d writes of slices, want none since the start, when there were %d", writes, s.writesAtStart)
	}
}

// wired adds two workers behind wires to the three with good cables.
func (s *tale) wired() (workers []*lab.Worker, wires []*wire.Wire) {
	s.Helper()
	for seed := range uint64(2) {
		worker, cable := s.AddWorkerOnWire(seed)
		workers, wires = append(workers, worker), append(wires, cable)
	}
	s.Join(workers...)
	for _, worker := range workers {
		s.AwaitState(worker, "ready")
	}
	s.AwaitAnswers(workers...)
	s.writesAtStart, _ = s.APIRequests()
	return workers, wires
}

// onWires spoils two of five cables in a way that costs no request. It must not
// mislead the daemon either.
func onWires(c wire.Condition) func(*tale) {
	return func(s *tale) {
		workers, wires := s.wired()
		s.Mark("two cables go bad")
		for _, cable := range wires {
			cable.Both(c)
		}
		pause(10 * time.Second)
		for _, worker := range workers {
			if state := s.States()[worker.Address]; state != "ready" {
				s.Errorf("%s is %q, want ready", worker.Name, state)
			}
		}
		s.AwaitAnswers(workers...)
	}
}

// packetLoss costs only the requests whose packets are lost: a packet takes a second
// to be sent again. A backend that mostly answers stays.
func packetLoss(percent int) func(*tale) {
	return func(s *tale) { s.losePackets(percent) }
}

func (s *tale) losePackets(percent int) {
	s.Helper()
	workers, wires := s.wired()
	bad := wires[:1]
	if s.beside != nil {
		_, others := s.beside.wired()
		bad = append(bad, others[0])
	}
	from := s.Mark("a cable loses packets")
	for _, cable := range bad {
		cable.Both(wire.Condition{Loss: float64(percent) / 100})
	}
	pause(10 * time.Second)
	for _, cable := range bad {
		cable.Mend()
	}
	s.excuses = append(s.excuses, excuse{from.Add(-traffic.Timeout), time.Now()})
	if state := s.States()[workers[0].Address]; state != "ready" {
		s.Errorf("%s is %q, want ready", workers[0].Name, state)
	}
	// A fifth of the requests goes that way, with some seven packets each.
	answered, lost := 0, 0
	for _, r := range s.Record().Results() {
		if r.Start.After(from) {
			answered++
		}
		if r.Start.After(from) && r.Lost() {
			lost++
		}
	}
	if most := answered / 5 * percent / 12; lost > most {
		s.Errorf("%d of %d requests are lost, want at most %d", lost, answered, most)
	}
}

// oneWayLoss cuts one direction of a wire.
func oneWayLoss(s *tale) {
	workers, wires := s.wired()
	bad := s.excuse(s.Mark("a cable loses all answers"))
	wires[0].Back(wire.Condition{Cut: true})
	s.AwaitState(workers[0], "down")
	pause(shared + quietTime)
	last, _ := s.Record().LastLost(bad)
	if bound := silentBound + shared + lab.Allowance(s.Record()); last > bound {
		s.Errorf("last lost request %v after, want at most %v", last, bound)
	}
	wires[0].Mend()
	s.AwaitState(workers[0], "ready")
	s.AwaitAnswers(workers[0])
	s.excuses[0].to = bad.Add(silentBound + shared + lab.Allowance(s.Record()))
}
