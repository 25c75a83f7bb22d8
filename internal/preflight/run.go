package preflight

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/config"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/descriptors"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kubeapi"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
)

// Options are the configuration and the ways to what it names. A way that
// cannot be made is an error of the function that would be it.
type Options struct {
	Config config.Config
	// InPod says that the program runs in a Pod.
	InPod  bool
	Target plan.Target
	Rules  filter.Rules
	// Read reads the source once; Cloud returns what else that read taught, and is nil
	// without a cloud.
	Read  func(context.Context) ([]inventory.Node, error)
	Cloud func() CloudFacts
	// Probe asks one address once; nil with HEALTH_CHECK_MODE=off.
	Probe func(context.Context, netip.Addr) inventory.Result
	// Local and Remote are the ways to the API servers; nil where none is asked.
	Local, Remote kubeapi.Way
	// Kubectl lets the store of that name read once; nil for another store.
	Kubectl func(context.Context) error
	// Secrets must not appear in the report, whatever text repeats them.
	Secrets []string
	// Only are the areas to look at; all where there is none.
	Only []Section
	// Slow is called with what takes longer than slowAfter; it may be nil.
	Slow func(what string)
}

// slowAfter is after how long Slow is called.
const slowAfter = 2 * time.Second

// finding is everything that was learned, each part written by one goroutine.
type finding struct {
	nodes      []inventory.Node
	read       bool
	candidates []inventory.Candidate
	api        apiView
	// What the goroutines say, a list for each.
	source, local, remote, kubectl, rights, probes []Check
}

// Run checks everything, or the areas of o.Only, and returns when it is done or ctx
// ends. What could not be checked by then has failed.
func Run(ctx context.Context, o Options) Report {
	f := &finding{}
	together(
		func() { f.source = o.readSource(ctx, f) },
		func() { f.local = o.askLocal(ctx, f) },
		func() { f.remote = o.askRemote(ctx) },
		func() { f.kubectl = o.runKubectl(ctx) },
	)
	defer f.api.close()
	var nodes []Check
	if f.read {
		filtered := filter.Apply(f.nodes, o.Rules)
		f.candidates = filtered.Candidates
		nodes = JudgeNodes(len(f.nodes), slices.SortedStableFunc(slices.Values(filtered.Decisions), inventory.CompareDecisions))
	} else {
		nodes = []Check{NodesUsable.skip("usable nodes", "the source could not be read")}
	}
	together(
		func() { f.rights = o.askRights(ctx, f) },
		func() { f.probes = o.probe(ctx, f) },
	)
	checks := slices.Concat(
		Odd(o.Config, o.InPod), Concurrency(o.Config.Health, len(f.candidates)),
		f.source, f.remote, nodes, f.local, f.kubectl, f.rights, o.judgeObjects(f), f.probes,
	)
	return NewReport(hide(o.chosen(checks), slices.Concat(o.Secrets, o.accessSecrets())))
}

// together runs all at the same time and returns when all are done.
func together(all ...func()) {
	var running sync.WaitGroup
	for _, one := range all {
		running.Go(one)
	}
	running.Wait()
}

// slow calls Slow unless the returned function is called within slowAfter.
func (o Options) slow(what string) (done func()) {
	if o.Slow == nil {
		return func() {}
	}
	timer := time.AfterFunc(slowAfter, func() { o.Slow(what) })
	return func() { timer.Stop() }
}

func (o Options) readSource(ctx context.Context, f *finding) []Check {
	if !o.Asks(Source) {
		return nil
	}
	defer o.slow("reading the source, for " + o.Config.Source.Timeout.String() + " at most")()
	bound, cancel := context.WithTimeout(ctx, o.Config.Source.Timeout)
	defer cancel()
	start := time.Now()
	nodes, err := o.Read(bound)
	f.nodes, f.read = nodes, err == nil
	checks := []Check{judgeRead(string(o.Config.Source.Kind), len(nodes), time.Since(start), o.Config.Source.Timeout, err)}
	if o.Cloud != nil {
		checks = append(checks, JudgeCloud(o.Cloud(), time.Now())...)
	}
	return checks
}

func (o Options) runKubectl(ctx context.Context) []Check {
	if o.Kubectl == nil || !o.looksAt(API) {
		return nil
	}
	defer o.slow("running kubectl")()
	subject := "KUBECTL_PATH=" + o.Config.Store.KubectlPath
	if err := o.Kubectl(ctx); err != nil {
		return []Check{APIKubectl.fail(subject, "%v", err)}
	}
	return []Check{APIKubectl.ok(subject, "kubectl reads the Service and its slices")}
}

// probe asks each candidate once, as many at a time as the daemon would.
func (o Options) probe(ctx context.Context, f *finding) []Check {
	const subject = "health checks"
	switch {
	case !o.looksAt(Probes):
		return nil
	case o.Probe == nil:
		return []Check{ProbesAddress.skip(subject, "HEALTH_CHECK_MODE=off")}
	case len(f.candidates) == 0:
		return []Check{ProbesAddress.skip(subject, "there is no endpoint to check")}
	}
	defer o.slow("checking " + plural(len(f.candidates), "endpoint"))()
	results := make([]inventory.Result, len(f.candidates))
	free := make(chan struct{}, descriptors.Share(o.Config.Health.Concurrency))
	var running sync.WaitGroup
	for i, c := range f.candidates {
		free <- struct{}{}
		running.Go(func() {
			defer func() { <-free }()
			results[i] = o.Probe(ctx, c.Address)
		})
	}
	running.Wait()
	return JudgeProbes(f.candidates, results)
}

// accessSecrets are those of the ways to the API servers.
func (o Options) accessSecrets() []string {
	var secrets []string
	for _, way := range []kubeapi.Way{o.Local, o.Remote} {
		if way == nil {
			continue
		}
		if access, _, err := way.Snapshot(); err == nil {
			secrets = append(secrets, access.BearerToken, access.Password)
		}
	}
	return secrets
}
