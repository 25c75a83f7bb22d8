package chart_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/test/stage"
)

const poolLabel = "endpoints.ablmnzde.github.io/pool"

// dry and dryUpdate ask without writing.
var (
	dry       = metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}
	dryUpdate = metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}}
)

// poolSlice is a slice of the Service web, as the daemon writes it for a pool.
func poolSlice(pool, name string, addresses ...string) *discoveryv1.EndpointSlice {
	s := slice(name, addresses...)
	s.Labels[poolLabel] = pool
	return s
}

// awaitRefusal waits until the policy is in force and lets the namespace be written.
func (p *teams) awaitRefusal(t *testing.T, namespace string) {
	t.Helper()
	daemon := p.daemon(t).DiscoveryV1().EndpointSlices(namespace)
	stage.Until(t, "the policy to be in force", func() bool {
		_, wrong := daemon.Create(t.Context(), poolSlice("berlin", "web.berlin.9", "192.168.0.11"), dry)
		_, right := daemon.Create(t.Context(), poolSlice("berlin", "web.berlin.9", "10.0.0.11"), dry)
		return wrong != nil && strings.Contains(wrong.Error(), "ValidatingAdmissionPolicy") && right == nil
	})
}

// mayNothingBeyond compares all rights of the ServiceAccount, beyond those of any other,
// with what the program needs.
func (p *teams) mayNothingBeyond(t *testing.T) {
	fill := []string{
		"create endpointslices.discovery.k8s.io", "create events.events.k8s.io", "list endpointslices.discovery.k8s.io", "list services.",
		"update endpointslices.discovery.k8s.io", "watch endpointslices.discovery.k8s.io", "watch services.",
	}
	const leases = release + "," + release + "-reached"
	lease := []string{
		"create leases.coordination.k8s.io", "list leases.coordination.k8s.io " + leases,
		"update leases.coordination.k8s.io " + leases, "watch leases.coordination.k8s.io " + leases,
	}
	for namespace, want := range map[string][]string{"team-shop": fill, "team-other": fill, p.namespace: lease, "default": nil, "kube-system": nil} {
		if diff := cmp.Diff(want, p.rights(t, namespace)); diff != "" {
			t.Errorf("rights in %s (-want +got):\n%s", namespace, diff)
		}
	}
	ctx, d := t.Context(), p.daemon(t)
	for what, try := range map[string]func() error{
		"write a slice in another namespace": func() error {
			_, err := d.DiscoveryV1().EndpointSlices("default").Create(ctx, poolSlice("berlin", "web.berlin"), dry)
			return err
		},
		"delete its own slice": func() error {
			return d.DiscoveryV1().EndpointSlices("team-shop").Delete(ctx, "web.berlin", metav1.DeleteOptions{})
		},
		"change a Service": func() error {
			_, err := d.CoreV1().Services("team-shop").Update(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}}, dryUpdate)
			return err
		},
		"change the status of a Service": func() error {
			_, err := d.CoreV1().Services("team-shop").UpdateStatus(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "web"}}, dryUpdate)
			return err
		},
		"read its Secret": func() error {
			_, err := d.CoreV1().Secrets(p.namespace).Get(ctx, "ionos-berlin", metav1.GetOptions{})
			return err
		},
		"list namespaces": func() error { _, err := d.CoreV1().Namespaces().List(ctx, metav1.ListOptions{}); return err },
	} {
		if err := try(); !apierrors.IsForbidden(err) {
			t.Errorf("%s: got %v, want it forbidden", what, err)
		}
	}
}

