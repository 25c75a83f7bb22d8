package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/admin"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/config"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/event"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/folder"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kubeapi"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/metrics"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/narration"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/resolve"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/serve"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/store/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/syncer"
)

// many is what documents are turned into.
type many struct {
	*parts
	environ []string
	server  *serve.Server
}

// serve fills the Services that documents choose, until ctx ends.
func (p Program) serve(ctx context.Context, c config.Config, dryRun bool) error {
	b, err := p.buildMany(c, dryRun)
	if err != nil {
		return &exitError{ExitUsage, err}
	}
	b.warn()
	b.log.Info("starting", "version", b.version, "documents_dir", c.Documents.Dir, "store_kind", string(c.Store.Kind),
		"dry_run", b.dryRun, "leader_election", b.leader.state().Enabled)
	defer b.log.Info("stopped, the slices are left as they are")
	return stoodBy(b.serving(ctx, b.surfaces(), func(ctx context.Context) error { return b.lead(ctx, b.server.Run) }))
}

// buildMany makes everything from the configuration. Nothing is asked or started yet.
func (p Program) buildMany(c config.Config, dryRun bool) (*many, error) {
	if c.Store.Kind != config.StoreClientGo {
		return nil, fmt.Errorf("STORE_KIND=%s is for one Service of variables; with DOCUMENTS_DIR set STORE_KIND=client-go, and DRY_RUN=true to write nothing", c.Store.Kind)
	}
	b := &many{parts: &parts{config: c, version: p.Version, dryRun: dryRun || c.Run.DryRun, log: logger(p.Stderr, c.Log)}, environ: p.Environ}
	var err error
	if b.metrics, err = b.newMetricsOfMany(); err != nil {
		return nil, err
	}
	if b.leader, err = newLeadership(c, b.dryRun, b.log, b.metrics); err != nil {
		return nil, err
	}
	hub, err := kube.New(kube.Options{Way: localWay(c.Store, b.metrics, metrics.ClientStore), ManagedBy: c.Target.ManagedBy, Named: true})
	if err != nil {
		return nil, fmt.Errorf("STORE_KIND=client-go: %w", err)
	}
	watcher, err := folder.New(folder.Options{Dir: c.Documents.Dir})
	if err != nil {
		return nil, err
	}
	b.events = newEvents(c, b.dryRun, b.log, b.metrics)
	b.server, err = serve.New(serve.Options{
		Documents: watcher, Watch: watcher.Run, Hub: hub, Labels: b.namespaceLabels,
		Fence:    func(s syncer.Store) syncer.Store { return b.metrics.Store(b.leader.fence(s)) },
		Supply:   b.supply,
		Checking: b.checking,

		ManagedBy: c.Target.ManagedBy, MaxEndpoints: c.Target.MaxEndpointsPerSlice, Concurrency: c.Health.Concurrency,
		DryRun: b.dryRun, Logger: b.log, Announce: b.announcing(),
	})
	return b, err
}

// newMetricsOfMany counts what the parts do.
func (b *many) newMetricsOfMany() (*metrics.Metrics, error) {
	return metrics.New(metrics.Options{
		Version: b.version, Many: true,
		Leading: func() bool { return b.leader.state().Leading },
		LoopAge: func() time.Duration { return b.server.LoopAge() },
		Events:  func() metrics.Events { return b.events.counts() },
	})
}

// announcing returns what makes a notice known at a Service.
func (b *many) announcing() func(resolve.Key, narration.Notice) {
	if b.events.announcer == nil {
		return nil
	}
	subjects := newSubjects(b.events.announcer)
	return func(key resolve.Key, notice narration.Notice) { subjects.of(key).Announce(notice) }
}

// namespaceLabels reads the labels of all namespaces.
func (b *many) namespaceLabels(ctx context.Context) (map[string]map[string]string, error) {
	client, err := kubeapi.New(kubeapi.Options{Way: localWay(b.config.Store, b.metrics, metrics.ClientStore), UserAgent: event.Controller})
	if err != nil {
		return nil, err
	}
	defer client.Close()
	if err := client.Refresh(); err != nil {
		return nil, err
	}
	var list corev1.NamespaceList
	if err := client.List(ctx, kubeapi.Namespaces(), metav1.ListOptions{}, &list); err != nil {
		return nil, err
	}
	labels := make(map[string]map[string]string, len(list.Items))
	for _, n := range list.Items {
		labels[n.Name] = n.Labels
	}
	return labels, nil
}

// surfaces are what the listeners show: probes, metrics and the configuration.
func (b *many) surfaces() admin.Options {
	return admin.Options{
		Admin: b.config.Listen.Admin, Metrics: b.config.Listen.Metrics,
		Configuration: func() fmt.Stringer { return b.config.Describe() },
		Live:          []admin.Check{{Name: "loop", Run: b.alive}, {Name: "election", Run: b.electionAlive}},
		Ready:         []admin.Check{{Name: "decision", Run: b.planned}},
		Scrape:        b.metrics.Handler(),
		Logger:        b.log,
	}
}

// alive and planned are liveness and readiness (contract 31).
func (b *many) alive() error {
	if !b.server.Alive() {
		return fmt.Errorf("no pass for %s", serve.Stalled)
	}
	return nil
}

func (b *many) planned() error {
	if b.leader.state().Leading && !b.server.Decided() {
		return errors.New("no decision has been made yet")
	}
	return nil
}

// warn logs which variables have no effect.
func (b *parts) warn() {
	for _, warning := range b.config.Warnings() {
		b.log.Warn("environment variable without effect", "variable", warning.Variable, "problem", warning.Rule, "remedy", warning.Remedy)
	}
}
