package preflight

import (
	"cmp"
	"context"
	"net/netip"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/kube"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/settings"
)

// spacesAtATime is how many namespaces are asked at the same time.
const spacesAtATime = 8

// space is a namespace of the local cluster, and what was found in it.
type space struct {
	name string
	// filled says that pools or bindings name it; else only the Lease is there.
	filled bool

	services    []corev1.Service
	servicesErr error
	slices      []*discoveryv1.EndpointSlice
	slicesErr   error
	rights      []Check
}

// askSpaces asks in each namespace that pools and bindings name for the Services, the slices
// and the rights.
func (l *look) askSpaces(ctx context.Context) []Check {
	var checks []Check
	if selects(l.Documents.Pools()) {
		var err error
		if l.labels, err = l.Labels(ctx); err != nil {
			checks = append(checks, RightsGranted.fail("labels of namespaces", "%v, so the namespaces that pools select by labels are not looked at", err))
		}
	}
	names := l.Documents.Namespaces(l.labels)
	if lease := l.Config.Leader; lease.Election && !names[lease.Namespace] {
		names[lease.Namespace] = false
	}
	for name, filled := range names {
		if l.Namespace == "" || l.Namespace == name {
			l.spaces = append(l.spaces, &space{name: name, filled: filled})
		}
	}
	slices.SortFunc(l.spaces, func(a, b *space) int { return strings.Compare(a.name, b.name) })
	each(spacesAtATime, l.spaces, func(_ int, s *space) {
		s.rights = l.local.judgeRights(ctx, RightsGranted, s.name, l.needed(s.name, s.filled))
		if s.filled {
			s.services, s.servicesErr = l.readServices(ctx, s.name)
			var list discoveryv1.EndpointSliceList
			s.slicesErr = l.local.client.List(ctx, kube.EndpointSlices(s.name), metav1.ListOptions{}, &list)
			for i := range list.Items {
				s.slices = append(s.slices, &list.Items[i])
			}
		}
	})
	return checks
}

// selects reports whether a pool selects namespaces by labels.
func selects(pools []*v1alpha1.EndpointPool) bool {
	return slices.ContainsFunc(pools, func(p *v1alpha1.EndpointPool) bool {
		return slices.ContainsFunc(p.Spec.Allow, func(a v1alpha1.PoolAllowance) bool { return a.NamespaceSelector != nil })
	})
}

// named are the Services of a namespace that the daemon has rights to by their names, and the
// first slices of each: with the variables, and with kubectl, which knows no other Services.
// Elsewhere one empty name stands for all.
func (o Options) named(namespace string) (services, first []string) {
	if !o.Documents.Variables && o.Config.Store.Kind != settings.StoreKubectl {
		return []string{""}, []string{""}
	}
	for _, b := range o.Documents.Bindings() {
		if b.Namespace != namespace || !o.asked(b.Namespace, b.Name) {
			continue
		}
		services = append(services, b.Name)
		for _, pool := range o.Documents.Pools() {
			use := assign.Use{Group: assign.Group{Pool: pool.Name}, Adopt: b.Spec.Adopt}
			for _, subnet := range pool.Spec.Subnets {
				prefix, err := netip.ParsePrefix(subnet)
				if err == nil && slices.Contains(b.Spec.PoolNames(), pool.Name) {
					first = append(first, use.Target(assign.Key{Namespace: namespace, Service: b.Name}).NameOf(publish.FamilyOf(prefix.Addr()), 1))
				}
			}
		}
	}
	return services, slices.Compact(first)
}

// readServices reads the Services of a namespace, by the verb that the daemon has a right to.
func (l *look) readServices(ctx context.Context, namespace string) ([]corev1.Service, error) {
	names, _ := l.named(namespace)
	var found []corev1.Service
	for _, name := range names {
		if l.Config.Store.Kind == settings.StoreKubectl {
			var one corev1.Service
			switch err := l.local.client.Get(ctx, kube.Services(namespace), name, &one); {
			case err == nil:
				found = append(found, one)
			case !apierrors.IsNotFound(err):
				return nil, err
			}
			continue
		}
		var selection metav1.ListOptions
		if name = cmp.Or(name, l.Service); name != "" {
			selection = kube.Named(name)
		}
		var list corev1.ServiceList
		if err := l.local.client.List(ctx, kube.Services(namespace), selection, &list); err != nil {
			return nil, err
		}
		found = append(found, list.Items...)
	}
	return found, nil
}

// unread says that something could not be read. If a right is missing, the checks of
// the rights have said so already: that is one mistake, not two.
func (s *space) unread(id ID, subject string, err error) []Check {
	told := slices.ContainsFunc(s.rights, func(c Check) bool { return c.Result == Fail })
	switch {
	case err == nil:
		return nil
	case told && apierrors.IsForbidden(err):
		return []Check{id.skip(subject, "cannot be read, because the right is missing: %v", err)}
	}
	return []Check{id.fail(subject, "cannot be read: %v", err).remedied("find out why the API server does not answer, and try again")}
}
