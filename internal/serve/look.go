package serve

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/narration"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/pool"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/resolve"
)

// look looks at everything once, for a command that ends then. Every pool is read once,
// every group decides once, and nothing waits for a pool that cannot be read: what that
// pool published stays.
type look struct {
	*Server
	Assessment
	// slots has room for the checks that may be in flight.
	slots  chan struct{}
	sights []resolve.Sight
	stores map[string]*opened
	tell   Progress

	mu sync.Mutex
}

// SourceError says that a source could not be read.
type SourceError struct{ Err error }

func (e *SourceError) Error() string { return "read source: " + e.Err.Error() }

// Unwrap returns the source's own error.
func (e *SourceError) Unwrap() error { return e.Err }

// StoreError says that slices could not be loaded or written.
type StoreError struct{ Err error }

func (e *StoreError) Error() string { return "store: " + e.Err.Error() }

// Unwrap returns the store's own error.
func (e *StoreError) Unwrap() error { return e.Err }

// Progress is told what a look is doing: done of all are finished. It may be called from
// any goroutine, and must not block.
type Progress func(what string, done, all int)

// Assess reads the documents, Services, slices and pools once, checks every endpoint as
// often as a decision takes, and decides. It writes nothing. A Server that assesses does
// not run.
func (s *Server) Assess(ctx context.Context, progress Progress) (Assessment, error) {
	return s.look(ctx, progress, func(*look) {})
}

// Once assesses and writes what differs, for each target all of it or as far as it gets.
func (s *Server) Once(ctx context.Context, progress Progress) (Assessment, error) {
	return s.look(ctx, progress, func(l *look) { l.writeAll(ctx) })
}

func (s *Server) look(ctx context.Context, progress Progress, then func(*look)) (Assessment, error) {
	// The hub outlives ctx, so that a write under way can end.
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	var beside sync.WaitGroup
	defer beside.Wait()
	defer stop()
	beside.Go(func() { _ = s.opts.Hub.Run(background) }) // it only ends with its context
	l := &look{Server: s, slots: make(chan struct{}, s.opts.Concurrency), stores: make(map[string]*opened), tell: progress}
	l.At = time.Now()
	l.Pools, l.Groups = make(map[string]*AssessedPool), make(map[resolve.Group]*AssessedGroup)
	in, err := l.see(ctx)
	if err != nil {
		return l.Assessment, err
	}
	l.services = in.Services
	first, memory := resolve.Resolve(in, resolve.Memory{})
	l.read(ctx, first)
	l.decide(ctx, first)
	// Which groups are ready, and so what replaces what, is known now.
	in.Now, in.Health, in.Nodes = time.Now(), l.health, l.nodes()
	// What is decided is written in that order: what leaves last.
	in.Stored = func(key resolve.Key, _ string) (resolve.Count, bool) {
		return resolve.Count{IPv4: math.MaxInt32, IPv6: math.MaxInt32}, true
	}
	l.Plan, _ = resolve.Resolve(in, memory)
	l.Plan.Drained()
	l.Targets = l.filled(ctx, l.Plan)
	l.plan()
	if ctx.Err() == nil {
		then(l)
		if !slices.ContainsFunc(l.Targets, (*AssessedTarget).unwritten) {
			return l.Assessment, nil // an end that comes now stops nothing
		}
	}
	return l.Assessment, ctx.Err()
}

// see waits until every watch has told a list, or why it has none.
func (l *look) see(ctx context.Context) (resolve.Input, error) {
	l.searched.Store(true) // a command tells what it finds
	l.Documents = l.opts.Documents.Set()
	var pools []v1alpha1.EndpointPool
	for _, p := range l.Documents.Pools() {
		pools = append(pools, *p)
	}
	if _, known := l.labels.of(pools); !known {
		l.labels.read(ctx)
	}
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		in, ready := l.input(time.Now())
		l.sights = l.opts.Hub.Local().Sights
		if ready || len(l.sights) == 0 {
			l.unread()
			return in, nil
		}
		if l.Documents.Variables && l.sights[0].Err != nil {
			return in, &StoreError{l.sights[0].Err}
		}
		select {
		case <-ctx.Done():
			return in, &StoreError{ctx.Err()}
		case <-ticker.C:
		}
	}
}

// unread notes what of the local cluster is not known.
func (l *look) unread() {
	if err := l.labels.failed(); err != nil {
		l.Unread = append(l.Unread, fmt.Errorf("the labels of namespaces cannot be read: %w", err))
	}
	for _, sight := range l.sights {
		if sight.Err != nil {
			l.Unread = append(l.Unread, fmt.Errorf("namespace %s cannot be read: %w", sight.Namespace, sight.Err))
		}
	}
}

// each does something to all of a list at the same time, and tells how far it is.
func each[T any](l *look, what string, all []T, do func(T)) {
	var running sync.WaitGroup
	done := 0
	l.tell(what, 0, len(all))
	for _, one := range all {
		running.Go(func() {
			do(one)
			l.mu.Lock()
			defer l.mu.Unlock()
			done++
			l.tell(what, done, len(all))
		})
	}
	running.Wait()
}

