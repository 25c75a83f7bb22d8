package pool

import (
	"context"
	"fmt"
	"net/netip"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/peers"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

// GroupOptions are what a Group is made of.
type GroupOptions struct {
	// Reader is the pool's.
	Reader *Reader
	// Hub makes the checks, with the pool's Share of the slots. Both are for
	// Policy.HealthOff empty.
	Hub   *health.Hub
	Share health.Share
	// Prober makes one check, which Key names: groups with the same Key share the
	// checks of an address. With no Key they share none.
	Prober Prober
	Key    any
	Policy guard.Policy
	// HealthTimeout is HEALTH_CHECK_TIMEOUT. The interval is in Policy.
	HealthTimeout time.Duration
	// HoldHub holds an idle connection to HoldPort of each endpoint; there is none
	// where HoldPort is 0.
	HoldHub  *health.Connections
	HoldPort uint16
	// Port is the port that is checked, 0 where none is.
	Port uint16
	// Placer follows the remote Service, to which that port of the nodes leads; nil where none
	// is followed.
	Placer Placer
	// Asker asks other replicas about endpoints that this one does not reach; nil where there
	// are none.
	Asker *peers.Asker
	// Past is what is known of endpoints that are published at first.
	Past map[netip.Addr]guard.Past
	// Publish gets each verdict, and Observe, which may be nil, the outcome of each
	// event after its verdict was published. They must not block.
	Publish func(*guard.Verdict)
	Observe func(Outcome)
}

// Group decides about the endpoints of one pool by one health check, for any
// number of targets. Groups of a pool may begin and end while it is read.
type Group struct {
	opts GroupOptions
	beat transport.Beat
	// decide is guard.Decide.
	decide func(guard.Input, guard.Policy) guard.Verdict
}

// NewGroup neither reads nor checks anything yet.
func NewGroup(opts GroupOptions) *Group {
	if opts.Observe == nil {
		opts.Observe = func(Outcome) {}
	}
	return &Group{opts: opts, decide: guard.Decide}
}

// Run checks and decides until ctx ends, and returns when everything it started has
// stopped. members are what is published, the best state of each endpoint in any of
// the targets: a start changes none of them (contract 28).
//
// Where the check of a target changes, a group with the new one starts from what the
// target publishes, and takes over when guard.Verdict.MayReplace says so. Until then
// the old one stays.
func (g *Group) Run(ctx context.Context, members []inventory.Member) error {
	l, err := g.begin(members)
	if err != nil {
		return err
	}
	defer l.end()
	l.serve(ctx)
	return nil
}

// begin makes the loop, which gets every answer of the source from now on.
func (g *Group) begin(members []inventory.Member) (l *loop, err error) {
	l = &loop{Group: g, box: g.opts.Reader.subscribe()}
	defer func() {
		if cause := recover(); cause != nil {
			l.end()
			l, err = nil, fmt.Errorf("pool: the first decision panicked: %v", cause)
		}
	}()
	l.checks = g.opts.newChecks()
	l.holder, l.desk = g.opts.newHolder(l.checks), g.opts.newDesk()
	l.start(members)
	return l, nil
}

// newChecks joins the hub of the checks, nil where they are off.
func (o GroupOptions) newChecks() *health.Loop {
	if o.Policy.HealthOff {
		return nil
	}
	return o.Hub.Loop(o.Share, health.LoopOptions{
		Check: o.Prober.Check, Key: o.Key, Interval: o.Policy.Interval, FastInterval: o.fastInterval(), Gather: gather, Overlap: o.HealthTimeout / 2,
	})
}

// newDesk is where the loop asks other replicas, nil where none can answer.
func (o GroupOptions) newDesk() *peers.Desk {
	if o.Asker == nil || o.Policy.HealthOff || o.Port == 0 {
		return nil
	}
	return o.Asker.Join(o.Port, o.HealthTimeout)
}

// end takes the loop off what it got its input from.
func (l *loop) end() {
	l.opts.Reader.unsubscribe(l.box)
	l.desk.Close()
	l.holder.close()
	l.checks.Close()
}

// serve runs the loop.
func (l *loop) serve(ctx context.Context) {
	defer l.Group.beat.Ended()
	l.watch()
	for {
		l.Group.beat.Came()
		e, ok := l.wait(ctx)
		if !ok {
			return
		}
		l.handle(e)
	}
}

// Age returns how long ago the loop came round last, 0 where it does not run.
func (g *Group) Age() time.Duration { return g.beat.Age() }

// fastInterval is how often an address whose state is in question is checked.
func (o GroupOptions) fastInterval() time.Duration {
	return max(o.Policy.Interval/10, 100*time.Millisecond)
}

// grace is how long a verdict waits for the first check of a new address.
func (o GroupOptions) grace() time.Duration { return min(o.fastInterval(), time.Second) }
