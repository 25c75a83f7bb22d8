package pool

import (
	"net/netip"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
)

// Schedule says when the source is read; see schedule.
type Schedule struct{ s schedule }

// NewSchedule returns the schedule of a source that was never read.
func NewSchedule(interval time.Duration, free bool, random func() float64) *Schedule {
	return &Schedule{schedule{interval: interval, free: free, random: random}}
}

// Took notes an attempt.
func (s *Schedule) Took(r Attempt, now time.Time) { s.s.took(r, now) }

// Next returns when the source is read next.
func (s *Schedule) Next() (at time.Time, scheduled bool) { return s.s.next() }

// Intake is what was not decided on yet; see intake.
type Intake struct{ i intake }

// NewIntake waits so long after a restart.
func NewIntake(wait time.Duration) *Intake { return &Intake{intake{wait: wait}} }

// Accept takes an inventory in.
func (i *Intake) Accept(read *guard.Inventory, now time.Time) { i.i.accept(read, now) }

// Put takes results in.
func (i *Intake) Put(results ...inventory.Result) { i.i.put(results) }

// Deadline returns when the newest inventory is decided on at the latest.
func (i *Intake) Deadline() time.Time { return i.i.deadline() }

// Take returns what to decide on.
func (i *Intake) Take(unchecked bool, now time.Time) (*guard.Inventory, inventory.Health) {
	return i.i.take(func() bool { return unchecked }, now)
}

// Publisher says when a verdict reaches the targets; see publisher.
type Publisher struct {
	p publisher
	// Asking says that other endpoints are being checked after an alarm.
	Asking bool
}

// NewPublisher starts from what is published.
func NewPublisher(grace time.Duration, published *guard.Verdict) *Publisher {
	return &Publisher{p: publisher{grace: grace, published: published}}
}

// Offer takes a verdict in.
func (p *Publisher) Offer(v *guard.Verdict, unchecked func(netip.Addr) bool, now time.Time) *guard.Verdict {
	return p.p.offer(v, unchecked, func([]inventory.Member) bool { return p.Asking }, now)
}

// Deadline returns when what waits is published at the latest.
func (p *Publisher) Deadline() time.Time { return p.p.deadline() }

// Results is a loop that takes in results of checks only.
type Results struct{ l *loop }

// NewResults decided this, from those streaks.
func NewResults(policy guard.Policy, v *guard.Verdict, health inventory.Health) *Results {
	return &Results{&loop{holder: &holder{}, Group: &Group{opts: GroupOptions{Policy: policy}}, verdict: v, intake: intake{health: health}}}
}

// Waits notes an inventory that waits.
func (r *Results) Waits() { r.l.intake.inventory = &guard.Inventory{} }

// Take takes results in and reports whether a pass must be made now.
func (r *Results) Take(now time.Time, results ...inventory.Result) bool {
	return r.l.results(results, now)
}

// Passed notes a pass.
func (r *Results) Passed(began, ended time.Time) { r.l.pace.passed(began, ended, r.l.verdict) }

// Wake returns when a pass is made although nothing happens.
func (r *Results) Wake() time.Time { return r.l.wake() }

// Break has every decision of the group panic while broken says so.
func (g *Group) Break(broken func() bool) {
	g.decide = func(in guard.Input, policy guard.Policy) guard.Verdict {
		if broken() {
			panic("broken")
		}
		return guard.Decide(in, policy)
	}
}

// Box holds what a group has not taken of the source.
type Box struct{ b box }

// NewBox is empty.
func NewBox() *Box { return &Box{make(box, 1)} }

// Inventory puts an inventory of so many nodes in, Error an error.
func (b *Box) Inventory(nodes int) {
	b.b.put(answer{inventory: &guard.Inventory{Nodes: nodes}})
}

// Error puts an error in.
func (b *Box) Error(err error) { b.b.put(answer{reading: Attempt{Err: err}}) }

// Take returns the nodes of the inventory in the box, -1 where there is none, and the
// error of the newest answer.
func (b *Box) Take() (nodes int, err error) {
	select {
	case a := <-b.b:
		if a.inventory == nil {
			return -1, a.reading.Err
		}
		return a.inventory.Nodes, a.reading.Err
	default:
		return -1, nil
	}
}

// Subscribers are how many groups the Reader has answers for.
func (p *Reader) Subscribers() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.boxes)
}

// Follow has the group follow a remote Service.
func (g *Group) Follow(p Placer) { g.opts.Placer = p }