// rights are those that the ServiceAccount has in a namespace and every other one has not.
func (p *teams) rights(t *testing.T, namespace string) []string {
	t.Helper()
	review, err := p.daemon(t).AuthorizationV1().SelfSubjectRulesReviews().Create(t.Context(), &authorizationv1.SelfSubjectRulesReview{
		Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: namespace},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{}
	for _, rule := range review.Status.ResourceRules {
		for _, group := range rule.APIGroups {
			if group == authorizationv1.GroupName || group == "authentication.k8s.io" || group == "certificates.k8s.io" {
				continue // everybody may ask about oneself
			}
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					found[strings.TrimSpace(fmt.Sprintf("%s %s.%s %s", verb, resource, group, strings.Join(rule.ResourceNames, ",")))] = true
				}
			}
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// policyHolds tries what a stolen token would.
func (p *teams) policyHolds(t *testing.T) {
	london, free := p.london[0], "web.berlin.9"
	change := func(s *discoveryv1.EndpointSlice, change func(*discoveryv1.EndpointSlice)) *discoveryv1.EndpointSlice {
		change(s)
		return s
	}
	daemon := p.daemon(t).DiscoveryV1().EndpointSlices("team-shop")
	for name, c := range map[string]struct {
		slice *discoveryv1.EndpointSlice
		says  string
	}{
		"another name":          {poolSlice("berlin", "api.berlin", "10.0.0.11"), "not the name"},
		"no pool":               {slice(free, "10.0.0.11"), "not the name and the label " + poolLabel},
		"a pool that is none":   {poolSlice("paris", free, "10.0.0.11"), "inside the subnets of the pool paris"},
		"no Service":            {change(poolSlice("berlin", free), func(s *discoveryv1.EndpointSlice) { delete(s.Labels, discoveryv1.LabelServiceName) }), "kubernetes.io/service-name"},
		"another manager":       {change(poolSlice("berlin", free), func(s *discoveryv1.EndpointSlice) { s.Labels[discoveryv1.LabelManagedBy] = "me" }), "managed-by"},
		"an address outside":    {poolSlice("berlin", free, "192.168.1.1"), "inside the subnets of the pool berlin: 10.0.0.0/16"},
		"a Pod's address":       {poolSlice("london", free, "10.0.0.11"), "inside the subnets of the pool london"},
		"a port of others":      {change(poolSlice("berlin", free), func(s *discoveryv1.EndpointSlice) { *s.Ports[0].Port = 10250 }), "every new port"},
		"a port of the other":   {change(poolSlice("london", free), func(s *discoveryv1.EndpointSlice) { *s.Ports[0].Port = 8081 }), "every new port"},
		"any port":              {change(poolSlice("berlin", free), func(s *discoveryv1.EndpointSlice) { s.Ports[0].Port = nil }), "every new port"},
		"a name as its address": {change(poolSlice("berlin", free, "example.com"), func(s *discoveryv1.EndpointSlice) { s.AddressType = discoveryv1.AddressTypeFQDN }), "addressType"},
	} {
		if _, err := daemon.Create(t.Context(), c.slice, dry); err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "ValidatingAdmissionPolicy") {
			t.Errorf("%s: got %v, want it refused with %q", name, err, c.says)
		}
	}
	for name, s := range map[string]*discoveryv1.EndpointSlice{
		"an empty one": poolSlice("berlin", free), "a usual one": poolSlice("berlin", free, "10.0.0.11"), "one of the other pool": poolSlice("london", free, london),
		"one of IPv6": poolSlice("berlin", "web.berlin.ipv6"), "one that was taken over": poolSlice("berlin", "web-remote-2", "10.0.0.11"),
		"a full one": poolSlice("berlin", free, many("10.0", 1000)...),
	} {
		if _, err := daemon.Create(t.Context(), s, dry); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	p.othersAreNotConcerned(t)
	p.whatIsThereMayStay(t)
}

// many are so many addresses that begin so.
func many(prefix string, count int) []string {
	var all []string
	for n := range count {
		all = append(all, fmt.Sprintf("%s.%d.%d", prefix, 1+n/250, n%250))
	}
	return all
}

// othersAreNotConcerned: what the policy forbids the daemon is no concern of others, and
// their slices are no concern of the daemon.
func (p *teams) othersAreNotConcerned(t *testing.T) {
	t.Helper()
	ctx, admin := t.Context(), p.Client.DiscoveryV1().EndpointSlices("team-shop")
	foreign := poolSlice("berlin", "web.berlin.7", "192.168.1.1")
	foreign.Labels[discoveryv1.LabelManagedBy] = "me"
	foreign, err := admin.Create(ctx, foreign, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("a slice of somebody else: %v", err)
	}
	defer func() { _ = admin.Delete(ctx, foreign.Name, metav1.DeleteOptions{}) }()
	for what, change := range map[string]func(*discoveryv1.EndpointSlice){
		"with their label": func(*discoveryv1.EndpointSlice) {},
		"with ours":        func(s *discoveryv1.EndpointSlice) { s.Labels[discoveryv1.LabelManagedBy] = release },
	} {
		taken := foreign.DeepCopy()
		change(taken)
		_, err := p.daemon(t).DiscoveryV1().EndpointSlices("team-shop").Update(ctx, taken, dryUpdate)
		if err == nil || !strings.Contains(err.Error(), "managed") {
			t.Errorf("a slice of somebody else, %s: got %v, want it refused", what, err)
		}
	}
	service, err := p.Client.CoreV1().Services("team-shop").Get(ctx, "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	service.Spec.Ports[0].Port = 81
	if _, err := p.Client.CoreV1().Services("team-shop").Update(ctx, service, dryUpdate); err != nil {
		t.Errorf("a Service of a team: %v", err)
	}
}

// whatIsThereMayStay: after a pool was narrowed or removed its slices can still be
// written, or a dead endpoint would stay ready.
func (p *teams) whatIsThereMayStay(t *testing.T) {
	t.Helper()
	ctx, no := t.Context(), false
	admin := p.Client.DiscoveryV1().EndpointSlices("team-shop")
	write := func(s *discoveryv1.EndpointSlice) *discoveryv1.EndpointSlice {
		made, err := admin.Create(ctx, s, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = admin.Delete(context.WithoutCancel(ctx), s.Name, metav1.DeleteOptions{}) })
		return made
	}
	old := poolSlice("gone", "web.gone", many("192.168", 300)...)
	*old.Ports[0].Port = 9999
	old = write(old)
	full := write(poolSlice("berlin", "web.berlin.5", many("10.0", 999)...))
	outside := write(poolSlice("gone", "web.gone.2", many("192.168", 1000)...))
	dies := func(s *discoveryv1.EndpointSlice) { s.Endpoints[7].Conditions.Ready = &no }
	leaves := func(s *discoveryv1.EndpointSlice) { s.Endpoints = slices.Delete(s.Endpoints, 3, 4) }
	for what, c := range map[string]struct {
		slice  *discoveryv1.EndpointSlice
		change func(*discoveryv1.EndpointSlice)
	}{
		"a dead endpoint": {old, dies}, "one endpoint less": {old, leaves},
		"no endpoint":                   {old, func(s *discoveryv1.EndpointSlice) { s.Endpoints = nil }},
		"without the labels":            {old, func(s *discoveryv1.EndpointSlice) { delete(s.Labels, poolLabel) }},
		"a dead endpoint of 1,000":      {outside, dies},
		"a dead endpoint of 999 inside": {full, dies},
		"one endpoint less of 999":      {full, leaves},
		"another endpoint, beside 999": {full, func(s *discoveryv1.EndpointSlice) {
			s.Endpoints = append(s.Endpoints, discoveryv1.Endpoint{Addresses: []string{"10.0.99.99"}})
		}},
		"all endpoints less, of outside": {outside, func(s *discoveryv1.EndpointSlice) { s.Endpoints = nil }},
	} {
		changed := c.slice.DeepCopy()
		c.change(changed)
		if err := p.update(t, changed); err != nil {
			t.Errorf("%s: %v", what, err)
		}
	}
	p.nothingElseMayCome(t, old)
}

// nothingElseMayCome: what is in a slice already opens nothing else.
func (p *teams) nothingElseMayCome(t *testing.T, old *discoveryv1.EndpointSlice) {
	t.Helper()
	for what, change := range map[string]func(*discoveryv1.EndpointSlice){
		"every new address":     func(s *discoveryv1.EndpointSlice) { s.Endpoints[0].Addresses[0] = "192.168.9.9" },
		"every new port":        func(s *discoveryv1.EndpointSlice) { *s.Ports[0].Port = 9998 },
		"must name the Service": func(s *discoveryv1.EndpointSlice) { s.Labels[discoveryv1.LabelServiceName] = "api" },
	} {
		changed := old.DeepCopy()
		change(changed)
		if err := p.update(t, changed); err == nil || !strings.Contains(err.Error(), what) {
			t.Errorf("got %v, want it refused with %q", err, what)
		}
	}
}

// update asks whether the daemon may update a slice of team-shop.
func (p *teams) update(t *testing.T, s *discoveryv1.EndpointSlice) error {
	t.Helper()
	_, err := p.daemon(t).DiscoveryV1().EndpointSlices("team-shop").Update(t.Context(), s, dryUpdate)
	return err
}
