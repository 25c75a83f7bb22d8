package cli

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/spf13/cobra"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/commandline"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents/environment"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/report"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// Program is the program as its surroundings see it.
type Program commandline.Program

// Run carries out the command line until it is done or ctx ends, and returns the
// exit status.
func (p Program) Run(ctx context.Context, args []string) int {
	root := p.command() //nolint:contextcheck // commands get theirs from cobra when they run
	root.SetArgs(args)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	err := root.ExecuteContext(ctx)
	var own *commandline.ExitError
	if err != nil && (!errors.As(err, &own) || own.Err != nil) {
		complain(p.Stderr, err)
	}
	return exitCode(err)
}

// command returns the command tree; without a command it runs the daemon.
func (p Program) command() *cobra.Command {
	run := p.runCommand()
	root := &cobra.Command{
		Use:   "ionos-endpointslice-controller",
		Short: "Keeps the EndpointSlices of a Service equal to the healthy nodes of another cluster",
		Long: "Keeps the EndpointSlices of selector-less Services, one or many, equal to the\n" +
			"private addresses of the healthy worker nodes of remote clusters.\n\n" +
			"Configuration is read from the environment: see `config docs`.\n\n" +
			"Exit status: 0 done or no difference, 1 differences, not ready or not done,\n" +
			"2 usage or configuration, 3 source, 4 store or Service, 5 endpoints kept by the\n" +
			"guard, 6 lease lost or not got, 124 time-out.",
		Args:          commandline.Known,
		RunE:          run.RunE,
		SilenceErrors: true,
		SilenceUsage:  true,
		Version:       p.Version,
	}
	root.SetVersionTemplate(p.thisVersion().String() + "\n")
	root.Flags().AddFlagSet(run.Flags())
	configuration := commandline.Config[settings.Config]{
		Load: p.load, Reference: settings.Reference, Documents: p.showDocuments, ShowHelp: showHelp, Found: foundDocuments, Stdout: p.Stdout, Stderr: p.Stderr,
	}
	root.AddCommand(run, p.diffCommand(), p.statusCommand(), p.explainCommand(), p.inventoryCommand(), p.checkCommand(), configuration.Command(), p.versionCommand())
	return root
}

// load reads the configuration; every mistake in it is reported, and ends the
// program before its first request (contract 34).
func (p Program) load() (settings.Config, error) {
	c, err := environment.Load(p.Environ)
	if err != nil {
		return c, commandline.Exit(ExitUsage, err)
	}
	return c, nil
}

// configured is a command that needs the configuration, bounded by --timeout.
func (p Program) configured(timeout *time.Duration, do func(context.Context, settings.Config) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		c, err := p.load()
		if err != nil {
			return err
		}
		ctx, cancel := within(cmd.Context(), *timeout)
		defer cancel()
		return do(ctx, c)
	}
}

// within bounds a command by --timeout; 0 means no bound.
func within(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, timeout, errTimeout)
}

// timeoutFlag adds --timeout to a command.
func timeoutFlag(cmd *cobra.Command, timeout *time.Duration) {
	cmd.Flags().DurationVar(timeout, "timeout", time.Minute, "give up after this time, with exit status 124; 0 waits for ever")
}

// versionCommand says which build this is.
func (p Program) versionCommand() *cobra.Command {
	var out commandline.Format
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version",
		Args:  cobra.NoArgs,
		RunE: func(_ *cobra.Command, _ []string) error {
			v := p.thisVersion()
			return out.Print(p.Stdout, v, v.String()+"\n")
		},
	}
	commandline.OutputFlag(cmd, &out)
	return cmd
}

// version is what the version command prints.
type version struct {
	APIVersion string `json:"apiVersion"`
	Version    string `json:"version"`
	Go         string `json:"go"`
	OS         string `json:"os"`
	Arch       string `json:"arch"`
}

// thisVersion is the version of this build.
func (p Program) thisVersion() version {
	return version{APIVersion: report.APIVersion, Version: p.Version, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
}

// String is what version prints as text, and --version.
func (v version) String() string {
	return fmt.Sprintf("ionos-endpointslice-controller %s (%s %s/%s)", v.Version, v.Go, v.OS, v.Arch)
}
