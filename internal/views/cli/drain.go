package cli

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"github.com/spf13/cobra"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/commandline"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/fleet"
)

// drainCommand drains an Envoy, or prepares its Pod for that.
func (p Program) drainCommand() *cobra.Command {
	o := fleet.DrainOptions{Least: 5 * time.Second, Quiet: 2 * time.Second, Timeout: time.Minute}
	var admin, folder, file string
	cmd := &cobra.Command{
		Use:   "drain",
		Short: "Let the Envoy of this Pod finish what it has begun, before Kubernetes ends it",
		Long: "Tells Envoy by its admin page to end, and returns when no request and no connection is\n" +
			"active. The Pods of a fleet run this command as preStop. With --install the program only\n" +
			"copies itself into a folder, for a container whose image lacks it.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if folder != "" {
				return install(cmd.Context(), folder, file)
			}
			var err error
			if o.Admin, err = netip.ParseAddrPort(admin); err != nil {
				return fmt.Errorf("--admin=%s is no IP address with a port; write for example 127.0.0.1:9901", admin)
			}
			o.Least = min(o.Least, o.Timeout)
			if err := fleet.Drain(cmd.Context(), o); err != nil {
				return commandline.Exit(exitFailed, err)
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&admin, "admin", "127.0.0.1:9901", "IP address and port of the admin page of the Envoy")
	cmd.Flags().DurationVar(&o.Timeout, "timeout", o.Timeout, "end after this time, whatever is active")
	cmd.Flags().DurationVar(&o.Least, "least", o.Least, "go on for at least this time: longer than load balancers and kube-proxy send new connections")
	cmd.Flags().DurationVar(&o.Quiet, "quiet", o.Quiet, "where connections stay open: end after this time without a request")
	cmd.Flags().StringVar(&folder, "install", "", "copy this program into this folder, and drain nothing")
	cmd.Flags().StringVar(&file, "await", "", "with --install: wait until this file is there")
	return cmd
}

// install copies the program, and waits for the file, if there is to be one.
func install(ctx context.Context, folder, file string) error {
	err := fleet.InstallProgram(folder, "endpoint-views")
	if err == nil && file != "" {
		err = fleet.AwaitFile(ctx, file)
	}
	if err != nil && !errors.Is(err, context.Canceled) {
		return commandline.Exit(exitFailed, err)
	}
	return err
}
