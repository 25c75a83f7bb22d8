package preflight

import (
	"context"
	"iter"
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
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/transport"
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
	Only []string
}

// Origin is the source of a pool, and what goes with it.
type Origin struct {
	Rules filter.Rules
	// Read reads it once; Warnings are what seems wrong in a cloud that was read, nil
	// without a cloud.
	Read     func(context.Context) ([]inventory.Node, error)
	Warnings func() []string
	// Own are the nodes as their own cluster reports them, after Read; nil where no other
	// says what their addresses are.
	Own func() []inventory.Node
	// Follow reads where the Pods of remote Services are; nil where none can be followed.
	Follow func(context.Context, []inventory.RemoteService) map[inventory.RemoteService]PlacementAnswer
	// Remote is the way to the API server of the nodes; nil where none is asked.
	Remote kube.Way
	// Secrets must not appear in the report, whatever text repeats them.
	Secrets []string
}

// looksAt reports whether an area is to be looked at.
func (o Options) looksAt(area string) bool {
	return len(o.Only) == 0 || slices.Contains(o.Only, area)
}

// asks reports whether the area of a check is to be looked at, or one that needs it.
func (o Options) asks(id ID) bool {
	return o.looksAt(id.area()) || slices.ContainsFunc(o.Only, func(area string) bool { return slices.Contains(needs(area), id) })
}

// look is one look at everything.
type look struct {
	Options
	pools []*pool
	// local is the local API server, nil where it cannot be asked, and answers says that it
	// answers.
	local   *cluster
	answers bool
	// labels are those of namespaces, where a pool selects by them.
	labels map[string]map[string]string
	spaces []*space
	plan   assign.Plan
}

// maxText bounds one message, in bytes: a server may answer with a page.
const maxText = 600

// Run checks everything, or the areas of o.Only, and returns when it is done or ctx
// ends. What could not be checked by then has failed.
func Run(ctx context.Context, o Options) Report {
	l := &look{Options: o}
	for _, document := range o.Documents.Pools() {
		l.pools = append(l.pools, &pool{document: document})
	}
	var local []Check
	var asking sync.WaitGroup
	asking.Go(func() { local = l.askLocal(ctx) })
	each(len(l.pools), l.pools, func(_ int, p *pool) { l.look(ctx, p) })
	asking.Wait()
	var secrets transport.Secrets
	if l.local != nil {
		defer l.local.client.Close()
		secrets.Add(l.local.secrets...)
	}
	l.resolve()
	followed := l.follow(ctx)
	checks := slices.Concat(unusual(l.Config, l.InPod), judgeDocuments(l.Documents), local, l.runKubectl(ctx))
	for _, p := range l.pools {
		checks = append(checks, l.ofPool(p)...)
		secrets.Add(p.origin.Secrets...)
	}
	checks = slices.Concat(checks, followed, l.judgeServices(), l.probe(ctx))
	// A server may send back a secret that it was sent. User names and passwords in URLs are
	// secrets too.
	return NewReport(edit(o.chosen(checks), func(text string) string { return transport.Cut(secrets.Hide(text), maxText) }))
}

// chosen returns the checks of the areas that are to be looked at, and what failed of
// those that they need.
func (o Options) chosen(checks []Check) []Check {
	return slices.DeleteFunc(checks, func(c Check) bool { return !o.looksAt(c.Area) && !(c.Result == Fail && o.asks(c.ID)) })
}

// resolve says which Services use which pools. Where the Services are not known, those of
// the bindings are taken to have the bindings' ports.
func (l *look) resolve() {
	in := assign.InputOf(l.Documents)
	in.Now, in.Complete, in.Unread, in.Namespaces = time.Now(), true, make(map[string]bool), l.labels
	in.Nodes = make(map[string]int)
	for _, p := range l.pools {
		in.Nodes[p.document.Name] = len(p.nodes)
	}
	in.Health = func(assign.Group) (assign.Health, bool) { return assign.Health{}, false }
	in.Stored = func(assign.Key, string) (iter.Seq[netip.Addr], bool) { return nil, false }
	in.Drains = func(assign.Key, string) bool { return false }
	in.Bindings = slices.DeleteFunc(in.Bindings, func(b v1alpha1.EndpointBinding) bool { return !l.asked(b.Namespace, b.Name) })
	in.Broken = slices.DeleteFunc(in.Broken, func(b assign.BrokenBinding) bool { return !l.asked(b.Namespace, b.Service) })
	for _, s := range l.spaces {
		in.Unread[s.name] = s.servicesErr != nil
		for _, object := range s.services {
			if l.asked(s.name, object.Name) {
				in.Services = append(in.Services, assign.Service{
					Key: assign.Key{Namespace: s.name, Service: object.Name}, Annotations: object.Annotations, Service: publish.ServiceOf(&object),
				})
			}
		}
	}
	if !l.answers {
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

// target is what a pool gives a Service.
func (o Options) target(key assign.Key, u assign.Use) publish.Target {
	t := u.Target(key)
	t.ManagedBy = o.Config.Target.ManagedBy
	return t
}

// each does something to all, so many at a time, and returns when that is done.
func each[T any](atATime int, all []T, do func(i int, one T)) {
	free := make(chan struct{}, atATime)
	var running sync.WaitGroup
	for i, one := range all {
		free <- struct{}{}
		running.Go(func() {
			defer func() { <-free }()
			do(i, one)
		})
	}
	running.Wait()
}

func (l *look) runKubectl(ctx context.Context) []Check {
	if l.Kubectl == nil || !l.looksAt(APIKubectl.area()) || len(l.plan.Targets) == 0 {
		return nil
	}
	subject, t := "KUBECTL_PATH="+l.Config.Store.KubectlPath, l.plan.Targets[0]
	if err := l.Kubectl(ctx, l.target(t.Key, t.Uses[0].Use)); err != nil {
		return []Check{APIKubectl.fail(subject, "%v", err)}
	}
	return []Check{APIKubectl.ok(subject, "kubectl reads the Service and its slices")}
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
