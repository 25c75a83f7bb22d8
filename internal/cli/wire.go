package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/afero"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/config"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kubeapi"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/metrics"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/plan"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/probe"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/source/command"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/source/file"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/source/ionos"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/source/kubernetes"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/source/static"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/store/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/store/kubectl"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/store/memory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/syncer"
)

// parts is what the configuration is turned into.
type parts struct {
	config  config.Config
	version string
	dryRun  bool
	log     *slog.Logger
	target  plan.Target
	source  origin
	store   storage
	leader  leadership
	metrics *metrics.Metrics
	events  *events
	syncer  *syncer.Syncer
}

// build reads the configuration and makes everything from it. Nothing is asked
// or started yet.
func (p Program) build(dryRun bool) (*parts, error) {
	c, err := p.loadOne()
	if err != nil {
		return nil, err
	}
	b := &parts{config: c, version: p.Version, dryRun: dryRun || c.Run.DryRun, log: logger(p.Stderr, c.Log), target: target(c.Target)}
	if b.metrics, err = b.newMetrics(); err != nil {
		return nil, err
	}
	if b.source, err = newSource(c, b.metrics); err != nil {
		return nil, &exitError{ExitUsage, err}
	}
	if b.store, err = p.newStore(c, b.target, b.metrics); err != nil {
		return nil, &exitError{ExitUsage, err}
	}
	if b.leader, err = newLeadership(c, b.dryRun, b.log, b.metrics); err != nil {
		return nil, &exitError{ExitUsage, err}
	}
	b.events = newEvents(c, b.dryRun, b.log, b.metrics)
	options := syncer.Options{
		Source: b.metrics.Source(string(c.Source.Kind), b.source), Store: b.metrics.Store(b.leader.fence(b.store)),
		SourceChanged: b.source.changed, StoreChanged: b.store.changed,
		FreeReads: c.Source.Kind.Free(), Lanes: lanes(c),
		Target: b.target, Rules: rules(c), Policy: policy(c),
		PollInterval: c.Source.PollInterval, SourceTimeout: c.Source.Timeout,
		HealthTimeout: c.Health.Timeout, Concurrency: c.Health.Concurrency,
		DryRun: b.dryRun, Logger: b.log,
	}
	if c.Health.Mode != config.HealthOff {
		checker, err := newChecker(c.Health)
		if err != nil {
			return nil, &exitError{ExitUsage, err}
		}
		options.Prober = b.metrics.Prober(checker)
		if c.Health.HoldConnection {
			options.Hold.Port = c.Health.Port
		}
	}
	b.events.listen(&options)
	if b.syncer, err = syncer.New(options); err != nil {
		return nil, &exitError{ExitUsage, err}
	}
	return b, nil
}

// logger writes to out in the form asked for; auto is text on a terminal.
func logger(out io.Writer, c config.Log) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.Level.Level()}
	if q, ok := out.(*queue); ok {
		q.tell = logger(q.out, c)
	}
	if c.Format == config.LogText || c.Format == config.LogAuto && isTerminal(out) {
		return slog.New(slog.NewTextHandler(out, options))
	}
	return slog.New(slog.NewJSONHandler(out, options))
}

// target is the Service to fill.
func target(c config.Target) plan.Target {
	t := plan.Target{
		Namespace: c.Namespace, Service: c.ServiceName, SliceName: c.SliceName,
		ManagedBy: c.ManagedBy, MaxEndpoints: c.MaxEndpointsPerSlice, PortFromService: c.PortFromService(),
	}
	for _, port := range c.Backends() {
		t.Ports = append(t.Ports, plan.Port{Name: port.Name, Protocol: plan.Protocol(port.Protocol), Number: port.Number})
	}
	return t
}

// rules are the filter's; only the memory store, which routes no traffic, accepts
// loopback addresses.
func rules(c config.Config) filter.Rules {
	return filter.Rules{Subnets: c.Secured.Subnets, AllowLoopback: c.Store.Kind == config.StoreMemory}
}

// policy is the guard's.
func policy(c config.Config) guard.Policy {
	return guard.Policy{
		HealthOff: c.Health.Mode == config.HealthOff, Rise: c.Health.Rise, Fall: c.Health.Fall, Interval: c.Health.Interval,
		MaxSilentPercent: c.Guard.MaxSilentPercent, FailOpen: c.Guard.FailOpen,
		Threshold: c.Guard.EmptyResultThreshold, PollInterval: c.Source.PollInterval, MaxRemovalPercent: c.Guard.MaxRemovalPercent, DrainPeriod: c.Guard.DrainPeriod,
	}
}

// lanes is how many writes may be in flight, 0 for as many as is usual. Each write
// of kubectl is a process of its own, which is memory of the Pod.
func lanes(c config.Config) int {
	if c.Store.Kind == config.StoreKubectl {
		return 2
	}
	return 0
}

// origin is a source, and what goes with it.
type origin struct {
	syncer.Source
	// changed receives a value when the next read will differ, nil where the source
	// cannot know; run has to run beside it, nil where nothing has to.
	changed <-chan struct{}
	run     func(context.Context) error
	// cloud is the source where it is the IONOS Cloud, remote what watches the nodes
	// of the remote cluster; nil where there is none.
	cloud  *ionos.Source
	remote *kubernetes.Source
}

