package cli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/commandline"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	event "github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/events"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/metrics"
	targets "github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/writer"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube/lease"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// runCommand keeps the slices right until it is told to stop, or once.
func (p Program) runCommand() *cobra.Command {
	var once, dryRun bool
	var timeout time.Duration
	cmd := &cobra.Command{
		Use:   "run",
		Short: "Keep the slices right until a signal ends it (the default command)",
		Long: "Reads the source, checks the endpoints and keeps the slices right until\n" +
			"SIGTERM or SIGINT ends it. With STORE_KIND=memory it prints the slices as YAML\n" +
			"whenever they change. With LEADER_ELECTION=true it first waits until\n" +
			"it holds the lease; a dry run does not take part in the election.\n\n" +
			"With --once the exit status says the result: 0 the slices are right and\n" +
			"an endpoint is ready, 1 no endpoint is ready or none passes its health check,\n" +
			"2 usage or configuration, 3 source, 4 store or Service, 5 an inventory was\n" +
			"rejected or endpoints do not answer, and they are kept, 6 lease, 124 time-out.\n" +
			"docs/reference/check.md lists every outcome.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log := newQueue(p.Stderr)
			defer log.end()
			daemon := p
			daemon.Stderr = log
			c, err := daemon.load()
			if err != nil {
				return err
			}
			if !once {
				return daemon.serve(cmd.Context(), c, dryRun)
			}
			ctx, cancel := within(cmd.Context(), timeout)
			defer cancel()
			b, err := daemon.build(c, dryRun, readOnce(ctx))
			if err != nil {
				return commandline.Exit(ExitUsage, err)
			}
			return b.once(ctx)
		},
	}
	cmd.Flags().BoolVar(&once, "once", false, "decide and write once, then exit")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "decide and report, write nothing; like DRY_RUN=true")
	cmd.Flags().DurationVar(&timeout, "timeout", time.Minute, "with --once: give up after this time, with exit status 124; 0 waits for ever")
	return cmd
}

// stoodBy returns no error for a standby that was told to stop, nor for a leader that gave the
// lease to another replica: it is started again, and stands by.
func stoodBy(err error) error {
	if errors.Is(err, lease.ErrNotElected) || errors.Is(err, lease.ErrHandedOver) {
		return nil
	}
	return err
}

// lead reads, checks and writes while this process leads. A standby does not, and its
// source and store watch nothing. The last Events are delivered even after another
// process has the lease.
func (b *parts) lead(ctx context.Context, do func(context.Context) error) error {
	if b.events == nil {
		return b.leader.lead(ctx, do)
	}
	leading := func(context.Context) error { return b.leader.lead(ctx, do) }
	return beside(context.WithoutCancel(ctx), leading, func(ctx context.Context) { _ = b.events.Run(ctx) }) // it only ends with its context
}

// once decides and writes once. Where there are several Services, there is a line of the log
// for each that is not as it should be. The outcome of the worst is the last line, and for
// every exit status except 0 the error.
func (b *parts) once(ctx context.Context) error {
	var a controller.Assessment
	err := ended(ctx, b.lead(ctx, func(ctx context.Context) error {
		var err error
		a, err = b.server.Once(ctx, paced(func(what string, done, all int) {
			b.log.Info("still running", "what", what, "done", done, "all", all)
		}))
		return err
	}))
	e := judgeAll(a, b.dryRun)
	if err != nil {
		outcome := outcomeOf(err)
		b.log.Info("run ended", "services", e.targets, "written", e.written, "outcome", string(outcome))
		return commandline.Exit(outcome.status(), fmt.Errorf("%w; %s", err, failed(outcome, written(a))))
	}
	for _, j := range e.wrong() {
		if !e.alone() {
			b.log.Warn("not as it should be", append(keyArgs(j), "outcome", string(j.Outcome), "message", j.Message)...)
		}
	}
	about := []any{"services", e.targets, "wrong", len(e.wrong()), "written", e.written, "outcome", string(e.worst())}
	if err := e.err(); err != nil {
		b.log.Info("run ended", about...)
		return err
	}
	b.log.Info("run ended", append(about, "message", e.total())...)
	return nil
}

// written is what came of all writes.
func written(a controller.Assessment) *controller.AssessedFill {
	var all controller.AssessedFill
	for _, t := range a.Assessed {
		for _, f := range t.Fills {
			all.Results = append(all.Results, f.Results...)
		}
	}
	return &all
}

// keyArgs are the arguments of a log line about a Service and a pool.
func keyArgs(j ending) []any {
	var args []any
	for _, arg := range [][2]string{{"namespace", j.Namespace}, {"service", j.Service}, {"pool", j.Pool}} {
		if arg[1] != "" {
			args = append(args, arg[0], arg[1])
		}
	}
	return args
}

// serve fills Services until ctx ends.
func (p Program) serve(ctx context.Context, c settings.Config, dryRun bool) error {
	b, err := p.build(c, dryRun, watched)
	if err != nil {
		return commandline.Exit(ExitUsage, err)
	}
	b.log.Info("starting", append(chosenBy(c), "version", b.version, "store_kind", string(c.Store.Kind), "dry_run", b.dryRun, "leader_election", b.leader.state().Enabled)...)
	defer b.log.Info("stopped, the slices are left as they are")
	if c.Leader.Election && b.dryRun {
		b.log.Info("a dry run does not take part in the leader election")
	}
	return stoodBy(b.serving(ctx, func(ctx context.Context) error { return b.lead(ctx, b.run) }))
}

