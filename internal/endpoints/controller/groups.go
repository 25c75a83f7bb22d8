package controller

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/peers"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
)

// groups are which endpoints are checked how.
type groups struct {
	server  *Server
	running map[assign.Group]*group
	// awaits is since when one that is to begin waits for the slices of its targets to be read.
	awaits map[assign.Group]time.Time
	// begun is how many have begun.
	begun  int
	oldest atomic.Pointer[[]*pool.Group]
}

// group is one that runs.
type group struct {
	// number says how many had begun when it did.
	number int
	// members are what it began with. Those without which it began are the targets whose slices could
	// not be read then, and those that came later with what it does not know.
	members []inventory.Member
	without []assign.Key
	// took is when a group for the same last began anew to take such targets in.
	took    time.Time
	reader  *pool.Reader
	health  v1alpha1.PoolHealthCheck
	guard   v1alpha1.PoolGuard
	group   *pool.Group
	verdict atomic.Pointer[guard.Verdict]
	// seen is what its last event came to, nil before the first.
	seen atomic.Pointer[GroupState]
	// failed says that it does not run any more, and has to be made anew.
	failed atomic.Bool
	// checking is how it checks.
	checking GroupCheck

	// free says that its verdicts reach the Services.
	free atomic.Bool

	mu   sync.Mutex
	over bool
	stop context.CancelFunc
}

// silence makes it publish nothing any more.
func (g *group) silence() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.over = true
}

// end stops the group. Nothing that it decided is published afterwards.
func (g *group) end() {
	g.silence()
	g.stop()
}

// same reports whether the group reads and judges as the document says.
func (g *group) same(p *poolReader) bool {
	return !g.failed.Load() && g.reader == p.reader && reflect.DeepEqual(g.health, p.document.Spec.HealthCheck) && reflect.DeepEqual(g.guard, p.document.Spec.Guard)
}

// name is the one under which the verdicts of a group are published.
func name(g assign.Group) string { return fmt.Sprintf("%s %v %s", g.Pool, g.Check, g.Remote) }

// run starts and ends groups. One that begins waits until there is room for its checks.
func (g *groups) run(ctx context.Context, in assign.Input, plan assign.Plan) {
	wanted := make(map[assign.Group]bool)
	for _, key := range g.admitted(in, plan) {
		wanted[key] = true
		if p := g.server.pools.running[key.Pool]; p != nil { // else it cannot be read: what it decided stays
			g.renew(ctx, plan, key, p)
		}
	}
	g.tidy(wanted)
}

// renew starts a group, and begins it anew where its documents say something else, or where
// slices can be read that it does not know: at most every 30 s, because it then forgets how often
// checks failed. A group starts from what is published, when its targets know that, or from what it
// decided before: a start changes nothing.
func (g *groups) renew(ctx context.Context, plan assign.Plan, key assign.Group, p *poolReader) {
	before := g.running[key]
	late := before != nil && time.Since(before.took) >= seldom && g.server.targets.late(before.without)
	if before != nil && before.same(p) && !late {
		if trouble := before.checking.Trouble; trouble != nil {
			g.server.teller.group(key, trouble())
		}
		return
	}
	again := before != nil && !late && before.verdict.Load() != nil
	g.awaits[key] = cmp.Or(g.awaits[key], time.Now())
	from, known := g.server.targets.beginning(plan, key, time.Since(g.awaits[key]) < patient)
	if !known && !again {
		return
	}
	checking, err := g.checking(key, p)
	g.server.teller.group(key, err)
	if err != nil {
		return
	}
	delete(g.awaits, key)
	switch {
	case before == nil:
	case again:
		before.silence()
		decided := before.verdict.Load()
		from = beginning{members: decided.Members, past: decided.Past(), without: before.without}
	default: // until the next verdict all stays as it is
		before.silence()
		g.server.set.Publish(name(key), nil)
	}
	now := g.begin(ctx, key, p, checking, from)
	if before != nil {
		before.stop()
		now.seen.CompareAndSwap(nil, before.seen.Load())
		now.took = before.took
	}
	if late {
		now.took = time.Now()
	}
	g.begun++
	now.number, now.members, now.without = g.begun, from.members, from.without
	g.running[key] = now
}

// tidy ends groups that are not wanted any more.
func (g *groups) tidy(wanted map[assign.Group]bool) {
	maps.DeleteFunc(g.awaits, func(key assign.Group, _ time.Time) bool { return !wanted[key] })
	all := make([]*pool.Group, 0, len(g.running))
	for key, running := range g.running {
		if wanted[key] {
			all = append(all, running.group)
			continue
		}
		running.end()
		g.server.set.Publish(name(key), nil)
		delete(g.running, key)
	}
	g.oldest.Store(&all)
}

