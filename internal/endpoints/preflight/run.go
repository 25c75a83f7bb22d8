package preflight

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/filter"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// Options are the configuration, the documents, and the ways to what they name. A way
// that cannot be made is an error of the function that would be it.
type Options struct {
	Config settings.Config
	// InPod says that the program runs in a Pod.
	InPod bool
	// Documents are those of any carrier; the variables are one.
	Documents documents.Set
	// Namespace and Service narrow what is looked at; empty for all.
	Namespace, Service string
	// Source makes the source of a pool.
	Source func(*v1alpha1.EndpointPool) (Origin, error)
	// Checker makes what checks one endpoint of a group once.
	Checker func(*v1alpha1.EndpointPool, assign.Check) func(context.Context, netip.Addr) inventory.Result
	// Labels reads the labels of all namespaces.
	Labels func(context.Context) (map[string]map[string]string, error)
	// Local is the way to the local API server; nil where none is asked.
	Local kube.Way
	// Kubectl lets the store of that name read the slices of a Service; nil for another store.
	Kubectl func(context.Context, publish.Target) error
	// Only are the areas to look at; all where there is none.
	Only []Section
	// Slow is called with what takes longer than slowAfter; it may be nil.
	Slow func(what string)
}

// Origin is the source of a pool, and what goes with it.
type Origin struct {
	Rules filter.Rules
	// Read reads it once; Cloud returns what else that read taught, nil without a cloud.
	Read  func(context.Context) ([]inventory.Node, error)
	Cloud func() CloudFacts
	// Remote is the way to the API server of the nodes; nil where none is asked.
	Remote kube.Way
	// Secrets must not appear in the report, whatever text repeats them.
	Secrets []string
}

// slowAfter is after how long Slow is called.
const slowAfter = 2 * time.Second

// look is one look at everything. Each part is written by one goroutine.
type look struct {
	Options
	pools  []*pool
	api    apiView
	spaces []*space
	plan   assign.Plan
	// What the goroutines say, a list for each.
	local, kubectl, lease, probes []Check
}

// Run checks everything, or the areas of o.Only, and returns when it is done or ctx
// ends. What could not be checked by then has failed.
func Run(ctx context.Context, o Options) Report {
	l := &look{Options: o}
	for _, document := range o.Documents.Pools() {
		l.pools = append(l.pools, &pool{document: document})
	}
	defer l.api.close()
	together(
		func() { each(l.pools, func(p *pool) { l.look(ctx, p) }) },
		func() { l.local = l.askLocal(ctx) },
	)
	l.resolve()
	together(
		func() { l.askSpaces(ctx) },
		func() { l.kubectl = l.runKubectl(ctx) },
		func() { l.probes = l.probe(ctx) },
	)
	return NewReport(hide(o.chosen(l.checks()), l.secrets()))
}

// checks are all that was found.
func (l *look) checks() []Check {
	all := slices.Concat(Odd(l.Config, l.Documents, l.InPod), OfDocuments(l.Documents, l.Config.Documents), l.local, l.kubectl)
	for _, p := range l.pools {
		all = append(all, l.ofPool(p)...)
	}
	return slices.Concat(all, l.ofRights(), l.judgeServices(), l.probes)
}

// resolve says which Services use which pools. Where the Services are not known, those of
// the bindings are taken to have the bindings' ports.
func (l *look) resolve() {
	in := assign.InputOf(l.Documents)
	in.Now, in.Complete, in.Unread, in.Namespaces = time.Now(), true, make(map[string]bool), l.api.labels
	in.Nodes = make(map[string]int)
	for _, p := range l.pools {
		in.Nodes[p.document.Name] = len(p.nodes)
	}
	in.Health = func(assign.Group) (assign.Health, bool) { return assign.Health{}, false }
	in.Stored = func(assign.Key, string) (assign.Count, bool) { return assign.Count{}, false }
	in.Bindings = slices.DeleteFunc(in.Bindings, func(b v1alpha1.EndpointBinding) bool { return !l.asked(b.Namespace, b.Name) })
	in.Broken = slices.DeleteFunc(in.Broken, func(b assign.Broken) bool { return !l.asked(b.Namespace, b.Service) })
	for _, s := range l.spaces {
		in.Unread[s.name] = s.servicesErr != nil
		for _, object := range s.services {
			if l.asked(s.name, object.Name) {
				in.Services = append(in.Services, serviceOf(object))
			}
		}
	}
	if len(l.spaces) == 0 {
		for _, b := range in.Bindings {
			in.Services = append(in.Services, imagined(b))
		}
	}
	l.plan, _ = assign.Resolve(in, assign.Memory{})
}

