package preflight

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
)

// judgeServices judges each Service and its slices, and says why others get nothing.
func (l *look) judgeServices() []Check {
	var checks []Check
	if !l.answers {
		why := "the API server cannot be asked"
		if l.Local == nil {
			why = memory
		}
		checks = append(checks, RightsGranted.skip("rights", "%s", why), ServiceValid.skip("Services", "%s", why), SlicesOurs.skip("slices", "%s", why))
	}
	for _, s := range l.spaces {
		checks = slices.Concat(checks, s.rights, s.unread(ServiceValid, "Services in "+s.name, s.servicesErr), s.unread(SlicesOurs, "slices in "+s.name, s.slicesErr))
		if l.Documents.Complete {
			checks = append(checks, l.judgeKept(s)...)
		}
	}
	several := len(l.plan.Targets)+len(l.plan.Refusals) > 1
	for _, r := range l.plan.Refusals {
		checks = append(checks, about(r.Key.String(), several, l.judgeRefusal(r))...)
	}
	if !l.answers {
		return checks
	}
	for _, t := range l.plan.Targets {
		checks = append(checks, about(t.Key.String(), several, l.judgeTarget(t))...)
	}
	if len(l.plan.Targets)+len(l.plan.Refusals) == 0 {
		checks = append(checks, ServiceValid.skip("Services", "no binding and no annotation of these Services asks for endpoints"))
	}
	if l.Namespace != "" || l.Service != "" {
		checks = append(checks, ServiceValid.skip("other Services", "not looked at, because of --namespace and --service"))
	}
	return append(checks,
		ServiceClients.skip("network policies", "not looked at: it is not known which Pods are clients; a NetworkPolicy of theirs has to let them reach the addresses and ports of the endpoints"),
		SlicesKept.skip("other namespaces", "not looked at: slices in namespaces that no document names"))
}

// judgeRefusal says why a Service gets nothing. What the documents say themselves, and what
// cannot be read, is told elsewhere.
func (l *look) judgeRefusal(r assign.Refusal) []Check {
	e, _ := l.Documents.Entry(documents.Key{Kind: v1alpha1.KindEndpointBinding, Namespace: r.Namespace, Name: r.Service})
	if s := l.space(r.Namespace); s != nil && s.servicesErr != nil || len(e.Mistakes)+len(e.Forbidden) > 0 {
		return nil
	}
	return []Check{split(ServiceValid, Fail, "Service "+r.Key.String(), r.Reason, r.Message)}
}

// split makes a check of a message that ends with its remedy.
func split(id ID, result Result, subject, reason, message string) Check {
	what, remedy, _ := strings.Cut(message, "; ")
	c := id.check(result, subject, what).remedied(remedy)
	c.Reason = reason
	return c
}

// space is the namespace of that name, nil where it was not asked.
func (l *look) space(name string) *space {
	if i := slices.IndexFunc(l.spaces, func(s *space) bool { return s.name == name }); i >= 0 {
		return l.spaces[i]
	}
	return nil
}

// judgeTarget judges one Service and its slices.
func (l *look) judgeTarget(t assign.Assignment) []Check {
	s := l.space(t.Namespace)
	var targets []publish.Target
	var candidates []inventory.Candidate
	for _, u := range t.Uses {
		targets = append(targets, l.target(t.Key, u.Use))
		for _, p := range l.pools {
			if p.document.Name == u.Pool {
				candidates = append(candidates, p.candidates...)
			}
		}
	}
	var object *corev1.Service
	if i := slices.IndexFunc(s.services, func(o corev1.Service) bool { return o.Name == t.Service }); i >= 0 {
		object = &s.services[i]
	}
	service := publish.ServiceOf(object)
	var checks []Check
	if s.servicesErr == nil {
		notices := slices.DeleteFunc(slices.Clone(l.plan.Notices), func(n assign.Notice) bool { return n.Key != t.Key })
		checks = judgeService(service, targets[0], candidates, notices)
	}
	if s.slicesErr == nil {
		checks = append(checks, judgeSlices(service, s.slices, targets)...)
	}
	return edit(checks, targets[0].Names.Of)
}

// judgeService says whether slices can fill the Service, and what keeps its clients from
// the candidates. The notices are what the daemon tells of it.
func judgeService(service publish.Service, target publish.Target, candidates []inventory.Candidate, notices []assign.Notice) []Check {
	name := "Service " + target.Namespace + "/" + target.Service
	if _, problem := publish.ResolvePorts(service, target); problem.Kind != "" {
		return []Check{split(ServiceValid, Fail, name, string(problem.Kind), problem.Message)}
	}
	checks := []Check{ServiceValid.ok(name, "exists, and its ports fit")}
	for _, n := range notices {
		switch n.Reason {
		case assign.BindingWins, assign.UnknownAnnotation:
			checks = append(checks, split(ServiceValid, Warn, name, n.Reason, n.Message))
		case assign.TrafficPolicyLocal:
			checks = append(checks, split(ServiceClients, Fail, name, n.Reason, n.Message))
		default:
			checks = append(checks, split(ServiceClients, Warn, name, n.Reason, n.Message))
		}
	}
	unused := 0
	for _, c := range candidates {
		if has := map[publish.Family]bool{publish.IPv4: service.IPv4, publish.IPv6: service.IPv6}; !has[publish.FamilyOf(c.Address)] {
			unused++
		}
	}
	if unused > 0 && (service.IPv4 || service.IPv6) {
		families := ServiceClients.warn(name, "the Service lacks the IP family of %d of %s: they are published but never used", unused, plural(len(candidates), "endpoint")).
			remedied("set spec.ipFamilyPolicy: PreferDualStack and spec.ipFamilies, or report addresses of the Service's family")
		if families.Reason = assign.FamilyUnused; unused == len(candidates) {
			families.Result = Fail
		}
		checks = append(checks, families)
	}
	return checks
}