// checking says how a group checks. Groups with the same Key share checks: the prober of the first
// makes them, so it knows what is wrong with them.
func (g *groups) checking(key assign.Group, p *poolReader) (GroupCheck, error) {
	now, err := g.server.opts.Checking(&p.document, key.Check)
	for _, other := range g.running {
		if other.checking.Key == now.Key && !other.failed.Load() {
			now.Prober, now.Trouble = other.checking.Prober, other.checking.Trouble
		}
	}
	return now, err
}

func (g *groups) begin(ctx context.Context, key assign.Group, p *poolReader, checking GroupCheck, from beginning) *group {
	s := g.server
	if s.opts.Asker != nil {
		checking.Policy.AnswerWait = peers.AnswerWait
	}
	now := &group{reader: p.reader, health: p.document.Spec.HealthCheck, guard: p.document.Spec.Guard, checking: checking}
	options := pool.GroupOptions{
		Reader: p.reader, Prober: checking.Prober, Policy: checking.Policy, HealthTimeout: checking.Timeout,
		HoldHub: s.holds, HoldPort: checking.HoldPort, Port: key.Check.Port, Asker: s.opts.Asker, Past: from.past,
		Publish: func(v *guard.Verdict) { now.publish(s, key, v) }, Observe: s.teller.ofGroup(key, now),
	}
	if checking.Prober != nil {
		options.Hub, options.Share, options.Key = s.probes, p.share, checking.Key
	}
	follow := func(context.Context) {}
	if key.Remote != (inventory.RemoteService{}) {
		placer := newPlacer(p.source, key.Remote)
		options.Placer, follow = placer, placer.run
	}
	now.group = pool.NewGroup(options)
	ctx, cancel := context.WithCancel(ctx)
	now.stop = cancel
	s.parts.Go(func() { follow(ctx) })
	s.parts.Go(func() {
		if err := now.group.Run(ctx, from.members); err != nil {
			s.teller.group(key, err)
			now.failed.Store(true)
		}
	})
	return now
}

// publish gives the targets a verdict, unless another group may have taken the place of this
// one, and asks for a pass where it becomes ready to take over, or is so no more.
func (g *group) publish(s *Server, key assign.Group, v *guard.Verdict) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.over {
		return
	}
	before := g.verdict.Swap(v)
	if s.once == nil || g.free.Load() {
		s.set.Publish(name(key), v)
	}
	if before == nil || s.handsOver.Load() && !sameHealth(before, v) {
		s.signal()
	}
}

// release lets the verdicts of a single run reach the Services, where all that it needs was read.
func (g *group) release(s *Server, key assign.Group) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if seen := g.now(); seen.Settled && seen.readErr() == nil && !g.free.Swap(true) {
		s.set.Publish(name(key), g.verdict.Load())
	}
}

// health returns what the checks of a group say, and false where it has decided nothing.
func (g *groups) health(key assign.Group) (assign.Health, bool) {
	running := g.running[key]
	if running == nil || running.verdict.Load() == nil {
		return assign.Health{}, false
	}
	is := healthOf(running.verdict.Load())
	// Where a remote Service is followed, nothing is known before it was read.
	is.Checked = is.Checked && (key.Remote == (inventory.RemoteService{}) || running.now().Placed.Newest != nil)
	return is, true
}

func healthOf(v *guard.Verdict) assign.Health {
	// Where nothing was decided of any address, the pool was not read yet, or its inventory is empty.
	return assign.Health{Checked: v.Checked() && len(v.Decisions) > 0, Passing: v.Passing(), Serving: v.Serving()}
}

// sameHealth reports whether two verdicts say the same to a hand-over.
func sameHealth(a, b *guard.Verdict) bool {
	is, was := healthOf(a), healthOf(b)
	same := func(a, b iter.Seq[netip.Addr]) bool { return slices.Equal(slices.Collect(a), slices.Collect(b)) }
	return is.Checked == was.Checked && same(is.Passing, was.Passing) && same(is.Serving, was.Serving)
}

// placed is how many nodes of a group have a Pod of the remote Service that it follows, and false
// where that is not known, or makes no difference.
func (g *groups) placed(key assign.Group) (int, bool) {
	running := g.running[key]
	if running == nil {
		return 0, false
	}
	placed := running.now().Placed
	if placed.Newest == nil || placed.EveryNode {
		return 0, false
	}
	return len(placed.Newest.Ready) + len(placed.Newest.Ending), true
}

// age returns how long ago the slowest group came round last.
func (g *groups) age() time.Duration {
	var age time.Duration
	if all := g.oldest.Load(); all != nil {
		for _, one := range *all {
			age = max(age, one.Age())
		}
	}
	return age
}
