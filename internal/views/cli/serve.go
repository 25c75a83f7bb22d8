package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/commandline"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/stream"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/watch"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/views/xds"
)

// serveCommand serves the views until it is told to stop.
func (p Program) serveCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "serve",
		Short: "Serve the views as lists and streams until a signal ends it",
		Long: "Watches Services and EndpointSlices and serves GET /api/v1/views at VIEWS_ADDRESS:\n" +
			"a list, or with watch=true a stream in the form of a Kubernetes watch. Every\n" +
			"replica serves; there is no leader. Stop it by SIGTERM or SIGINT.",
		Args: cobra.NoArgs,
		RunE: p.configured(p.serve),
	}
}

// serveParts is what serve runs.
type serveParts struct {
	log     *slog.Logger
	source  *watch.Watcher
	server  *stream.Server
	health  *http.Server
	metrics net.Listener
	// identities, fleets and certificates say why the newest files are not in effect.
	identities, fleets, certificates func() error
	// objects is nil where fleets are not read from the API server.
	objects *watch.Envoys
	// xds is nil where xDS is not served; then listening stays false.
	xds       *xds.Server
	listening atomic.Bool
}

func (p Program) serve(ctx context.Context, c settings.Views) error {
	s, err := p.build(c)
	if err != nil {
		return err
	}
	for _, warning := range c.Warnings() {
		s.log.Warn("environment variable without effect", "variable", warning.Variable, "message", warning.Rule, "remedy", warning.Remedy)
	}
	if err := s.listen(ctx, c); err != nil {
		return err
	}
	s.log.Info("starting", "version", p.Version, "views_address", s.server.Address().String(), "metrics_address", s.metrics.Addr().String())
	defer s.log.Info("stopped")
	return s.run(ctx)
}

// build makes everything from the configuration. Nothing is asked or started yet.
func (p Program) build(c settings.Views) (*serveParts, error) {
	s := &serveParts{log: p.logger(c.Log, nil), fleets: func() error { return nil }, certificates: tlsFiles(c).Check}
	var err error
	if s.source, err = p.source(c, p.way(c, false), c.Cluster.Namespaces); err != nil {
		return nil, err
	}
	var identities *stream.Identities
	if c.Stream.Identities != "" {
		if identities, err = stream.ReadIdentities(c.Stream.Identities); err != nil {
			return nil, fmt.Errorf("VIEWS_IDENTITIES_FILE: %w", err)
		}
	}
	s.identities = identities.Problem
	options := stream.Options{
		Address: c.Stream.Address, Identities: identities, Cache: s.source.Cache(), Stale: s.source.Stale,
		TLS: tlsFiles(c), MostClients: c.Stream.MostClients, MostOfOne: c.Stream.MostOfOne, Logger: s.log,
	}
	if c.XDS.On() {
		options.Proxies, options.Fleets = s.proxies, s.followed
	}
	if s.server, err = stream.New(options); err != nil {
		return nil, err
	}
	if err := p.buildXDS(s, c, identities); err != nil {
		return nil, err
	}
	s.buildHealth(p.Version)
	return s, nil
}

// buildHealth makes the server of health and metrics.
func (s *serveParts) buildHealth(version string) {
	options := MetricsOptions{
		Version: version, Cache: s.source.Cache(), Server: s.server, Stale: s.source.Stale, Identities: s.identities,
		Known: s.source.Known, Requests: s.source.Requests,
	}
	if s.xds != nil {
		options.XDS = s.xds.Stats
	}
	s.health = &http.Server{
		Handler:           stream.Health(s.source.Cache(), s.source.Trouble, s.opens, MetricsHandler(options)),
		ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 10 * time.Second, WriteTimeout: 15 * time.Second, IdleTimeout: time.Minute,
		MaxHeaderBytes: 16 << 10, ConnState: transport.NewRoom(64, 0, 0).Note, ErrorLog: slog.NewLogLogger(s.log.Handler(), slog.LevelDebug),
	}
}