// newSource makes the source that SOURCE_KIND names.
func newSource(c config.Config, m *metrics.Metrics) (origin, error) {
	var s syncer.Source
	var err error
	switch c.Source.Kind {
	case config.SourceStatic:
		nodes := make([]static.Node, len(c.Static.Nodes))
		for i, n := range c.Static.Nodes {
			nodes[i] = static.Node{Name: n.Name, Address: n.Addr}
		}
		s, err = static.New(static.Options{Nodes: nodes})
	case config.SourceFile:
		s, err = file.New(file.Options{FS: afero.NewOsFs(), Path: c.File.Path})
	case config.SourceCommand:
		s, err = command.New(command.Options{Path: c.Command.Path, Args: c.Command.Args, Environ: c.Command.Environment.Read})
	case config.SourceKubernetes:
		nodes, err := newKubernetes(c.Secured, m)
		if err != nil {
			return origin{}, err
		}
		return origin{Source: nodes, changed: nodes.Changed(), run: nodes.Run, remote: nodes}, nil
	case config.SourceIONOS:
		return newIONOS(c, m)
	default:
		err = fmt.Errorf("SOURCE_KIND=%s is not built in", c.Source.Kind)
	}
	return origin{Source: s}, err
}

// newIONOS makes the source of addresses; the nodes are those of the remote
// cluster where there is a way to it.
func newIONOS(c config.Config, m *metrics.Metrics) (origin, error) {
	options := ionos.Options{
		Username: c.IONOS.Username, APIURL: c.IONOS.APIURL, DatacenterID: c.IONOS.DatacenterID,
		LANID: c.IONOS.PrivateLANID, ClusterID: c.IONOS.ClusterID, Selector: c.Secured.NodeSelector, Subnets: c.Secured.Subnets, Wrap: m.Transport(metrics.ClientSource),
	}
	if c.IONOS.Token.IsSet() {
		options.Token = c.IONOS.Token.Read
	}
	if c.IONOS.Password.IsSet() {
		options.Password = c.IONOS.Password.Read
	}
	var nodes *kubernetes.Source
	if c.Secured.Kubeconfig != "" {
		var err error
		if nodes, err = newKubernetes(c.Secured, m); err != nil {
			return origin{}, err
		}
		options.Nodes, options.NodesChanged, options.RunNodes = nodes, nodes.Changed(), nodes.Run
		options.PollInterval = c.Source.PollInterval
	}
	cloud, err := ionos.New(options)
	if err != nil {
		return origin{}, err
	}
	return origin{Source: cloud, changed: cloud.Changed(), run: cloud.Run, cloud: cloud, remote: nodes}, nil
}

// newKubernetes makes the source that watches the nodes of the remote cluster.
func newKubernetes(c config.Secured, m *metrics.Metrics) (*kubernetes.Source, error) {
	return kubernetes.New(kubernetes.Options{
		Way: remoteWay(c, m), Selector: c.NodeSelector,
	})
}

// storage is a store, and what goes with it; see origin.
type storage struct {
	syncer.Store
	changed <-chan struct{}
	run     func(context.Context) error
	// expiry is nil where the store has no credential of its own.
	expiry func() kubeapi.Expiry
}

// newStore makes the store that STORE_KIND names.
func (p Program) newStore(c config.Config, t plan.Target, m *metrics.Metrics) (storage, error) {
	switch c.Store.Kind {
	case config.StoreMemory:
		s, err := memory.New(memory.Options{Target: t, Service: imagined(t), Out: p.Stdout})
		if err != nil {
			return storage{}, err
		}
		return storage{Store: s, changed: s.Changed()}, nil
	case config.StoreKubectl:
		s, err := kubectl.New(kubectl.Options{Target: t, Path: c.Store.KubectlPath, Environ: c.Store.Environment.Read})
		return storage{Store: s}, err
	case config.StoreClientGo:
		hub, err := kube.New(kube.Options{Only: &t, Way: localWay(c.Store, m, metrics.ClientStore)})
		if err != nil {
			return storage{}, fmt.Errorf("STORE_KIND=client-go: %w", err)
		}
		s, err := hub.Target(t)
		if err != nil {
			return storage{}, fmt.Errorf("STORE_KIND=client-go: %w", err)
		}
		return storage{Store: s, changed: s.Changed(), run: hub.Run, expiry: hub.Expiry}, nil
	}
	return storage{}, fmt.Errorf("STORE_KIND=%s is not built in", c.Store.Kind)
}

// imagined is the Service that the memory store pretends to have: one that fits
// the target.
func imagined(t plan.Target) plan.Service {
	service := plan.Service{UID: "00000000-0000-0000-0000-000000000000"}
	for _, port := range t.Ports {
		service.Ports = append(service.Ports, plan.ServicePort{Name: port.Name, Protocol: port.Protocol, Port: port.Number, TargetPort: port.Number})
	}
	return service
}

// newChecker makes the health check.
func newChecker(c config.Health) (*probe.Checker, error) {
	return probe.New(probe.Options{
		Mode: probe.Mode(c.Mode), Port: c.Port, Timeout: c.Timeout, Path: c.Path, Host: c.Host, Expected: c.ExpectedStatus,
		TLS: probe.TLS{Roots: c.RootCAs, ServerName: c.TLSServerName, Insecure: c.TLSInsecure},
	})
}