// chosenBy are the arguments of a log line about what says which Services are filled.
func chosenBy(c settings.Config) []any {
	if c.Documents.Used() {
		return []any{"documents_dir", c.Documents.Dir, "documents_api", c.Documents.API}
	}
	return []any{"source_kind", string(c.Source.Kind), "namespace", c.Target.Namespace, "service", c.Target.ServiceName}
}

// run fills the Services, and warns of what is going to stop that.
func (b *parts) run(ctx context.Context) error {
	others := []func(context.Context){func(ctx context.Context) { warnOfCredential(ctx, b.log, "KUBECONFIG", b.localExpiry) }}
	if b.carriers != nil && b.carriers.kinds != nil && !b.dryRun && b.config.Store.Kind != settings.StoreMemory {
		others = append(others, func(ctx context.Context) { b.carriers.kinds.Tell(ctx, b.statusOptions()) })
	}
	return beside(ctx, b.server.Run, others...)
}

// reader makes the documents of a process, and what keeps them current.
type reader func(b *parts) (set controller.Documents, watch func(context.Context) error, err error)

// watched are documents that are read again when they change.
func watched(b *parts) (set controller.Documents, watch func(context.Context) error, err error) {
	if !b.config.Documents.Used() {
		return b.environment()
	}
	b.carriers, err = newCarriers(b.config, b.metrics)
	if err != nil {
		return nil, nil, err
	}
	return b.carriers, b.carriers.Run, nil
}

// build makes everything from the configuration. Nothing is started yet.
func (p Program) build(c settings.Config, dryRun bool, read reader) (*parts, error) {
	b := &parts{config: c, version: p.Version, dryRun: dryRun || c.Run.DryRun, log: logger(p.Stderr, c.Log)}
	for _, warning := range c.Warnings() {
		b.log.Warn("environment variable without effect", "variable", warning.Variable, "message", warning.Rule, "remedy", warning.Remedy)
	}
	var err error
	if b.metrics, err = b.newMetrics(); err != nil {
		return nil, err
	}
	if b.leader, err = newLeadership(c, b.dryRun, b.log, b.metrics); err != nil {
		return nil, err
	}
	set, watch, err := read(b)
	if err != nil {
		return nil, err
	}
	var hub controller.Hub
	if hub, b.expiry, err = p.newHub(c, set, b.metrics); err != nil {
		return nil, err
	}
	b.events = newEvents(c, b.dryRun, b.log, b.metrics)
	b.server, err = controller.New(controller.Options{
		Documents: set, Watch: watch, Hub: hub, Labels: b.namespaceLabels,
		Fence:    func(s targets.Store) targets.Store { return b.metrics.Store(b.leader.fence(s)) },
		Bounds:   bounded(c.Documents),
		Leaving:  c.Documents.Leaving,
		Supply:   b.supply,
		Checking: b.checking,
		Asker:    b.leader.asker,

		ManagedBy: c.Target.ManagedBy, MaxEndpoints: c.Target.MaxEndpointsPerSlice, Concurrency: c.Health.Concurrency, Lanes: lanes(c),
		DryRun: b.dryRun, Logger: b.log, Announce: b.announcing(), Observe: controller.Observe{Planned: b.metrics.Planned, Read: b.metrics.Read, OfGroup: b.metrics.OfGroup},
	})
	return b, err
}

// namespaceLabels reads the labels of all namespaces.
func (b *parts) namespaceLabels(ctx context.Context) (map[string]map[string]string, error) {
	if kind := b.config.Store.Kind; kind != settings.StoreClientGo {
		return nil, fmt.Errorf("STORE_KIND=%s reads no labels of namespaces; name the namespaces in spec.allow of the pool, or set STORE_KIND=client-go", kind)
	}
	client, err := kube.Open(kube.Options{Way: localWay(b.config.Store, b.metrics, metrics.ClientStore), UserAgent: event.Controller})
	if err != nil {
		return nil, err
	}
	defer client.Close()
	labels := make(map[string]map[string]string)
	_, err = client.Each(ctx, kube.Namespaces(), metav1.ListOptions{}, func() runtime.Object { return &corev1.Namespace{} },
		func(object runtime.Object) runtime.Object {
			if n, ok := object.(*corev1.Namespace); ok {
				labels[n.Name] = firstLabels(n.Labels)
			}
			return nil
		})
	if err != nil {
		return nil, err
	}
	return labels, nil
}

// mostLabels bounds how many bytes the labels of one namespace may have.
const mostLabels = 16 << 10

// firstLabels returns the labels, as far as they fit in the order of their names: who may
// label one namespace may give it a megabyte.
func firstLabels(all map[string]string) map[string]string {
	kept, size := make(map[string]string), 0
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if size += len(name) + len(all[name]); size > mostLabels {
			break
		}
		kept[name] = all[name]
	}
	return kept
}

// beside does something, and runs others until that ends.
func beside(ctx context.Context, do func(context.Context) error, others ...func(context.Context)) error {
	ctx, stop := context.WithCancel(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer stop()
	for _, other := range others {
		running.Go(func() { other(ctx) })
	}
	return do(ctx)
}
