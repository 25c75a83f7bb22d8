package controller

import (
	"cmp"
	"context"
	"errors"
	"math"
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/pool"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// pools are which inventories are read: those of the pools that a target uses.
type pools struct {
	server  *Server
	running map[string]*poolReader
}

// poolReader is one pool that is read.
type poolReader struct {
	document v1alpha1.EndpointPool
	reader   *pool.Reader
	source   *source
	share    health.Share
	size     atomic.Int64
	stop     context.CancelFunc
}

// run starts and ends readers.
func (p *pools) run(ctx context.Context, plan assign.Plan) {
	used := make(map[string]bool)
	for _, g := range plan.Groups() {
		used[g.Pool] = true
	}
	for i := range plan.Pools {
		if used[plan.Pools[i].Name] {
			p.read(ctx, &plan.Pools[i])
		}
	}
	for name, r := range p.running {
		if !used[name] {
			r.stop()
			delete(p.running, name)
		}
	}
}

// ahead begins to read the pool of variables while the slices are read.
func (p *pools) ahead(ctx context.Context, in assign.Input) {
	for i := range in.Pools {
		if in.Variables && p.server.once == nil {
			p.read(ctx, &in.Pools[i])
		}
	}
}

// read starts the reader of a pool. A pool whose document is another one is read anew: its
// groups then start from what they decided.
func (p *pools) read(ctx context.Context, document *v1alpha1.EndpointPool) {
	before := p.running[document.Name]
	if before != nil && sameReading(&before.document, document) {
		before.document = *document
		return
	}
	now, err := p.begin(ctx, document)
	p.server.teller.pool(document.Name, err)
	if err != nil {
		return // what was read before stays
	}
	if before != nil {
		now.size.Store(before.size.Load())
		before.stop()
	}
	p.running[document.Name] = now
}

// sameReading reports whether two documents ask for the same inventory. One in the API
// server, which has a UID, may not run what one in a file may.
func sameReading(a, b *v1alpha1.EndpointPool) bool {
	return (a.UID == "") == (b.UID == "") && reflect.DeepEqual(a.Spec.Source, b.Spec.Source) && a.Spec.Credentials == b.Spec.Credentials &&
		reflect.DeepEqual(a.Spec.Subnets, b.Spec.Subnets) && reflect.DeepEqual(a.Spec.PollInterval, b.Spec.PollInterval)
}

func (p *pools) begin(ctx context.Context, document *v1alpha1.EndpointPool) (*poolReader, error) {
	supply, err := p.server.opts.Supply(document)
	if err != nil {
		return nil, err
	}
	name := document.Name
	r := &poolReader{document: *document, share: p.server.probes.Share(1)}
	source := newSource(supply, func(nodes int) { r.size.Store(int64(nodes)) })
	r.source = source
	r.reader = pool.NewReader(pool.ReaderOptions{
		Source: source, Changed: source.changed, FreeReads: supply.Free, Rules: supply.Rules, PollInterval: supply.PollInterval, SourceTimeout: supply.Timeout, Random: p.server.opts.Random,
		Observe: func(r pool.Attempt) { p.server.opts.Observe.Read(name, r) },
	})
	ctx, cancel := context.WithCancel(ctx)
	r.stop = cancel
	p.server.parts.Go(func() { source.run(ctx) })
	read := r.reader.Run
	if p.server.once != nil {
		read = r.reader.Once
	}
	p.server.parts.Go(func() { read(ctx) })
	return r, nil
}

// nodes is how many nodes each pool has.
func (p *pools) nodes() map[string]int {
	nodes := make(map[string]int, len(p.running))
	for name, r := range p.running {
		nodes[name] = int(r.size.Load())
	}
	return nodes
}

// errQueued is what is told of a group that waits for others.
var errQueued = errors.New("waits for other hand-overs, because all checks together are more than the controller makes: the old endpoints stay published and checked; this hand-over goes on when another one has ended")

// admitted returns the groups of a plan that may run, and tells which wait. What is in use is
// checked in any case. The rest, which is to take the place of that, is checked as long as all
// together is no more than the hub checks: what began first, then in the order of their names.
// How much that is may become known when they run.
func (g *groups) admitted(in assign.Input, of assign.Plan) []assign.Group {
	keys, total := of.Groups(), 0
	for _, key := range keys {
		total += in.Checks(key)
	}
	if total <= g.server.opts.MaxChecks {
		return keys // so it is nearly always
	}
	held := g.server.targets.held(of)
	order := func(key assign.Group) int {
		switch running := g.running[key]; {
		case held[key]:
			return 0
		case running != nil:
			return running.number
		}
		return math.MaxInt
	}
	slices.SortStableFunc(keys, func(a, b assign.Group) int { return cmp.Compare(order(a), order(b)) })
	total = 0
	return slices.DeleteFunc(keys, func(key assign.Group) bool {
		n := in.Checks(key)
		if !held[key] && total+n > g.server.opts.MaxChecks {
			g.server.teller.group(key, errQueued)
			return true
		}
		total += n
		return false
	})
}

// held returns the groups that are checked in any case: all but those that are to take over
// and have nothing in use yet.
func (t *targets) held(of assign.Plan) map[assign.Group]bool {
	held := make(map[assign.Group]bool)
	for _, each := range of.Targets {
		handsOver := slices.ContainsFunc(each.Uses, func(u assign.PoolUse) bool { return u.State == assign.Leaving && u.Until.IsZero() })
		for i := range each.Uses {
			u := &each.Uses[i]
			held[u.Group] = held[u.Group] || !handsOver || t.inUse(each.Key, u.SliceName(each.Key))
		}
	}
	return held
}

// inUse reports whether clients may use endpoints of slices of that first name. A group does not
// begin before these were read.
func (t *targets) inUse(key assign.Key, slice string) bool {
	state, _ := t.state(key, slice)
	if state == nil {
		f := t.running[key]
		return f != nil && f.unreadable() != nil
	}
	return slices.ContainsFunc(publish.Published(*state), func(m inventory.Member) bool { return m.State != inventory.StateDown })
}
