package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// show is the demo under way.
type show struct {
	out       printer
	fleet     *fleet
	inventory inventory
	daemon    *daemon
	world     *world
	// taken counts the daemon's lines that were printed.
	taken int
	// acted is when the newest act was done; the daemon's reactions are timed
	// from there.
	acted time.Time
}

// waitTimeout bounds every wait. It is far longer than any needs, for busy machines.
const waitTimeout = 30 * time.Second

// lull is how long a scene watches that nothing happens: several reads and a
// round of health checks.
const lull = 2500 * time.Millisecond

// begin starts the clock and the counts of an act.
func (s *show) begin() {
	s.world.forget()
	s.acted = time.Now()
}

// await returns when done holds. While it waits it prints what the daemon logs. If
// done does not hold in time, the error names it as what.
func (s *show) await(ctx context.Context, what string, done func(*world) bool) error {
	came, err := s.follow(ctx, waitTimeout, done)
	switch {
	case err != nil:
		return fmt.Errorf("waiting for: %s: %w", what, err)
	case !came:
		return fmt.Errorf("waiting for: %s: not within %s", what, waitTimeout)
	}
	return nil
}

// watch waits for a quiet moment and fails if holds is false at its end.
func (s *show) watch(ctx context.Context, what string, holds func(*world) bool) error {
	if _, err := s.follow(ctx, lull, func(*world) bool { return false }); err != nil {
		return err
	}
	return s.check(what, holds)
}

// check fails if holds is false.
func (s *show) check(what string, holds func(*world) bool) error {
	if !holds(s.world) {
		return fmt.Errorf("expected: %s; this is not the case", what)
	}
	return nil
}

// errEnded says that the daemon is gone when it should not be.
var errEnded = errors.New("the daemon has ended")

// follow prints what the daemon says until done holds or the bound is over.
func (s *show) follow(ctx context.Context, bound time.Duration, done func(*world) bool) (bool, error) {
	timer := time.NewTimer(bound)
	defer timer.Stop()
	for {
		if err := s.take(); err != nil {
			return false, err
		}
		if done(s.world) {
			return true, nil
		}
		select {
		case <-s.daemon.news:
		case <-timer.C:
			return false, nil
		case <-ctx.Done():
			return false, context.Cause(ctx)
		case <-s.daemon.ended:
			if err := s.take(); err != nil {
				return false, err
			}
			return false, fmt.Errorf("%w: %s", errEnded, s.daemon.process.ProcessState)
		}
	}
}

// take prints and learns the daemon's new lines.
func (s *show) take() error {
	for _, l := range s.daemon.since(s.taken) {
		s.taken++
		s.out.event(max(0, l.at.Sub(s.acted)), tell(l.text))
		if err := s.world.learn(l, s.daemon.output); err != nil {
			return err
		}
	}
	return nil
}

// table shows the endpoints.
func (s *show) table() { s.out.table(s.world, s.fleet.members) }

// address returns the address of a node.
func (s *show) address(index int) string { return s.fleet.members[index].address.String() }

// addresses returns those of the first nodes.
func (s *show) addresses(count int) []string {
	var all []string
	for i := range count {
		all = append(all, s.address(i))
	}
	return all
}

// nodes returns the first nodes as the inventory lists them.
func (s *show) nodes(count int) []node {
	var all []node
	for _, m := range s.fleet.members[:count] {
		all = append(all, node{Name: m.name, PrivateIP: m.address.String(), Ready: true, Worker: true})
	}
	return all
}

// lastLines returns the end of the daemon's log as it is.
func (s *show) lastLines() string {
	const most = 15
	lines := s.daemon.since(0)
	text := ""
	for _, l := range lines[max(0, len(lines)-most):] {
		text += "\n  " + l.text
	}
	return text
}

// took returns how long after the act the slice was written.
func (s *show) took() string { return seconds(s.world.wrote.Sub(s.acted)) }