// read reads every pool that a target uses.
func (l *look) read(ctx context.Context, p resolve.Plan) {
	used := make(map[string]bool)
	for _, g := range p.Groups() {
		used[g.Pool] = true
	}
	var pools []*v1alpha1.EndpointPool
	for i := range p.Pools {
		if used[p.Pools[i].Name] {
			pools = append(pools, &p.Pools[i])
		}
	}
	each(l, "reading the inventories", pools, func(document *v1alpha1.EndpointPool) {
		read := &AssessedPool{}
		read.LastErr = carefully(func() error { return l.readOne(ctx, document, read) })
		l.mu.Lock()
		defer l.mu.Unlock()
		l.Pools[document.Name] = read
	})
}

func (l *look) readOne(ctx context.Context, document *v1alpha1.EndpointPool, into *AssessedPool) error {
	supply, err := l.opts.Supply(document)
	if err != nil {
		return err
	}
	origin, err := supply.Make()
	if err != nil {
		return err
	}
	reader, err := pool.NewReader(pool.ReaderOptions{
		Source: origin.Source, Rules: supply.Rules, PollInterval: supply.PollInterval, SourceTimeout: supply.Timeout,
	})
	if err != nil {
		return err
	}
	beside, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	if origin.Run != nil {
		running.Go(func() { _ = carefully(func() error { return origin.Run(beside) }) })
	}
	reading := reader.Read(ctx)
	filtered := filter.Apply(reading.Nodes, supply.Rules)
	into.read = guard.Read{
		Nodes: len(reading.Nodes), Candidates: filtered.Candidates, Decisions: filtered.Decisions, Ineligible: filtered.Ineligible, Scheduled: true,
	}
	into.Sourced = pool.Sourced{LastAttempt: reading.At, Nodes: len(reading.Nodes), Decisions: narration.ByName(filtered.Decisions)}
	if origin.Warnings != nil {
		into.Warnings = origin.Warnings()
	}
	if reading.Err == nil {
		into.LastSuccess = reading.At
	}
	return reading.Err
}

// decide decides on the endpoints of every group whose pool was read, beginning from
// what its targets publish.
func (l *look) decide(ctx context.Context, p resolve.Plan) {
	pools := make(map[string]*v1alpha1.EndpointPool, len(p.Pools))
	for i := range p.Pools {
		pools[p.Pools[i].Name] = &p.Pools[i]
	}
	published := make(map[resolve.Group]plan.State)
	for _, t := range l.filled(ctx, p) {
		for _, f := range t.Fills {
			groups := []resolve.Group{f.Use.Group}
			if f.Use.Next != nil {
				groups = append(groups, f.Use.Next.Group)
			}
			for _, g := range groups {
				published[g] = plan.State{Slices: append(published[g].Slices, f.State.Slices...)}
			}
		}
	}
	each(l, "checking the endpoints", p.Groups(), func(g resolve.Group) {
		decided := l.undecided(g)
		decided.Err = carefully(func() error { return l.decideOne(ctx, pools[g.Pool], g, published[g], decided) })
		l.mu.Lock()
		defer l.mu.Unlock()
		l.Groups[g] = decided
	})
}

func (l *look) decideOne(ctx context.Context, document *v1alpha1.EndpointPool, g resolve.Group, published plan.State, into *AssessedGroup) error {
	read := l.Pools[g.Pool]
	switch {
	case read == nil:
		return &SourceError{fmt.Errorf("no document describes pool %s", g.Pool)}
	case read.LastErr != nil:
		return &SourceError{read.LastErr}
	}
	supply, err := l.opts.Supply(document)
	if err != nil {
		return err
	}
	checking, err := l.opts.Checking(document, g.Check)
	if err != nil {
		return err
	}
	once := pool.Look{Prober: checking.Prober, Policy: checking.Policy, Rules: supply.Rules, Slots: l.slots}
	once.Policy.HealthOff = checking.Prober == nil
	verdict, health, err := once.Decide(ctx, plan.Published(published), read.read)
	if err != nil {
		return err
	}
	into.Decided, into.Verdict, into.Health = true, &verdict, health
	into.Findings = sync.OnceValue(func() []narration.Finding {
		return narration.Findings(nil, read.Decisions, verdict, l.At, l.At)
	})
	return nil
}

// health returns what the checks of a group say.
func (l *look) health(g resolve.Group) (resolve.Health, bool) {
	decided := l.Groups[g]
	if decided == nil || !decided.Decided {
		return resolve.Health{}, false
	}
	return healthOf(decided.Verdict), true
}

// nodes is how many nodes each pool has.
func (l *look) nodes() map[string]int {
	nodes := make(map[string]int, len(l.Pools))
	for name, p := range l.Pools {
		nodes[name] = p.Nodes
	}
	return nodes
}
