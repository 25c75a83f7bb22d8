package main

import (
	"context"
	"fmt"
	"time"
)

// How many nodes there are at first, and how many are left after one has left.
const (
	firstNodes = 3
	lastNodes  = fleetSize - 1
)

// The nodes that something happens to.
const (
	victim = 1 // worker-2
	leaver = fleetSize - 1
)

// scene is one thing that happens to real clusters.
type scene struct {
	title, words string
	play         func(*show, context.Context) error
}

// scenes is the story.
func scenes() []scene {
	return []scene{
		{"Nodes join", "The inventory lists three nodes. The daemon reads it, sends each a health check, and publishes those that answer.", (*show).join},
		{"A node dies", "worker-2 is killed. The inventory still lists it.", (*show).die},
		{"It comes back", "worker-2 is started again.", (*show).comeBack},
		{"A node is drained", "The inventory says that worker-5 is about to leave. Its endpoint gets no new connections, keeps the open ones for DRAIN_PERIOD, and is removed.", (*show).drain},
		{"The source breaks", "A broken inventory must never remove a working endpoint.", (*show).breakSource},
		{"The source recovers", "The whole file is back.", (*show).recoverSource},
		{"Every health check fails at once", "All nodes answer 500: more likely a wrong check than a dead cluster. The first endpoints go down; before the last one does, all are published ready again.", (*show).failAll},
		{"The daemon is stopped", "SIGTERM, as at every upgrade. The daemon has to stop in order and leave the slices.", (*show).shutDown},
	}
}

// introduce says what the demo shows.
func (s *show) introduce(settings []setting) {
	s.out.heading("ionos-endpointslice-controller: a demo on this machine alone")
	s.out.next("The daemon keeps the EndpointSlices of a Service in one Kubernetes cluster equal to the healthy nodes of another. This demo needs no cluster: the nodes are small web servers on " +
		fmt.Sprintf("%s to %s, ", s.address(0), s.address(fleetSize-1)) +
		"the inventory of the remote cluster is a JSON file, and the slices for the local cluster are printed. The daemon is the real one, started with only these variables:")
	s.out.say("")
	for _, v := range settings {
		s.out.setting(v)
	}
	s.out.next("Everything else has its default: a health check every 2s, down after 3 failures in a row. Lines that begin with a time are the daemon's own log; the time counts from the last action of the demo. The tables are the slices that the daemon printed.")
}

// play plays the scenes until one fails.
func (s *show) play(ctx context.Context) error {
	all := scenes()
	start := time.Now()
	for i, sc := range all {
		s.out.heading(fmt.Sprintf("Scene %d of %d: %s", i+1, len(all), sc.title))
		s.out.say(sc.words)
		if err := sc.play(s, ctx); err != nil {
			return fmt.Errorf("scene %d (%s): %w\nThe daemon's last log lines:%s", i+1, sc.title, err, s.lastLines())
		}
	}
	s.out.heading(fmt.Sprintf("All %d scenes ended as expected, in %.0f seconds.", len(all), time.Since(start).Seconds()))
	s.out.say("By hand: copy .envrc.example to .envrc, read it with \". ./.envrc\", and run bin/ionos-endpointslice-controller.")
	return nil
}

func (s *show) join(ctx context.Context) error {
	text, err := s.inventory.text()
	if err != nil {
		return err
	}
	s.out.verbatim(text)
	if err := s.await(ctx, "three ready endpoints in the slice", func(w *world) bool {
		return w.allReady(s.addresses(firstNodes))
	}); err != nil {
		return err
	}
	s.out.next("Two more nodes are written to the file.")
	s.begin()
	if err := s.inventory.write(s.nodes(fleetSize)); err != nil {
		return err
	}
	if err := s.await(ctx, "five ready endpoints in the slice", func(w *world) bool {
		return w.allReady(s.addresses(fleetSize))
	}); err != nil {
		return err
	}
	s.table()
	s.out.conclude(fmt.Sprintf("Both were in the slice %s after the file had changed.", s.took()))
	return nil
}

func (s *show) die(ctx context.Context) error {
	s.begin()
	s.fleet.kill(victim)
	if err := s.await(ctx, "worker-2 down in the slice", func(w *world) bool { return w.is(s.address(victim), down) }); err != nil {
		return err
	}
	took := s.took()
	s.table()
	if err := s.check("one write, and the other four ready", func(w *world) bool {
		return w.writes == 1 && w.count(ready) == fleetSize-1
	}); err != nil {
		return err
	}
	s.out.conclude(fmt.Sprintf("Down %s after the kill, with one write; the other endpoints did not change.", took))
	return nil
}

func (s *show) comeBack(ctx context.Context) error {
	s.begin()
	if err := s.fleet.start(ctx, victim); err != nil {
		return err
	}
	if err := s.await(ctx, "worker-2 ready in the slice", func(w *world) bool { return w.allReady(s.addresses(fleetSize)) }); err != nil {
		return err
	}
	s.table()
	s.out.conclude(fmt.Sprintf("Ready %s after the start, when two health checks in a row had passed.", s.took()))
	return nil
}

func (s *show) drain(ctx context.Context) error {
	s.begin()
	nodes := s.nodes(fleetSize)
	nodes[leaver].Leaving = true
	if err := s.inventory.write(nodes); err != nil {
		return err
	}
	address := s.address(leaver)
	if err := s.await(ctx, "worker-5 draining in the slice", func(w *world) bool { return w.is(address, draining) }); err != nil {
		return err
	}
	s.table()
	since := s.world.changes[address].at
	if err := s.await(ctx, "worker-5 out of the slice", func(w *world) bool { return w.allReady(s.addresses(lastNodes)) }); err != nil {
		return err
	}
	drained := s.world.changes[address].at.Sub(since)
	s.table()
	if drained < drainPeriod-drainPeriod/10 {
		return fmt.Errorf("expected: worker-5 draining for DRAIN_PERIOD=%s; it was gone after %s", drainPeriod, seconds(drained))
	}
	s.out.conclude(fmt.Sprintf("The endpoint was draining for %s, so that its connections could end, and was removed.", seconds(drained)))
	return nil
}
