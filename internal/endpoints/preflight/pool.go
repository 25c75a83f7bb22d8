package preflight

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings/naming"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
)

// pool is a pool and what its source showed.
type pool struct {
	document   *v1alpha1.EndpointPool
	origin     Origin
	candidates []inventory.Candidate
	// nodes are those that the source lists.
	nodes  []inventory.Node
	checks []Check
	// placed is where the Pods of the remote Services are that its groups follow.
	placed map[inventory.RemoteService]PlacementAnswer
	// skipped says that it was not looked at.
	skipped bool
}

// look reads the source once, and asks the API server of the nodes for the rights of the
// source. A pool that may serve nothing in the namespace that is looked at is left alone.
func (l *look) look(ctx context.Context, p *pool) {
	p.checks = unusualPool(p.document)
	if l.Namespace != "" && !l.Documents.Variables && !mayServe(p.document, l.Namespace) {
		p.skipped, p.checks = true, []Check{SourceRead.skip("source", "not looked at: the pool allows no use in namespace %s", l.Namespace)}
		return
	}
	if !l.asks(SourceRead) {
		return
	}
	var err error
	if p.origin, err = l.Source(p.document); err != nil {
		p.checks = append(p.checks, SourceRead.fail("source", "%v", err))
	} else {
		err = l.read(ctx, p)
	}
	if err != nil {
		p.checks = append(p.checks, NodesUsable.skip("usable nodes", "the source could not be read"))
	}
}

// mayServe reports whether a pool may serve Services of a namespace, whose labels count as
// any.
func mayServe(document *v1alpha1.EndpointPool, namespace string) bool {
	return slices.ContainsFunc(document.Spec.Allow, func(a v1alpha1.PoolAllowance) bool {
		return a.NamespaceSelector != nil || slices.Contains(a.Namespaces, namespace)
	})
}

func (l *look) read(ctx context.Context, p *pool) error {
	bound, cancel := context.WithTimeout(ctx, l.Config.Source.Timeout)
	defer cancel()
	start := time.Now()
	nodes, err := p.origin.Read(bound)
	var warnings []string
	if p.origin.Warnings != nil {
		warnings = p.origin.Warnings()
		p.checks = append(p.checks, judgeToken(p.origin.Secrets, time.Now()))
	}
	p.checks = append(p.checks, judgeRead(len(nodes), time.Since(start), err, warnings)...)
	if p.origin.Remote != nil {
		p.checks = append(p.checks, p.askRemote(ctx)...)
	}
	if err != nil {
		return err
	}
	filtered := filter.Apply(nodes, p.origin.Rules)
	p.nodes, p.candidates = nodes, filtered.Candidates
	p.checks = append(p.checks, judgeNodes(len(nodes), slices.SortedStableFunc(slices.Values(filtered.Decisions), inventory.CompareDecisions))...)
	if p.origin.Own != nil {
		p.checks = append(p.checks, judgeNodePorts(p.candidates, p.origin.Own())...)
	}
	return nil
}

// ofPool is what was found of a pool, with settings as its reader names them.
func (l *look) ofPool(p *pool) []Check {
	var names naming.Names
	if !l.Documents.Variables {
		names = naming.Names{Spelling: naming.Fields, Pool: p.document.Name, CheckBy: naming.Pool}
	}
	return about("pool "+p.document.Name, len(l.pools) > 1, edit(p.checks, names.Of))
}

// probe checks each candidate of each group once, as many at a time as the daemon would.
func (l *look) probe(ctx context.Context) []Check {
	if !l.looksAt(ProbesAddress.area()) {
		return nil
	}
	names := l.plan.GroupNames()
	var all []Check
	for _, p := range l.pools {
		groups := slices.DeleteFunc(l.plan.Groups(), func(g assign.Group) bool { return g.Pool != p.document.Name })
		var checks []Check
		if len(groups) == 0 && !p.skipped {
			checks = append(checks, ProbesAddress.skip("endpoints", "not checked: no Service that is looked at uses the pool"))
		}
		for _, g := range groups {
			checks = append(checks, about(fmt.Sprintf("port %d", g.Check.Port), len(groups) > 1, edit(l.probeGroup(ctx, p, g), names[g].Of))...)
		}
		all = append(all, about("pool "+p.document.Name, len(l.pools) > 1, checks)...)
	}
	return all
}

func (l *look) probeGroup(ctx context.Context, p *pool, g assign.Group) []Check {
	const subject = "health checks"
	candidates, left := p.onNodes(g)
	switch {
	case g.Check.Mode == v1alpha1.HealthCheckNone:
		return []Check{ProbesAddress.skip(subject, "HEALTH_CHECK_MODE=off")}
	case len(candidates) == 0:
		return append(left, ProbesAddress.skip(subject, "there is no endpoint to check"))
	}
	check := l.Checker(p.document, g.Check)
	results := make([]inventory.Result, len(candidates))
	each(transport.SocketShare(l.Config.Health.Concurrency), candidates, func(i int, c inventory.Candidate) {
		results[i] = check(ctx, c.Address)
	})
	return append(judgeProbes(candidates, results), left...)
}