// asked reports whether a Service is to be looked at.
func (o Options) asked(namespace, service string) bool {
	return (o.Namespace == "" || o.Namespace == namespace) && (o.Service == "" || o.Service == service)
}

// imagined is the Service of a binding.
func imagined(b v1alpha1.EndpointBinding) assign.Service {
	s := assign.Service{Key: assign.Key{Namespace: b.Namespace, Service: b.Name}, Service: publish.Service{UID: "unknown"}}
	for _, p := range b.Spec.Ports {
		s.Ports = append(s.Ports, publish.ServicePort{Name: p.Name, Protocol: publish.Protocol(p.Protocol), TargetPort: uint16(p.Port)})
	}
	return s
}

// groups are the ways in which the endpoints of a pool are checked.
func (l *look) groups(pool string) []assign.Group {
	return slices.DeleteFunc(l.plan.Groups(), func(g assign.Group) bool { return g.Pool != pool })
}

// target is what a pool gives a Service.
func (l *look) target(key assign.Key, u assign.Use) publish.Target {
	return publish.Target{
		Namespace: key.Namespace, Service: key.Service, SliceName: u.SliceName(key), Pool: u.Label(), ManagedBy: l.Config.Target.ManagedBy,
		Ports: u.Ports, PortFromService: u.PortFromService, MaxEndpoints: l.Config.Target.MaxEndpointsPerSlice, Names: u.Names(key),
	}
}

// together runs all at the same time and returns when all are done.
func together(all ...func()) {
	each(all, func(one func()) { one() })
}

// each does something to all at the same time, and returns when that is done.
func each[T any](all []T, do func(T)) {
	var running sync.WaitGroup
	for _, one := range all {
		running.Go(func() { do(one) })
	}
	running.Wait()
}

// slow calls Slow unless the returned function is called within slowAfter.
func (o Options) slow(what string) (done func()) {
	if o.Slow == nil {
		return func() {}
	}
	timer := time.AfterFunc(slowAfter, func() { o.Slow(what) })
	return func() { timer.Stop() }
}

func (l *look) runKubectl(ctx context.Context) []Check {
	if l.Kubectl == nil || !l.looksAt(API) || len(l.plan.Targets) == 0 {
		return nil
	}
	defer l.slow("running kubectl")()
	subject, t := "KUBECTL_PATH="+l.Config.Store.KubectlPath, l.plan.Targets[0]
	if err := l.Kubectl(ctx, l.target(t.Key, t.Uses[0].Use)); err != nil {
		return []Check{APIKubectl.fail(subject, "%v", err)}
	}
	return []Check{APIKubectl.ok(subject, "kubectl reads the Service and its slices")}
}

// secrets are those of the ways to the API servers, and of the pools.
func (l *look) secrets() []string {
	ways := []kube.Way{l.Local}
	var secrets []string
	for _, p := range l.pools {
		ways, secrets = append(ways, p.origin.Remote), append(secrets, p.origin.Secrets...)
	}
	for _, way := range ways {
		if way == nil {
			continue
		}
		if access, _, err := way.Snapshot(); err == nil {
			secrets = append(secrets, access.BearerToken, access.Password)
		}
	}
	return secrets
}

// about says what the checks are about, where there are several: it stands before each
// subject that does not name it already.
func about(name string, several bool, checks []Check) []Check {
	for i := range checks {
		if c := &checks[i]; several && !strings.Contains(strings.ToLower(c.Subject), name) {
			c.Subject = name + ": " + c.Subject
		}
	}
	return checks
}
