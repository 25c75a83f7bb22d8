package cli

import (
	"context"
	"errors"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/commandline"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/fleet"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/fleet/manifests"
)

// requestsPerSecond bounds the requests of the operator: that many fleets take a few
// seconds at the first start.
const requestsPerSecond = 100

// fleetCommand looks after fleets until it is told to stop.
func (p Program) fleetCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "fleet",
		Short: "Make the Pods of the kind Envoy until a signal ends it; writes Deployments",
		Long: "Makes a ConfigMap, a Deployment, a Service, a PodDisruptionBudget and a NetworkPolicy for\n" +
			"each Envoy (fleet.ablmnzde.github.io), and says in its status how it is. It runs apart\n" +
			"from serve, with rights of its own. Stop it by SIGTERM or SIGINT: the Envoys go on.",
		Args: cobra.NoArgs,
		RunE: p.configured(p.fleet),
	}
}

func (p Program) fleet(ctx context.Context, c settings.Views) error {
	if err := c.CheckFleet(); err != nil {
		return err
	}
	access, hide, err := kube.Access{Kubeconfig: c.Cluster.Kubeconfig, InCluster: true, Setting: "KUBECONFIG"}.ForLibrary()
	if err != nil {
		return err
	}
	log := p.logger(c.Log, hide)
	access.UserAgent = "endpoint-views-fleet/" + p.Version
	access.QPS, access.Burst = requestsPerSecond, 2*requestsPerSecond
	options := fleet.Options{
		Access: access, Namespaces: c.Fleet.Namespaces, MetricsAddress: c.Stream.MetricsAddress.String(),
		Children: manifests.Settings{EnvoyImage: c.Fleet.EnvoyImage, DrainImage: c.Fleet.Image},
		Logger:   logr.FromSlogHandler(log.Handler()),
	}
	options.Children.Host, options.Children.Port = c.Fleet.HostPort()
	if c.Fleet.Election {
		options.LeaseNamespace, options.LeaseName = c.Fleet.LeaseNS, c.Fleet.LeaseName
	}
	if c.Fleet.ServeURL != "" {
		asked, err := fleet.NewStreams(fleet.StreamsOptions{Address: c.Fleet.ServeURL, AuthorityFile: c.Fleet.ServeCA, TokenFile: c.Fleet.ServeToken})
		if err != nil {
			return err
		}
		options.Streams = asked
	}
	operator, err := fleet.New(options)
	if err != nil {
		return commandline.Exit(exitFailed, errors.New("cannot find out which kinds the API server has: "+hide(err.Error())))
	}
	log.Info("starting", "version", p.Version, "metrics_address", options.MetricsAddress)
	defer log.Info("stopped")
	if err := operator.Run(ctx); err != nil {
		return commandline.Exit(exitFailed, errors.New(hide(err.Error())))
	}
	return nil
}
