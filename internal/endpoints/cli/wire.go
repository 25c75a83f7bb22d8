package cli

import (
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"net/netip"
	"strings"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/controller"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents/environment"
	event "github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/events"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/guard"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/health"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/metrics"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// parts is what the configuration is turned into.
type parts struct {
	config  settings.Config
	version string
	dryRun  bool
	log     *slog.Logger
	leader  leadership
	metrics *metrics.Metrics
	// events are nil where none are delivered.
	events *event.Announcer
	server *controller.Server
	// expiry is when the credential of the local cluster expires, nil where it has none.
	expiry func() kube.Expiry
	// carriers are nil for variables, and for a command that reads once.
	carriers *carriers
}

// logger writes to out in the form asked for; auto is text on a terminal.
func logger(out io.Writer, c settings.Log) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.Level.Level()}
	if q, ok := out.(*queue); ok {
		q.tell = logger(q.out, c)
	}
	if c.Format == settings.LogText || c.Format == settings.LogAuto && isTerminal(out) {
		return slog.New(slog.NewTextHandler(out, options))
	}
	return slog.New(slog.NewJSONHandler(out, options))
}

// target is the Service to fill.
func target(c settings.Config) publish.Target {
	_, binding := environment.Documents(c)
	binding.SetDefaults()
	return publish.Target{
		Namespace: c.Target.Namespace, Service: c.Target.ServiceName, SliceName: c.Target.SliceName,
		ManagedBy: c.Target.ManagedBy, MaxEndpoints: c.Target.MaxEndpointsPerSlice, PortFromService: c.Target.Port != 0,
		Ports: ports(binding),
	}
}

// ports are those of the endpoints that a binding names.
func ports(b *v1alpha1.EndpointBinding) (all []publish.Port) {
	for _, p := range b.Spec.Ports {
		all = append(all, publish.Port{Name: p.Name, Protocol: publish.Protocol(p.Protocol), Number: uint16(p.Port)})
	}
	return all
}

// carried are the documents of the variables, the pool with its defaults, and how its
// endpoints are checked.
func carried(c settings.Config) (*v1alpha1.EndpointPool, *v1alpha1.EndpointBinding, assign.Check) {
	pool, binding := environment.Documents(c)
	pool.SetDefaults()
	binding.SetDefaults()
	check, _ := assign.CheckOf(pool, nil, target(c).Ports) // the variables were judged
	return pool, binding, check
}

// rules are the filter's. The ranges were judged where they were read: one that is none
// allows nothing.
func rules(pool *v1alpha1.EndpointPool, a access) filter.Rules {
	return filter.Rules{AllowLoopback: a.loopback, Subnets: prefixes(pool.Spec.Subnets)}
}

func prefixes(subnets []string) (all []netip.Prefix) {
	for _, subnet := range subnets {
		if prefix, err := netip.ParsePrefix(subnet); err == nil {
			all = append(all, prefix)
		}
	}
	return all
}

// policy is the guard's.
func policy(pool *v1alpha1.EndpointPool, check assign.Check) guard.Policy {
	h, g := pool.Spec.HealthCheck, pool.Spec.Guard
	return guard.Policy{
		HealthOff: check.Mode == v1alpha1.HealthCheckNone, Rise: int(*h.Rise), Fall: int(*h.Fall), Interval: h.Interval.Duration,
		MaxSilentPercent: int(*g.MaxSilentPercent), FailOpen: *g.FailOpen, Threshold: int(*g.EmptyResultThreshold),
		PollInterval: pool.Spec.PollInterval.Duration, MaxRemovalPercent: int(*g.MaxRemovalPercent), DrainPeriod: g.DrainPeriod.Duration,
	}
}

// lanes is how many writes may be in flight, 0 for as many as is usual. Each write
// of kubectl is a process of its own, which is memory of the Pod.
func lanes(c settings.Config) int {
	if c.Store.Kind == settings.StoreKubectl {
		return 2
	}
	return 0
}

// imagined is the Service that the memory store pretends to have: one that fits
// the ports.
func imagined(ports []publish.Port) publish.Service {
	service := publish.Service{UID: "00000000-0000-0000-0000-000000000000"}
	for _, port := range ports {
		service.Ports = append(service.Ports, publish.ServicePort{Name: port.Name, Protocol: port.Protocol, Port: port.Number, TargetPort: port.Number})
	}
	return service
}

// newChecker makes the health check. The authorities of an HTTPS check are read once
// now, so that a file without any is a mistake. One that cannot be read now may be later.
func newChecker(pool *v1alpha1.EndpointPool, check assign.Check, a access) (*health.Checker, error) {
	options := health.Options{
		Mode: health.Mode(strings.ToLower(string(check.Mode))), Port: check.Port, Timeout: pool.Spec.HealthCheck.Timeout.Duration, Path: check.Path, Host: check.Host,
	}
	if check.ExpectedStatus != "" {
		options.Expected = settings.ParseStatuses(strings.Split(check.ExpectedStatus, ",")...)
	}
	if check.Mode == v1alpha1.HealthCheckHTTPS {
		options.TLS = health.TLS{Roots: a.roots, ServerName: pool.Spec.HealthCheck.TLSServerName, Insecure: *pool.Spec.HealthCheck.TLSInsecure}
		roots, err := a.roots()
		_, unread := errors.AsType[*fs.PathError](err)
		switch {
		case unread:
		case options.TLS.Insecure && (roots != nil || err != nil):
			return nil, errors.New("HEALTH_CHECK_TLS_INSECURE contradicts HEALTH_CHECK_TLS_CA_FILE; remove one of them")
		case err != nil:
			return nil, err
		}
	}
	return health.New(options), nil
}
