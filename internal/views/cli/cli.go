package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	corev1 "k8s.io/api/core/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/commandline"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/watch"
)

// Program is the program as its surroundings see it.
type Program commandline.Program

// The exit statuses of the program.
const (
	exitOK      = 0
	exitNothing = 1 // what was asked for is not there
	exitUsage   = 2 // the command line or the configuration is wrong
	exitFailed  = 4 // the API server or the server did not answer
)

// Run carries out the command line until it is done or ctx ends, and returns the exit
// status. An error without one is about the command line or the configuration.
func (p Program) Run(ctx context.Context, args []string) int {
	root := p.command() //nolint:contextcheck // commands get theirs from cobra when they run
	root.SetArgs(args)
	root.SetOut(p.Stdout)
	root.SetErr(p.Stderr)
	err := root.ExecuteContext(ctx)
	own := commandline.Exit(exitUsage, err)
	if err == nil {
		return exitOK
	}
	errors.As(err, &own)
	if own.Err != nil {
		fmt.Fprintln(p.Stderr, transport.PrintableLines("endpoint-views: "+strings.TrimSpace(err.Error())))
	}
	return own.Code
}

func (p Program) command() *cobra.Command {
	root := &cobra.Command{
		Use:   "endpoint-views",
		Short: "Says which endpoints stand behind which Service and port, and every change",
		Long: "Joins Services and EndpointSlices by kube-proxy's rules, for every Service with the\n" +
			"annotation endpoints.ablmnzde.github.io/views: \"true\" (VIEWS_ANNOTATION), and says\n" +
			"at any moment which endpoints stand behind which port. It only reads.\n\n" +
			"Configuration is read from the environment: see `config docs`.\n\n" +
			"Exit status: 0 done, 1 not found, 2 usage or configuration,\n" +
			"4 the API server or the server did not answer.",
		Args:          commandline.Known,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		SilenceErrors: true, SilenceUsage: true,
		Version: p.Version,
	}
	root.SetVersionTemplate(fmt.Sprintf("endpoint-views %s (%s %s/%s)\n", p.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH))
	configuration := commandline.Config[settings.Views]{Load: p.load, Reference: settings.ViewsReference, Stdout: p.Stdout, Stderr: p.Stderr}
	root.AddCommand(p.serveCommand(), p.getCommand(), p.explainCommand(), p.checkCommand(), p.bootstrapCommand(), p.fleetCommand(), p.drainCommand(), p.certificatesCommand(), configuration.Command())
	return root
}

// load reads the configuration; every mistake in it is reported.
func (p Program) load() (settings.Views, error) {
	return settings.LoadViews(p.Environ)
}

// configured is a command that needs the configuration.
func (p Program) configured(run func(context.Context, settings.Views) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error {
		c, err := p.load()
		if err != nil {
			return err
		}
		return run(cmd.Context(), c)
	}
}

// source makes the watch of the API server.
func (p Program) source(c settings.Views, way kube.Way, namespaces []string) (*watch.Watcher, error) {
	return watch.New(watch.Options{
		Way: way, UserAgent: "endpoint-views/" + p.Version, Namespaces: namespaces, Annotation: c.Cluster.Annotation,
		Selected: func(service *corev1.Service) bool { return c.Cluster.Selects(service.Annotations) },
	})
}

// way is the access to the API server. A person's is that of kubectl.
func (p Program) way(c settings.Views, person bool) kube.Way {
	kubeconfig := c.Cluster.Kubeconfig
	if home := commandline.Variable(p.Environ, "HOME"); person && kubeconfig == "" && home != "" {
		file := filepath.Join(home, ".kube", "config")
		if _, err := os.Stat(file); err == nil {
			kubeconfig = file
		}
	}
	return kube.Access{Kubeconfig: kubeconfig, InCluster: true, Setting: "KUBECONFIG"}
}

// logger writes to standard error in the form asked for; auto is text on a terminal. What
// is logged goes through hide, which may be nil.
func (p Program) logger(c settings.Log, hide func(string) string) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.Level.Level()}
	if hide != nil {
		options.ReplaceAttr = func(_ []string, a slog.Attr) slog.Attr {
			switch value := a.Value.Any().(type) {
			case string:
				a.Value = slog.StringValue(hide(value))
			case error:
				a.Value = slog.StringValue(hide(value.Error()))
			}
			return a
		}
	}
	file, ok := p.Stderr.(*os.File)
	if c.Format == settings.LogText || c.Format == settings.LogAuto && ok && term.IsTerminal(int(file.Fd())) {
		return slog.New(slog.NewTextHandler(p.Stderr, options))
	}
	return slog.New(slog.NewJSONHandler(p.Stderr, options))
}
