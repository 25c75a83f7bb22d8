package preflight

import (
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"

	"github.com/ablmnzde/ionoscloud-endpointslice-controller/api/v1alpha1"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/assign"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/documents"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/inventory"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish"
	"github.com/ablmnzde/ionoscloud-endpointslice-controller/internal/endpoints/publish/manifest"
)

// judgeServices judges each Service and its slices, and says why others get nothing.
func (l *look) judgeServices() []Check {
	var checks []Check
	if !l.api.answers {
		why := "the API server cannot be asked"
		if l.Local == nil {
			why = memory
		}
		checks = append(checks, ServicePresent.skip(l.servicesIn(""), "%s", why), SlicesOurs.skip("slices", "%s", why))
	}
	for _, s := range l.spaces {
		if s.servicesErr != nil {
			checks = append(checks, unread(ServicePresent, l.servicesIn(s.name), s.servicesErr, s.rights))
		}
	}
	several := len(l.plan.Targets)+len(l.plan.Refusals) > 1
	for _, r := range l.plan.Refusals {
		checks = append(checks, about(r.Key.String(), several, l.judgeRefusal(r))...)
	}
	if !l.api.answers {
		return checks
	}
	for _, t := range l.plan.Targets {
		checks = append(checks, about(t.Key.String(), several, l.judgeTarget(t))...)
	}
	if len(checks) == 0 {
		checks = append(checks, ServicePresent.skip("Services", "none of those that are looked at asks for endpoints by a binding or an annotation"))
	}
	if l.Namespace != "" || l.Service != "" {
		checks = append(checks, ServicePresent.skip("other Services", "not looked at, because of --namespace and --service"))
	}
	return append(checks, ServiceNetwork.skip("network policies", "not looked at: it is not known which Pods are clients; a NetworkPolicy of theirs has to let them reach the addresses and ports of the endpoints"))
}

// servicesIn names the one Service of the variables, or those of a namespace.
func (l *look) servicesIn(namespace string) string {
	if l.Documents.Variables {
		only := l.Documents.Bindings()[0]
		return "Service " + only.Namespace + "/" + only.Name
	}
	return strings.TrimSpace("Services " + namespace)
}

// judgeRefusal says why a Service gets nothing. What the documents say themselves, and what
// cannot be read, is told elsewhere.
func (l *look) judgeRefusal(r assign.Refusal) []Check {
	e, _ := l.Documents.Entry(documents.Key{Kind: v1alpha1.KindEndpointBinding, Namespace: r.Namespace, Name: r.Service})
	if s := l.space(r.Namespace); s != nil && s.servicesErr != nil || len(e.Mistakes)+len(e.Forbidden) > 0 {
		return nil
	}
	id := ServiceGranted
	switch r.Reason {
	case string(publish.ServiceMissing), string(publish.ServiceDeleting):
		id = ServicePresent
	case string(publish.ServiceHasSelector):
		id = ServiceSelector
	case string(publish.ServiceExternalName):
		id = ServiceType
	case string(publish.PortMismatch):
		id = ServicePorts
	}
	return []Check{split(id, "Service "+r.Key.String(), r.Message)}
}

// space is the namespace of that name, nil where it was not asked.
func (l *look) space(name string) *space {
	if i := slices.IndexFunc(l.spaces, func(s *space) bool { return s.name == name }); i >= 0 {
		return l.spaces[i]
	}
	return nil
}

// judgeTarget judges one Service.
func (l *look) judgeTarget(t assign.Target) []Check {
	s := l.space(t.Namespace)
	var targets []publish.Target
	var candidates []inventory.Candidate
	for _, u := range t.Uses {
		targets = append(targets, l.target(t.Key, u.Use))
		candidates = append(candidates, l.candidates(targets[len(targets)-1])...)
	}
	var object *corev1.Service
	if i := slices.IndexFunc(s.services, func(o *corev1.Service) bool { return o.Name == t.Service }); i >= 0 {
		object = s.services[i]
	}
	var checks []Check
	if s.servicesErr == nil {
		notices := slices.DeleteFunc(slices.Clone(l.plan.Notices), func(n assign.Notice) bool { return n.Key != t.Key })
		checks = JudgeService(object, targets[0], candidates, notices...)
	}
	service, objects := manifest.ServiceOf(object), ofService(s.slices, targets)
	if s.slicesErr != nil {
		checks = append(checks, unread(SlicesOurs, "slices of "+t.Service, s.slicesErr, s.rights))
	} else {
		checks = append(checks, JudgeSlices(service, objects, targets...)...)
	}
	return spelled(targets[0].Names, checks)
}

// ofService are the slices that belong to a Service by their label or by their name.
func ofService(objects []*discoveryv1.EndpointSlice, targets []publish.Target) []*discoveryv1.EndpointSlice {
	return slices.DeleteFunc(slices.Clone(objects), func(o *discoveryv1.EndpointSlice) bool {
		return o.Labels[discoveryv1.LabelServiceName] != targets[0].Service && !owned(o.Name, targets)
	})
}

// owned reports whether a slice has a name of one of the targets.
func owned(slice string, targets []publish.Target) bool {
	return slices.ContainsFunc(targets, func(t publish.Target) bool {
		_, _, its := t.ParseName(slice)
		return its
	})
}
