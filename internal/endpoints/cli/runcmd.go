package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
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

// runOrOnce fills the Services.
func (p Program) runOrOnce(ctx context.Context, once, dryRun bool) error {
	c, err := p.load()
	switch {
	case err != nil:
		return err
	case once:
		return p.serveOnce(ctx, c, dryRun)
	}
	return p.serve(ctx, c, dryRun)
}

// serveOnce fills the Services once.
func (p Program) serveOnce(ctx context.Context, c settings.Config, dryRun bool) error {
	b, err := p.build(c, dryRun, readOnce(ctx))
	if err != nil {
		return &exitError{ExitUsage, err}
	}
	b.warn()
	return b.once(ctx)
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
	return b.events.during(ctx, func(ctx context.Context) error {
		return b.leader.lead(ctx, do)
	})
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
		return &exitError{outcome.status(), fmt.Errorf("%w; %s", err, failed(outcome, written(a)))}
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