// listen takes both addresses.
func (s *serveParts) listen(ctx context.Context, c settings.Views) error {
	if err := s.server.Listen(ctx); err != nil {
		return err
	}
	var listening net.ListenConfig
	var err error
	if s.metrics, err = listening.Listen(ctx, "tcp", c.Stream.MetricsAddress.String()); err != nil {
		return fmt.Errorf("METRICS_ADDRESS=%s cannot be listened on; set it to another address, for example 127.0.0.1:0 for any free port: %w", c.Stream.MetricsAddress, err)
	}
	return nil
}

// run serves until ctx ends. A listener that breaks ends the program.
func (s *serveParts) run(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var running sync.WaitGroup
	running.Go(func() { s.source.Run(ctx) })
	running.Go(func() { s.tell(ctx) })
	serve := func(run func(context.Context) error) {
		running.Go(func() {
			if err := run(ctx); err != nil {
				cancel(err)
			}
		})
	}
	serve(s.server.Run)
	if s.objects != nil {
		running.Go(func() { s.objects.Run(ctx) })
	}
	if s.xds != nil {
		serve(s.xds.Run)
	}
	running.Go(func() {
		if err := s.health.Serve(s.metrics); !errors.Is(err, http.ErrServerClosed) {
			cancel(fmt.Errorf("serve %s: %w", s.metrics.Addr(), err))
		}
	})
	<-ctx.Done()
	_ = s.health.Close()
	running.Wait()
	if cause := context.Cause(ctx); !errors.Is(cause, context.Canceled) {
		return commandline.Exit(exitFailed, cause)
	}
	return nil
}

// tell logs what changes about the sight of the API server and the identities.
func (s *serveParts) tell(ctx context.Context) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	var synced, stale, identities, fleets, certificates, silent bool
	var crowded []string
	for {
		select {
		case <-ctx.Done():
			return
		case now := <-ticker.C:
			if !synced && s.source.Cache().Synced() {
				synced = true
				s.log.Info("every watch has brought a complete list", "endpoints", s.source.Cache().Count())
			}
			_, err := s.source.Stale(now)
			s.turn(&stale, err, "the watches are not current, the last state is kept", "the watches are current again")
			crowded = tellCrowded(s.log, crowded, s.source.Cache().Crowded())
			s.turn(&identities, s.identities(), "the new list of identities has a mistake, the last good one stays in effect", "the list of identities is in effect")
			s.turn(&fleets, s.fleets(), "the new list of fleets has a mistake, the last good one stays in effect", "the list of fleets is in effect")
			s.turn(&certificates, s.certificates(), "the new certificates of the server cannot be used, the last good ones stay in effect", "the certificates of the server are in effect")
			s.turn(&silent, s.objects.Problem(), "the API server tells nothing of fleets, the last state is kept", "the API server tells of fleets")
		}
	}
}

// tellCrowded logs what is new of the namespaces of which not all is kept, and returns them.
func tellCrowded(log *slog.Logger, before, now []string) []string {
	for _, namespace := range now {
		if !slices.Contains(before, namespace) {
			log.Error("not all Services and endpoints of a namespace are shown: they take more memory than one namespace may take; the shown ones stay; remove Services, or shorten their ports and annotations", "namespace", namespace)
		}
	}
	for _, namespace := range before {
		if !slices.Contains(now, namespace) {
			log.Info("all Services and endpoints of the namespace are shown again", "namespace", namespace)
		}
	}
	return now
}

// turn notes whether something is wrong, and logs it where that is news.
func (s *serveParts) turn(wrong *bool, err error, begins, ends string) {
	was := *wrong
	switch *wrong = err != nil; {
	case *wrong && !was:
		s.log.Warn(begins, "error", err) //nolint:sloglint // each caller gives a constant
	case was && !*wrong:
		s.log.Info(ends) //nolint:sloglint // see above
	}
}
