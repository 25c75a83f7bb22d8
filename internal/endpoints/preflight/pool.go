package preflight

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings/spelling"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/wire"
)

// pool is a pool and what its source showed.
type pool struct {
	document   *v1alpha1.EndpointPool
	origin     Origin
	nodes      []inventory.Node
	candidates []inventory.Candidate
	// skipped is why it was not looked at; empty where it was.
	skipped                string
	source, remote, listed []Check
}

// look reads the source once, and asks the API server of the nodes for the rights of the
// source. A pool that may serve nothing in the namespace that is looked at is left alone.
func (l *look) look(ctx context.Context, p *pool) {
	if !l.Asks(Source) {
		return
	}
	if l.Namespace != "" && !l.Documents.Variables && !mayServe(p.document, l.Namespace) {
		p.skipped = "not looked at: it allows no use in namespace " + l.Namespace
		return
	}
	var err error
	if p.origin, err = l.Source(p.document); err != nil {
		p.source = []Check{SourceRead.fail("source", "%v", err)}
	} else {
		together(
			func() { err = l.read(ctx, p) },
			func() { p.remote = l.askRemote(ctx, p.origin.Remote) },
		)
	}
	if err != nil {
		p.listed = []Check{NodesUsable.skip("usable nodes", "the source could not be read")}
		return
	}
	filtered := filter.Apply(p.nodes, p.origin.Rules)
	p.candidates = filtered.Candidates
	p.listed = JudgeNodes(len(p.nodes), slices.SortedStableFunc(slices.Values(filtered.Decisions), inventory.CompareDecisions))
}

// mayServe reports whether a pool may serve Services of a namespace, whose labels count as
// any.
func mayServe(document *v1alpha1.EndpointPool, namespace string) bool {
	return slices.ContainsFunc(document.Spec.Allow, func(a v1alpha1.PoolAllowance) bool {
		return a.NamespaceSelector != nil || slices.Contains(a.Namespaces, namespace)
	})
}

func (l *look) read(ctx context.Context, p *pool) error {
	timeout := l.Config.Source.Timeout
	defer l.slow("reading the source, for " + timeout.String() + " at most")()
	bound, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	start := time.Now()
	nodes, err := p.origin.Read(bound)
	p.nodes = nodes
	p.source = []Check{judgeRead(len(nodes), time.Since(start), timeout, err)}
	if p.origin.Cloud != nil {
		facts := p.origin.Cloud()
		for _, secret := range p.origin.Secrets {
			if facts.Expires.IsZero() { // it was not used
				_, facts.Expires = wire.TokenValidity(secret)
			}
		}
		p.source = append(p.source, JudgeCloud(facts, time.Now())...)
	}
	return err
}

// ofPool is what was found of a pool, with settings as its reader names them.
func (l *look) ofPool(p *pool) []Check {
	name := "pool " + p.document.Name
	if p.skipped != "" {
		return []Check{SourceRead.skip(name, "%s", p.skipped)}
	}
	var names spelling.Names
	if !l.Documents.Variables {
		names = spelling.Names{Spelling: spelling.Fields, Pool: p.document.Name, CheckBy: spelling.Pool}
	}
	all := slices.Concat(OddPool(p.document), p.source, p.remote, p.listed)
	return about(name, len(l.pools) > 1, spelled(names, all))
}

// spelled names settings as the reader of the checks does.
func spelled(names spelling.Names, checks []Check) []Check {
	for i := range checks {
		c := &checks[i]
		c.Subject, c.Message, c.Remedy = names.Of(c.Subject), names.Of(c.Message), names.Of(c.Remedy)
	}
	return checks
}

// probe checks each candidate of each group once, as many at a time as the daemon would.
func (l *look) probe(ctx context.Context) []Check {
	if !l.looksAt(Probes) {
		return nil
	}
	free := make(chan struct{}, wire.SocketShare(l.Config.Health.Concurrency))
	names := l.plan.GroupNames()
	var all []Check
	for _, p := range l.pools {
		groups := l.groups(p.document.Name)
		if len(groups) == 0 && p.skipped == "" {
			all = append(all, ProbesAddress.skip("pool "+p.document.Name, "no Service that is looked at uses it, so no endpoint of it is checked"))
		}
		for _, g := range groups {
			checks := spelled(names[g], l.probeGroup(ctx, p, g, free))
			checks = about(fmt.Sprintf("port %d", g.Check.Port), len(groups) > 1, checks)
			all = append(all, about("pool "+p.document.Name, len(l.pools) > 1, checks)...)
		}
	}
	return all
}

func (l *look) probeGroup(ctx context.Context, p *pool, g assign.Group, free chan struct{}) []Check {
	const subject = "health checks"
	switch {
	case g.Check.Mode == v1alpha1.HealthCheckNone:
		return []Check{ProbesAddress.skip(subject, "HEALTH_CHECK_MODE=off")}
	case len(p.candidates) == 0:
		return []Check{ProbesAddress.skip(subject, "there is no endpoint to check")}
	}
	defer l.slow("checking " + plural(len(p.candidates), "endpoint"))()
	check := l.Checker(p.document, g.Check)
	results := make([]inventory.Result, len(p.candidates))
	var running sync.WaitGroup
	for i, c := range p.candidates {
		free <- struct{}{}
		running.Go(func() {
			defer func() { <-free }()
			results[i] = check(ctx, c.Address)
		})
	}
	running.Wait()
	return JudgeProbes(p.candidates, results)
}
