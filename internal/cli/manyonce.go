package cli

import (
	"context"
	"fmt"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/config"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/serve"
)

// serveOnce fills the Services that documents choose, once.
func (p Program) serveOnce(ctx context.Context, c config.Config, dryRun bool) error {
	b, err := p.buildMany(c, dryRun, readOnce(ctx))
	if err != nil {
		return &exitError{ExitUsage, err}
	}
	b.warn()
	return b.once(ctx)
}

// once decides and writes once. There is a line of the log for each Service that is not
// as it should be; the outcome of the worst is the last line, and for every exit status
// except 0 the error.
func (b *many) once(ctx context.Context) error {
	var a serve.Assessment
	err := ended(ctx, b.lead(ctx, func(ctx context.Context) error {
		do := b.server.Once
		if b.dryRun {
			do = b.server.Assess
		}
		var err error
		a, err = do(ctx, newPacer(func(what string, done, all int) {
			b.log.Info("still running", "what", what, "done", done, "all", all)
		}).tell)
		return err
	}))
	e := judgeMany(a, b.dryRun)
	if err != nil {
		outcome := outcomeOf(err)
		b.log.Info("run ended", "services", e.targets, "written", e.written, "outcome", string(outcome))
		return &exitError{outcome.status(), fmt.Errorf("%w; %s", err, e.total())}
	}
	for _, j := range e.wrong() {
		b.log.Warn("not as it should be", append(keyArgs(j), "outcome", string(j.Outcome), "message", j.Message)...)
	}
	about := []any{"services", e.targets, "wrong", len(e.wrong()), "written", e.written, "outcome", string(e.worst())}
	if err := e.err(); err != nil {
		b.log.Info("run ended", about...)
		return err
	}
	b.log.Info("run ended", append(about, "message", e.total()+".")...)
	return nil
}

// keyArgs are the arguments of a log line about a Service and a pool.
func keyArgs(j judged) []any {
	var args []any
	for _, arg := range [][2]string{{"namespace", j.Namespace}, {"service", j.Service}, {"pool", j.Pool}} {
		if arg[1] != "" {
			args = append(args, arg[0], arg[1])
		}
	}
	return args
}
