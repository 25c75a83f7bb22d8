package cli

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/commandline"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents/environment"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/preflight"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// checkCommand is the preflight.
func (p Program) checkCommand() *cobra.Command {
	var timeout time.Duration
	var out commandline.Format
	var short bool
	var o preflight.Options
	cmd := &cobra.Command{
		Use:   "check",
		Short: "Check everything that has to be right before the daemon can work",
		Long: "Checks the configuration, the documents, each pool (its source, its credentials, its nodes\n" +
			"and their addresses, and each endpoint once), the local API server, the rights in each\n" +
			"namespace, and each Service: the Service, its slices, other slices, and whether its clients\n" +
			"can reach the endpoints. Makes at most 10 requests in a namespace, and names the parts that\n" +
			"it skipped. Changes no object.\n\n" +
			"With --only, areas that the named areas need are checked too, and shown only if they fail:\n" +
			"--only probes reads the source. A wrong configuration is always reported.\n\n" +
			"Exit status 1 if a check failed, 2 if the configuration is wrong.",
		Example: "  ionos-endpointslice-controller check --short\n" +
			"  ionos-endpointslice-controller check --only service,rights\n" +
			"  ionos-endpointslice-controller check --namespace shop --service web",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := environment.Load(p.Environ)
			if err != nil {
				return p.printReport(out, short, preflight.NewReport(preflight.Invalid(err)))
			}
			if err := (&scope{namespace: o.Namespace, service: o.Service}).check(c); err != nil {
				return err
			}
			ctx, cancel := within(cmd.Context(), timeout)
			defer cancel()
			report, err := p.preflight(ctx, c, o)
			if err != nil {
				return err
			}
			if err := p.printReport(out, short, report); !errors.Is(context.Cause(ctx), errTimeout) {
				return err
			}
			return errTimeout
		},
	}
	timeoutFlag(cmd, &timeout)
	commandline.OutputFlag(cmd, &out)
	onlyFlag(cmd, &o.Only)
	cmd.Flags().StringVarP(&o.Namespace, "namespace", "n", "", "look only at the Services of this namespace, and at the pools that they may use")
	cmd.Flags().StringVar(&o.Service, "service", "", "look only at the Service of this name")
	cmd.Flags().BoolVar(&short, "short", false, "print only warnings and failures")
	return cmd
}

// printReport prints the report and makes the exit status of it.
func (p Program) printReport(out commandline.Format, short bool, report preflight.Report) error {
	if short {
		report = report.Short()
	}
	if err := out.Print(p.Stdout, report, report.Text(p.colour())); err != nil {
		return err
	}
	switch {
	case report.Failed(preflight.ConfigurationValid):
		return commandline.Exit(ExitUsage, nil)
	case !report.OK:
		return commandline.Exit(ExitDifferent, nil)
	}
	return nil
}

// preflight looks at what the configuration names, as o says. What cannot be made is found
// like any other mistake.
func (p Program) preflight(ctx context.Context, c settings.Config, o preflight.Options) (preflight.Report, error) {
	r, err := p.reach(ctx, c)
	if err != nil {
		return preflight.Report{}, err
	}
	o.Config, o.Documents, o.InPod = c, r.set, commandline.Variable(p.Environ, "KUBERNETES_SERVICE_HOST") != ""
	o.Source, o.Labels = r.source, r.namespaceLabels
	o.Checker = func(pool *v1alpha1.EndpointPool, check assign.Check) func(context.Context, netip.Addr) inventory.Result {
		checker, err := newChecker(pool, check, r.access(pool))
		if err == nil {
			return checker.Check
		}
		return func(_ context.Context, addr netip.Addr) inventory.Result {
			return inventory.Result{Address: addr, Outcome: inventory.LocalError, Message: err.Error()}
		}
	}
	if c.Store.Kind != settings.StoreMemory {
		o.Local = p.localAccess(c.Store)
	}
	if c.Store.Kind == settings.StoreKubectl {
		o.Kubectl = func(ctx context.Context, t publish.Target) error {
			store, err := newKubectl(c, t)
			if err != nil {
				return err
			}
			_, err = store.Load(ctx)
			return err
		}
	}
	return preflight.Run(ctx, o), nil
}

// onlyFlag adds --only to a command. It takes areas of check, with commas between them or
// one at a time.
func onlyFlag(cmd *cobra.Command, areas *[]string) {
	all := strings.Join(preflight.Areas(), ", ")
	cmd.Flags().Func("only", "check only these `areas`: "+all, func(value string) error {
		for area := range strings.SplitSeq(value, ",") {
			if !slices.Contains(preflight.Areas(), area) {
				return fmt.Errorf("%q is no area; the areas are %s", area, all)
			}
			*areas = append(*areas, area)
		}
		return nil
	})
	_ = cmd.RegisterFlagCompletionFunc("only", cobra.FixedCompletions(preflight.Areas(), cobra.ShellCompDirectiveNoFileComp))
}
