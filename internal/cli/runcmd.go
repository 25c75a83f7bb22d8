package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/election"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/serve"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/syncer"
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
			"docs/reference/exit-status.md lists every outcome.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			log := newQueue(p.Stderr)
			defer log.end()
			daemon := p
			daemon.Stderr = log
			ctx := cmd.Context()
			if once {
				var cancel context.CancelFunc
				ctx, cancel = within(ctx, timeout)
				defer cancel()
			}
			return daemon.runOrOnce(ctx, once, dryRun)
		},
	}
	cmd.Flags().BoolVar(&once, "once", false, "decide and write once, then exit")
	cmd.Flags().BoolVar(&dryRun, "dry-run", false, "decide and report, write nothing; like DRY_RUN=true")
	cmd.Flags().DurationVar(&timeout, "timeout", time.Minute, "with --once: give up after this time, with exit status 124; 0 waits for ever")
	return cmd
}

// runOrOnce fills the one Service of the variables, or those that documents choose.
func (p Program) runOrOnce(ctx context.Context, once, dryRun bool) error {
	c, err := p.load()
	switch {
	case err != nil:
		return err
	case c.Documents.Used() && once:
		return p.serveOnce(ctx, c, dryRun)
	case c.Documents.Used():
		return p.serve(ctx, c, dryRun)
	}
	b, err := p.build(dryRun)
	if err != nil {
		return err
	}
	b.warn()
	if once {
		return b.once(ctx)
	}
	return b.run(ctx)
}

// run keeps the slices right until ctx ends.
func (b *parts) run(ctx context.Context) error {
	b.log.Info("starting", "version", b.version, "source_kind", string(b.config.Source.Kind), "store_kind", string(b.config.Store.Kind),
		"namespace", b.config.Target.Namespace, "service", b.config.Target.ServiceName, "dry_run", b.dryRun, "leader_election", b.leader.state().Enabled)
	defer b.log.Info("stopped, the slices are left as they are")
	if b.config.Leader.Election && b.dryRun {
		b.log.Info("a dry run does not take part in the leader election")
	}
	return stoodBy(b.serving(ctx, b.surfaces(b.facts(time.Now()), b.decided), func(ctx context.Context) error { return b.lead(ctx, b.sync) }))
}

// stoodBy returns no error for a standby that was told to stop.
func stoodBy(err error) error {
	if errors.Is(err, election.ErrNotElected) {
		return nil
	}
	return err
}

// lead reads, checks and writes while this process leads. A standby does not, and its
// source and store watch nothing. The last Events are delivered even after another
// process has the lease.
func (b *parts) lead(ctx context.Context, do func(context.Context) error) error {
	return b.events.during(ctx, func(ctx context.Context) error {
		return b.leader.lead(ctx, func(ctx context.Context) error { return b.with(ctx, do) })
	})
}

// once decides and writes once. The outcome is the last line of the log and, for
// every exit status except 0, the error.
func (b *parts) once(ctx context.Context) error {
	var a syncer.Assessment
	err := ended(ctx, b.lead(ctx, func(ctx context.Context) error {
		var err error
		a, err = b.syncer.Once(ctx)
		return err
	}))
	about := []any{"written", a.Landed()}
	if a.Status != nil {
		about = append(about, "mode", a.Status.Verdict.Mode.String(), "endpoints", len(a.Status.Verdict.Members), "writes", len(a.Writes))
	}
	if err != nil {
		outcome := outcomeOf(err)
		b.log.Info("run ended", append(about, "outcome", string(outcome))...)
		return &exitError{outcome.status(), fmt.Errorf("%w; %s", err, failed(outcome, a))}
	}
	outcome, message := judge(a, b.dryRun)
	message = b.target.Names.Of(message)
	if outcome.status() != ExitOK {
		b.log.Info("run ended", append(about, "outcome", string(outcome))...)
		return &exitError{outcome.status(), errors.New(message)}
	}
	b.log.Info("run ended", append(about, "outcome", string(outcome), "message", message)...)
	return nil
}

// with runs what the source and the store have to run beside do, if anything,
// and stops it when do is done.
func (b *parts) with(ctx context.Context, do func(context.Context) error) error {
	// They outlive ctx, so that a write under way can end.
	background, stop := context.WithCancel(context.WithoutCancel(ctx))
	var running sync.WaitGroup
	beside := func(run func(context.Context) error) *error {
		var err error
		if run != nil {
			running.Go(func() { err = run(background) })
		}
		return &err
	}
	source, store := beside(b.source.run), beside(b.store.run)
	done := do(ctx)
	stop()
	running.Wait()
	switch {
	case done != nil:
		return done
	case *source != nil:
		return &serve.SourceError{Err: *source}
	case *store != nil:
		return &serve.StoreError{Err: *store}
	}
	return nil
}
