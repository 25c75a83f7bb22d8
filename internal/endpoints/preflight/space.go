package preflight

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish/manifest"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// spacesAtATime is how many namespaces are asked at the same time.
const spacesAtATime = 8

// space is a namespace of the local cluster, and what was found in it.
type space struct {
	*cluster
	name string

	services    []*corev1.Service
	servicesErr error
	slices      []*discoveryv1.EndpointSlice
	slicesErr   error
	rights      []Check
}

// findSpaces reads the Services of each namespace that pools and bindings name.
func (l *look) findSpaces(ctx context.Context) []Check {
	var checks []Check
	if selects(l.Documents.Pools()) {
		var err error
		if l.api.labels, err = l.Labels(ctx); err != nil {
			checks = append(checks, RightsNamespaces.fail("labels of namespaces", "%v, so the namespaces that pools select by labels are not looked at", err))
		}
	}
	for name := range l.Documents.Namespaces(l.api.labels) {
		if l.Namespace == "" || l.Namespace == name {
			l.spaces = append(l.spaces, &space{cluster: l.api.cluster, name: name})
		}
	}
	slices.SortFunc(l.spaces, func(a, b *space) int { return strings.Compare(a.name, b.name) })
	inTurn(l.spaces, func(s *space) {
		s.services, s.servicesErr = s.readServices(ctx, l.named(s.name), l.Config.Store.Kind == settings.StoreKubectl)
	})
	return checks
}

// selects reports whether a pool selects namespaces by labels.
func selects(pools []*v1alpha1.EndpointPool) bool {
	return slices.ContainsFunc(pools, func(p *v1alpha1.EndpointPool) bool {
		return slices.ContainsFunc(p.Spec.Allow, func(a v1alpha1.PoolAllowance) bool { return a.NamespaceSelector != nil })
	})
}

// inTurn does something to each namespace, a few at a time.
func inTurn(spaces []*space, do func(*space)) {
	free := make(chan struct{}, spacesAtATime)
	each(spaces, func(s *space) {
		free <- struct{}{}
		defer func() { <-free }()
		do(s)
	})
}

// alone reports whether the daemon has rights to its Services by their names: with the
// variables, and with kubectl, which knows no other Services.
func (o Options) alone() bool {
	return o.Documents.Variables || o.Config.Store.Kind == settings.StoreKubectl
}

// named are the Services of a namespace that are read by their names; nil for all.
func (o Options) named(namespace string) []string {
	if o.Service != "" {
		return []string{o.Service}
	}
	if !o.alone() {
		return nil
	}
	var names []string
	for _, b := range o.Documents.Bindings() {
		if b.Namespace == namespace {
			names = append(names, b.Name)
		}
	}
	return names
}

// readServices reads the Services of those names, or all, by the verb that the daemon has
// a right to.
func (s *space) readServices(ctx context.Context, names []string, get bool) ([]*corev1.Service, error) {
	list, selection := &corev1.ServiceList{}, metav1.ListOptions{}
	if get {
		for _, name := range names {
			one := &corev1.Service{}
			one, err := present(one, s.client.Get(ctx, kube.Services(s.name), name, one))
			if err != nil {
				return nil, err
			}
			if one != nil {
				list.Items = append(list.Items, *one)
			}
		}
		return pointers(list.Items), nil
	}
	if len(names) > 0 {
		selection = kube.Named(names[0])
	}
	err := s.client.List(ctx, kube.Services(s.name), selection, list)
	return pointers(list.Items), err
}

func pointers[T any](items []T) []*T {
	all := make([]*T, len(items))
	for i := range items {
		all[i] = &items[i]
	}
	return all
}

// serviceOf is what decides about a Service.
func serviceOf(object *corev1.Service) assign.Service {
	return assign.Service{
		Key: assign.Key{Namespace: object.Namespace, Service: object.Name}, Annotations: object.Annotations,
		Service: manifest.ServiceOf(object),
	}
}

// askSpaces asks in each namespace for the slices and for the rights.
func (l *look) askSpaces(ctx context.Context) {
	if !l.api.answers {
		return
	}
	defer l.slow("asking for slices and rights")()
	lease := l.Config.Leader
	if lease.Election && l.looksAt(Rights) && l.space(lease.Namespace) == nil {
		l.lease = l.api.cluster.judgeRights(ctx, l.api.user, lease.Namespace, OfLease(l.Config))
	}
	inTurn(l.spaces, func(s *space) {
		targets := l.targets(s.name)
		if len(targets) > 0 && (l.looksAt(Slices) || l.looksAt(Rights) && l.alone()) {
			s.slices, s.slicesErr = s.readSlices(ctx, targets)
		}
		if l.looksAt(Rights) {
			s.rights = s.judgeRights(ctx, l.api.user, s.name, l.needed(s, targets))
		}
	})
}

// targets are what the pools give the Services of a namespace.
func (l *look) targets(namespace string) []publish.Target {
	var targets []publish.Target
	for _, t := range l.plan.Targets {
		for _, u := range t.Uses {
			if t.Namespace == namespace {
				targets = append(targets, l.target(t.Key, u.Use))
			}
		}
	}
	return targets
}

// readSlices reads those of one target by their label and, whatever their labels say, by
// their names; where there are more targets, all of the namespace.
func (s *space) readSlices(ctx context.Context, targets []publish.Target) ([]*discoveryv1.EndpointSlice, error) {
	selections := []metav1.ListOptions{{}}
	if len(targets) == 1 {
		t := targets[0]
		selections = []metav1.ListOptions{
			{LabelSelector: labels.Set{discoveryv1.LabelServiceName: t.Service}.String()}, kube.Named(t.NameOf(publish.IPv4, 1)), kube.Named(t.NameOf(publish.IPv6, 1)),
		}
	}
	var found []*discoveryv1.EndpointSlice
	seen := make(map[string]bool)
	for _, selection := range selections {
		list := &discoveryv1.EndpointSliceList{}
		if err := s.client.List(ctx, kube.EndpointSlices(s.name), selection, list); err != nil {
			return nil, fmt.Errorf("list the slices: %w", err)
		}
		for _, slice := range pointers(list.Items) {
			if !seen[slice.Name] {
				seen[slice.Name], found = true, append(found, slice)
			}
		}
	}
	return found, nil
}
