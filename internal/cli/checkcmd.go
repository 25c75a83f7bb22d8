package cli

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/commandline"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/config"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/preflight"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/source/ionos"
)

// checkCommand is the preflight.
func (p Program) checkCommand() *cobra.Command {
	var timeout time.Duration
	var form reportForm
	var only []preflight.Section
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check everything that has to be right before the daemon can work",
		Long: "Checks the configuration, the documents, the source, the nodes and their addresses, the local\n" +
			"API server and every right that is needed in it, the Service, the slices and\n" +
			"other slices of the Service, and checks each endpoint once. Changes nothing.\n\n" +
			"With --only, what an area needs is checked as well, and shown only if it failed:\n" +
			"--only probes reads the source. A wrong configuration is always reported.\n\n" +
			"Exit status 1 if a check failed, 2 if the configuration is wrong.",
		Example: "  ionos-endpointslice-controller check --short\n" +
			"  ionos-endpointslice-controller check --only service,rights",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := config.Load(p.Environ)
			if err != nil {
				return p.printReport(form, preflight.NewReport(preflight.Invalid(err)))
			}
			ctx, cancel := within(cmd.Context(), timeout)
			defer cancel()
			if c.Documents.Used() {
				return p.printReport(form, preflight.RunDocuments(c, documentsNow(ctx, c), only))
			}
			report := p.preflight(ctx, c, only)
			if err := p.printReport(form, report); !errors.Is(context.Cause(ctx), errTimeout) {
				return err
			}
			return errTimeout
		},
	}
	timeoutFlag(cmd, &timeout)
	commandline.OutputFlag(cmd, &form.out)
	onlyFlag(cmd, &only)
	cmd.Flags().BoolVar(&form.short, "short", false, "one line for each area, and below it warnings and failures")
	return cmd
}

// reportForm is the form in which a report is printed.
type reportForm struct {
	out   commandline.Format
	short bool
}

// printReport prints the report and makes the exit status of it.
func (p Program) printReport(form reportForm, report preflight.Report) error {
	data, text := report, report.Text
	if form.short {
		data, text = report.Short(), report.ShortText
	}
	if err := form.out.Print(p.Stdout, data, text(p.colour(p.Stdout))); err != nil {
		return err
	}
	switch {
	case report.Failed(preflight.ConfigurationValid):
		return &exitError{code: ExitUsage}
	case !report.OK:
		return &exitError{code: ExitDifferent}
	}
	return nil
}

// preflight makes what the configuration names and looks at all of it, or at some
// areas only. What cannot be made is found like any other mistake.
func (p Program) preflight(ctx context.Context, c config.Config, only []preflight.Section) preflight.Report {
	pool, _, check := carried(c)
	from := accessOf(c)
	options := preflight.Options{
		Config: c, Only: only, InPod: p.variable("KUBERNETES_SERVICE_HOST") != "", Target: target(c.Target), Rules: rules(pool, from),
		Secrets: secretsOf(c), Slow: p.slow(),
	}
	b := &parts{config: c, version: p.Version}
	var err error
	if b.metrics, err = b.newMetrics(); err == nil && options.Asks(preflight.Source) {
		b.source, err = newSource(pool, from, b.metrics)
	}
	switch mistake := err; {
	case mistake != nil:
		b.source, options.Read = origin{}, func(context.Context) ([]inventory.Node, error) { return nil, mistake }
	case b.source.Source != nil:
		options.Read = b.source.Read
	}
	if cloud := b.source.cloud; cloud != nil {
		options.Cloud = func() preflight.CloudFacts { return factsOf(cloud) }
	}
	if check.Mode != v1alpha1.HealthCheckNone {
		options.Probe = probeWith(newChecker(pool, check, from))
	}
	p.ways(b, &options)
	var report preflight.Report
	err = b.with(ctx, func(ctx context.Context) error {
		report = preflight.Run(ctx, options)
		return nil
	})
	if err != nil { // the source ended by itself; the checks of what it did not read have failed already
		fmt.Fprintln(p.Stderr, err)
	}
	return report
}

// ways adds how the API servers are reached.
func (p Program) ways(b *parts, options *preflight.Options) {
	c := b.config
	if c.Store.Kind != config.StoreMemory {
		options.Local = p.localAccess(c.Store)
	}
	if c.Store.Kind == config.StoreKubectl {
		options.Kubectl = func(ctx context.Context) error {
			store, err := p.newStore(c, options.Target, b.metrics)
			if err != nil {
				return err
			}
			_, err = store.Load(ctx)
			return err
		}
	}
	if c.Source.Kind == config.SourceKubernetes || c.Source.Kind == config.SourceIONOS && c.Secured.Kubeconfig != "" {
		options.Remote = remoteWay(accessOf(c), b.metrics)
	}
}

// factsOf is what the source learned of the cloud so far.
func factsOf(source *ionos.Source) preflight.CloudFacts {
	facts := preflight.CloudFacts{Warnings: source.Warnings()}
	if at, known := source.TokenExpiry(); known {
		facts.Expires = at
	}
	if limits, known := source.RateLimit(); known {
		facts.Limit, facts.Remaining = limits.Limit, limits.Remaining
	}
	return facts
}

// slow says on standard error what takes long.
func (p Program) slow() func(what string) {
	var mu sync.Mutex
	return func(what string) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintln(p.Stderr, "Still "+what+" ...")
	}
}
